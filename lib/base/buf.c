#include "lib/base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/mem.h"

enum { FIRST_BYTES = 64 };

void sbx_buf_release(struct sbx_buf *buf)
{
	free(buf->p);
	buf->p = NULL;
	buf->len = buf->cap = 0;
}

void sbx_buf_reset(struct sbx_buf *buf)
{
	buf->len = 0;
	if (buf->p)
		buf->p[0] = '\0';
}

/* Room for n more bytes and the NUL: cap is always greater than len. */
static int grow(struct sbx_buf *buf, size_t n, struct sbx_err *err)
{
	size_t need, cap = buf->cap > 0 ? buf->cap : FIRST_BYTES;
	char *p;

	if (n < buf->cap - buf->len)
		return 0;
	if (n > buf->max - buf->len || n >= SIZE_MAX / 2 - buf->len)
		return sbx_fail(err, SBX_E_LIMIT, "more than %zu bytes", buf->max);
	need = buf->len + n + 1;
	while (cap < need)
		cap *= 2;
	if (cap > buf->max)
		cap = buf->max + 1;
	p = realloc(buf->p, cap);
	if (!p)
		return sbx_fail_sys(err, ENOMEM, "cannot hold %zu bytes", cap);
	p[buf->len] = '\0';
	buf->p = p;
	buf->cap = cap;
	return 0;
}

int sbx_buf_reserve(struct sbx_buf *buf, size_t n, char **ret, struct sbx_err *err)
{
	if (grow(buf, n, err) < 0)
		return -1;
	*ret = buf->p + buf->len;
	return 0;
}

int sbx_buf_add(struct sbx_buf *buf, const void *p, size_t n, struct sbx_err *err)
{
	if (grow(buf, n, err) < 0)
		return -1;
	if (n > 0)
		memcpy(buf->p + buf->len, p, n);
	buf->len += n;
	buf->p[buf->len] = '\0';
	return 0;
}

int sbx_buf_adds(struct sbx_buf *buf, const char *s, struct sbx_err *err)
{
	return sbx_buf_add(buf, s, strlen(s), err);
}

int sbx_buf_addc(struct sbx_buf *buf, char c, struct sbx_err *err)
{
	return sbx_buf_add(buf, &c, 1, err);
}

int sbx_buf_addf(struct sbx_buf *buf, struct sbx_err *err, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return sbx_fail(err, SBX_E_LIMIT, "text too long to format");
	if (grow(buf, (size_t)n, err) < 0)
		return -1;
	va_start(ap, fmt);
	(void)vsnprintf(buf->p + buf->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf->len += (size_t)n;
	return 0;
}

void sbx_buf_consume(struct sbx_buf *buf, size_t n)
{
	assert(n <= buf->len);
	if (n == 0)
		return;
	buf->len -= n;
	memmove(buf->p, buf->p + n, buf->len + 1);
}

const char *sbx_buf_str(const struct sbx_buf *buf)
{
	return buf->p ? buf->p : "";
}

char *sbx_buf_detach(struct sbx_buf *buf)
{
	char *p = buf->p ? SBX_TAKE(buf->p) : sbx_xstrdup("");

	buf->len = buf->cap = 0;
	return p;
}
