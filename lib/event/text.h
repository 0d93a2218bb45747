/*
 * The output of a program shown on a terminal: what a terminal would take for a command (C0 but line feed and tab, DEL, C1 as a
 * byte or as UTF-8) and bytes that are not UTF-8 appear as \x1b; all else stays.  A stream may be cut anywhere.
 */
#pragma once

#include "lib/base/attr.h"
#include "lib/base/str.h"

struct sbx_buf;
struct sbx_err;

struct sbx_text {
	unsigned char n_held;
	char held[4]; /* the beginning of a character */
};

/* Appends at most four bytes to out for each byte that came. */
int sbx_text_add(struct sbx_text *text, struct sbx_str bytes, struct sbx_buf *out,
		 struct sbx_err *err) SBX_MUST_USE;

/* Appends what was held back, at the end of the stream. */
int sbx_text_finish(struct sbx_text *text, struct sbx_buf *out, struct sbx_err *err) SBX_MUST_USE;
