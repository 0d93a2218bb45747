/* A NULL-terminated vector of owned strings: argv, environments, lists of names. */
#pragma once

#include <stdbool.h>

#include "lib/base/attr.h"

struct sbx_err;

struct sbx_strv {
	char **v; /* NULL-terminated once anything was added; NULL before */
	size_t n, cap;
};

void sbx_strv_release(struct sbx_strv *sv);

/* Both abort when out of memory and fail with SBX_E_LIMIT at SBX_STRV_MAX elements. */
int sbx_strv_add(struct sbx_strv *sv, const char *s, struct sbx_err *err) SBX_MUST_USE;
int sbx_strv_addf(struct sbx_strv *sv, struct sbx_err *err, const char *fmt, ...)
	SBX_PRINTF(3, 4) SBX_MUST_USE;

/* Sets "NAME=value" in an environment vector: replaces the entry of that name or adds one. */
int sbx_strv_setenv(struct sbx_strv *env, const char *name, const char *value,
		    struct sbx_err *err) SBX_MUST_USE;

/* The value of name in an environment vector, borrowed; NULL if it is not there. */
const char *sbx_strv_getenv(const struct sbx_strv *env, const char *name);

bool sbx_strv_contains(const struct sbx_strv *sv, const char *s);
