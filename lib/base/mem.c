#include "lib/base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"

enum { FIRST_ELEMENTS = 8 };

void *sbx_xcalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

char *sbx_xstrdup(const char *s)
{
	char *copy = strdup(s);

	if (!copy)
		abort();
	return copy;
}

char *sbx_xasprintf(const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	return text;
}

int sbx_array_grow(void *array, size_t *cap, size_t want, size_t max, size_t size,
		   struct sbx_err *err)
{
	size_t grown = *cap > 0 ? *cap : FIRST_ELEMENTS;
	char *p, *moved;

	if (want <= *cap)
		return 0;
	if (want > max)
		return sbx_fail(err, SBX_E_LIMIT, "more than %zu elements", max);
	while (grown < want && grown <= max / 2)
		grown *= 2;
	if (grown < want || grown > max)
		grown = max;

	/* array is the address of a pointer of any type: copied, since no cast may alias it. */
	memcpy(&p, array, sizeof(p));
	moved = reallocarray(p, grown, size);
	if (!moved)
		return sbx_fail_sys(err, ENOMEM, "cannot hold %zu elements", grown);
	memset(moved + *cap * size, 0, (grown - *cap) * size);
	memcpy(array, &moved, sizeof(moved));
	*cap = grown;
	return 0;
}

void sbx_freep(void *p)
{
	void *owned;

	memcpy(&owned, p, sizeof(owned));
	free(owned);
}
