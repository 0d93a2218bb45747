#include "lib/base/strv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"

void sbx_strv_release(struct sbx_strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		free(sv->v[i]);
	free(sv->v);
	*sv = (struct sbx_strv){.v = NULL};
}

/* Takes take_s on success. */
static int push(struct sbx_strv *sv, char *take_s, struct sbx_err *err)
{
	if (sv->n == SBX_STRV_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "more than %d of them", SBX_STRV_MAX);
	if (sbx_array_grow(&sv->v, &sv->cap, sv->n + 2, SBX_STRV_MAX + 1, sizeof(*sv->v), err) < 0)
		return -1;
	sv->v[sv->n++] = take_s;
	sv->v[sv->n] = NULL;
	return 0;
}

int sbx_strv_add(struct sbx_strv *sv, const char *s, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *copy = sbx_xstrdup(s);

	if (push(sv, copy, err) < 0)
		return -1;
	copy = NULL;
	return 0;
}

int sbx_strv_addf(struct sbx_strv *sv, struct sbx_err *err, const char *fmt, ...)
{
	SBX_CLEANUP(sbx_freep) char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	if (push(sv, text, err) < 0)
		return -1;
	text = NULL;
	return 0;
}

/* The entry "NAME=..." of env, or env->n. */
static size_t find(const struct sbx_strv *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < env->n; i++) {
		if (strncmp(env->v[i], name, len) == 0 && env->v[i][len] == '=')
			return i;
	}
	return env->n;
}

int sbx_strv_setenv(struct sbx_strv *env, const char *name, const char *value, struct sbx_err *err)
{
	size_t at = find(env, name);
	char *entry;

	if (at == env->n)
		return sbx_strv_addf(env, err, "%s=%s", name, value);
	entry = sbx_xasprintf("%s=%s", name, value); /* before the free: value may be the old one */
	free(env->v[at]);
	env->v[at] = entry;
	return 0;
}

const char *sbx_strv_getenv(const struct sbx_strv *env, const char *name)
{
	size_t at = find(env, name);

	return at < env->n ? env->v[at] + strlen(name) + 1 : NULL;
}

bool sbx_strv_contains(const struct sbx_strv *sv, const char *s)
{
	for (size_t i = 0; i < sv->n; i++) {
		if (strcmp(sv->v[i], s) == 0)
			return true;
	}
	return false;
}
