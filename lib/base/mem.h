/*
 * Memory for small things of a size that we chose: these abort when there is
 * none.  Anything whose size comes from outside goes through sbx_buf or
 * sbx_array_grow, which have a ceiling and return an error.
 */
#pragma once

#include <stdlib.h>

#include "lib/base/attr.h"

struct sbx_err;

void *sbx_xcalloc(size_t n, size_t size) __attribute__((malloc, alloc_size(1, 2)));
char *sbx_xstrdup(const char *s) __attribute__((malloc));
char *sbx_xasprintf(const char *fmt, ...) SBX_PRINTF(1, 2);

#define sbx_new(type) ((type *)sbx_xcalloc(1, sizeof(type)))

/* Grows *array (elements of size bytes, *cap of them) so that it holds at least want; at most max, else SBX_E_LIMIT. New elements are zero. */
int sbx_array_grow(void *array, size_t *cap, size_t want, size_t max, size_t size,
		   struct sbx_err *err) SBX_MUST_USE;

/* For SBX_CLEANUP on any pointer from malloc. */
void sbx_freep(void *p);
