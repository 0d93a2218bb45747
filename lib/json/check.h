/* Whether a text is one JSON value: RFC 8259 to the letter, UTF-8, at most SBX_JSON_DEPTH deep.  jsmn does not tell. */
#pragma once

#include <stddef.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"

struct sbx_err;

/*
 * *ret_tokens is the number of values and keys.  Fails with SBX_E_INVALID, or SBX_E_LIMIT for too many (SBX_JSON_TOKENS) or too deep; the
 * message is "WHAT: line L, column C: why" (C counts bytes).  A `\u` escape of half a surrogate pair is refused, one of NUL is not.
 */
int sbx_json_check(struct sbx_str text, const char *what, size_t *ret_tokens,
		   struct sbx_err *err) SBX_MUST_USE;

/* Line and column (from 1) of an offset, for messages. */
void sbx_json_place(struct sbx_str text, size_t offset, size_t *ret_line, size_t *ret_column);

/* The four digits of a `\u` escape; -1 where they are none. */
int sbx_json_hex4(const char *p, const char *end);
