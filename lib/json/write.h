/*
 * Writes one JSON value to a buffer.  Begin, add, end; errors stick: the calls return nothing and sbx_jw_done() tells whether all
 * went well.  Misuse (a key outside an object, an unclosed bracket) is an assertion.  Strings must be valid UTF-8 (else they are
 * written with U+FFFD in place of the bad bytes); control bytes, U+2028, U+2029 and DEL are escaped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"

struct sbx_buf;
struct sbx_strv;
struct sbx_err;

enum { SBX_JW_DEPTH = 32 };

struct sbx_jw {
	struct sbx_buf *out; /* borrowed */
	int depth;
	char open[SBX_JW_DEPTH]; /* '{' or '[' */
	bool need_comma, after_key;
	bool failed;
};

void sbx_jw_init(struct sbx_jw *jw, struct sbx_buf *out);

void sbx_jw_object(struct sbx_jw *jw); /* { */
void sbx_jw_array(struct sbx_jw *jw);  /* [ */
void sbx_jw_end(struct sbx_jw *jw);    /* whichever is open */
void sbx_jw_key(struct sbx_jw *jw, const char *key);

void sbx_jw_str(struct sbx_jw *jw, struct sbx_str s);
void sbx_jw_cstr(struct sbx_jw *jw, const char *s); /* NULL writes null */
void sbx_jw_base64(struct sbx_jw *jw, struct sbx_str bytes);
void sbx_jw_u64(struct sbx_jw *jw, uint64_t v);
void sbx_jw_i64(struct sbx_jw *jw, int64_t v);
void sbx_jw_bool(struct sbx_jw *jw, bool v);
void sbx_jw_null(struct sbx_jw *jw);
void sbx_jw_raw(struct sbx_jw *jw, struct sbx_str json); /* a value that is JSON already */

/* key and value in one; the same as sbx_jw_key and the call above. */
void sbx_jw_kstr(struct sbx_jw *jw, const char *key, const char *s);
void sbx_jw_ku64(struct sbx_jw *jw, const char *key, uint64_t v);
void sbx_jw_kbool(struct sbx_jw *jw, const char *key, bool v);
void sbx_jw_knull(struct sbx_jw *jw, const char *key);
void sbx_jw_kstrv(struct sbx_jw *jw, const char *key, const struct sbx_strv *sv); /* an array */

/* 0 when one whole value was written; SBX_E_LIMIT when the buffer's ceiling was met. */
int sbx_jw_done(struct sbx_jw *jw, struct sbx_err *err) SBX_MUST_USE;
