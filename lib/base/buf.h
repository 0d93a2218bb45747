/*
 * Growable bytes with a ceiling.
 *
 * p is always NUL-terminated once anything was added; len never counts that
 * NUL, and the bytes may contain NULs of their own.  Growing past max fails
 * with SBX_E_LIMIT and leaves the contents as they were.  A zeroed struct with
 * max set is valid; sbx_buf_str() never returns NULL.
 */
#pragma once

#include <stdarg.h>
#include <stdint.h>

#include "lib/base/attr.h"

struct sbx_err;

struct sbx_buf {
	char *p; /* owned */
	size_t len, cap, max;
};

#define SBX_BUF_INIT(max_)    \
	{                     \
		.max = (max_) \
	}

void sbx_buf_release(struct sbx_buf *buf); /* contents; safe twice; keeps max */
void sbx_buf_reset(struct sbx_buf *buf);   /* len = 0, keeps the memory */

int sbx_buf_add(struct sbx_buf *buf, const void *p, size_t n, struct sbx_err *err) SBX_MUST_USE;
int sbx_buf_adds(struct sbx_buf *buf, const char *s, struct sbx_err *err) SBX_MUST_USE;
int sbx_buf_addc(struct sbx_buf *buf, char c, struct sbx_err *err) SBX_MUST_USE;
int sbx_buf_addf(struct sbx_buf *buf, struct sbx_err *err, const char *fmt, ...)
	SBX_PRINTF(3, 4) SBX_MUST_USE;

/*
 * Makes room for n more bytes and a NUL, and points *ret at it (borrowed until the next growth).  len is not changed: the
 * caller adds what it wrote to it and puts a NUL behind.
 */
int sbx_buf_reserve(struct sbx_buf *buf, size_t n, char **ret, struct sbx_err *err) SBX_MUST_USE;

/* Removes n bytes from the front; n <= len. */
void sbx_buf_consume(struct sbx_buf *buf, size_t n);

/* The bytes as a C string, borrowed; "" when empty. */
const char *sbx_buf_str(const struct sbx_buf *buf);

/* Hands the (NUL-terminated) bytes over, owned by the caller; the buffer is empty then. */
char *sbx_buf_detach(struct sbx_buf *buf);
