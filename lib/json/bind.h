/*
 * A table binds an object to a struct: unknown keys are refused (naming the nearest known one), wrong types too, with the
 * path to the place ("python.json: run[2]: must be a string, not a number").  Adding a key is adding a row.
 */
#pragma once

#include <stddef.h>

#include "lib/json/doc.h"

struct sbx_strv;

enum sbx_bind_kind {
	SBX_BIND_STRING, /* char *, owned; NUL inside refused */
	SBX_BIND_STRV,   /* struct sbx_strv: array of strings */
	SBX_BIND_ENV,    /* struct sbx_strv of NAME=value: object of strings */
	SBX_BIND_BOOL,   /* bool */
	SBX_BIND_U64,    /* uint64_t */
	SBX_BIND_VALUE,  /* struct sbx_json: any value, for the caller to look into */
	SBX_BIND_CUSTOM, /* call the row's function */
};

struct sbx_bind {
	const char *key;
	enum sbx_bind_kind kind;
	unsigned int offset; /* offsetof */
	bool required;
	bool nullable; /* null leaves the field as it was */
	int (*custom)(struct sbx_json v, const char *where, void *field, struct sbx_err *err);
};

/* where is the path so far ("python.json"). Fills *out from v; on failure what was set so far is the caller's to release. */
int sbx_bind_object(const struct sbx_bind *rows, size_t n, struct sbx_json v, const char *where,
		    void *out, struct sbx_err *err) SBX_MUST_USE;

/* Fails with "WHERE: must be a string, not a number" unless v is of that type: for custom rows. */
int sbx_bind_expect(struct sbx_json v, enum sbx_json_type type, const char *where,
		    struct sbx_err *err) SBX_MUST_USE;

/* Fills *field from an array of strings, as a row of SBX_BIND_STRV does. */
int sbx_bind_strv(struct sbx_json v, const char *where, struct sbx_strv *field,
		  struct sbx_err *err) SBX_MUST_USE;
