/*
 * A JSON text, checked and split.
 *
 * lib/json/check.c validates first (RFC 8259, UTF-8, depth, duplicate keys, NUL in strings refused where a C string is wanted);
 * jsmn only splits text that is known good.  A value is a small handle into its document and dies with it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"

struct sbx_err;
struct sbx_json_doc;

enum sbx_json_type {
	SBX_JSON_NULL,
	SBX_JSON_BOOL,
	SBX_JSON_NUMBER,
	SBX_JSON_STRING,
	SBX_JSON_ARRAY,
	SBX_JSON_OBJECT,
};

struct sbx_json {
	const struct sbx_json_doc *doc;
	int token; /* < 0: no value */
};

/* Copies text.  On failure the message holds line and column. what names the text ("line 3 of jobs", a path). */
int sbx_json_parse(struct sbx_str text, const char *what, struct sbx_json_doc **ret,
		   struct sbx_err *err) SBX_MUST_USE;
void sbx_json_free(struct sbx_json_doc *doc);
void sbx_json_freep(struct sbx_json_doc **doc);

struct sbx_json sbx_json_root(const struct sbx_json_doc *doc);
enum sbx_json_type sbx_json_type(struct sbx_json v);
const char *sbx_json_type_name(enum sbx_json_type type); /* "a string" */

/* Children of an object or an array, in order: start with i = 0, false at the end.  key is raw only for arrays (then .p is NULL). */
struct sbx_json_iter {
	struct sbx_json parent;
	int next;
	int left;
};
struct sbx_json_iter sbx_json_iter(struct sbx_json parent);
bool sbx_json_next(struct sbx_json_iter *it, struct sbx_json *key, struct sbx_json *value);

bool sbx_json_get(struct sbx_json object, const char *key, struct sbx_json *ret);
int sbx_json_count(struct sbx_json v); /* elements or members */

/* The unescaped string, owned by the document, with its length; NULs possible. Only for strings. */
struct sbx_str sbx_json_string(struct sbx_json v);
bool sbx_json_bool(struct sbx_json v);
struct sbx_str sbx_json_raw(struct sbx_json v); /* the text as it stands */

/* An integer in [0, max]; fails with SBX_E_INVALID for fractions, signs, exponents and overflow. */
int sbx_json_u64(struct sbx_json v, uint64_t max, const char *what, uint64_t *ret,
		 struct sbx_err *err) SBX_MUST_USE;
