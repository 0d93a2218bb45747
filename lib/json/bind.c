#include "lib/json/bind.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/base/strv.h"

enum { QUOTE_MAX = 80 };

static int quoted(struct sbx_str s)
{
	return s.n < QUOTE_MAX ? (int)s.n : QUOTE_MAX;
}

int sbx_bind_expect(struct sbx_json v, enum sbx_json_type type, const char *where,
		    struct sbx_err *err)
{
	enum sbx_json_type got = sbx_json_type(v);

	if (got == type)
		return 0;
	return sbx_fail(err, SBX_E_INVALID, "%s: must be %s, not %s", where,
			sbx_json_type_name(type), sbx_json_type_name(got));
}

/* A string that can be a C string. */
static int c_string(struct sbx_json v, const char *where, char **ret, struct sbx_err *err)
{
	struct sbx_str s;

	if (sbx_bind_expect(v, SBX_JSON_STRING, where, err) < 0)
		return -1;
	s = sbx_json_string(v);
	if (memchr(s.p, '\0', s.n))
		return sbx_fail(err, SBX_E_INVALID, "%s: must not contain a NUL", where);
	*ret = sbx_str_dup(s);
	return 0;
}

static int bind_string(struct sbx_json v, const char *where, char **field, struct sbx_err *err)
{
	char *s;

	if (c_string(v, where, &s, err) < 0)
		return -1;
	free(*field);
	*field = s;
	return 0;
}

int sbx_bind_strv(struct sbx_json v, const char *where, struct sbx_strv *field, struct sbx_err *err)
{
	struct sbx_json_iter it;
	struct sbx_json key, value;

	if (sbx_bind_expect(v, SBX_JSON_ARRAY, where, err) < 0)
		return -1;
	sbx_strv_release(field);
	it = sbx_json_iter(v);
	for (int i = 0; sbx_json_next(&it, &key, &value); i++) {
		SBX_CLEANUP(sbx_freep) char *place = sbx_xasprintf("%s[%d]", where, i), *s = NULL;

		if (c_string(value, place, &s, err) < 0)
			return -1;
		if (sbx_strv_add(field, s, err) < 0)
			return sbx_wrap(err, "%s", where);
	}
	return 0;
}

static int bind_variable(struct sbx_json key, struct sbx_json value, const char *where,
			 struct sbx_strv *field, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *name = NULL, *text = NULL, *place = NULL;

	if (c_string(key, where, &name, err) < 0)
		return -1;
	if (name[0] == '\0' || strchr(name, '='))
		return sbx_fail(err, SBX_E_INVALID, "%s: '%s' cannot name a variable", where, name);
	place = sbx_xasprintf("%s.%s", where, name);
	if (c_string(value, place, &text, err) < 0)
		return -1;
	if (sbx_strv_addf(field, err, "%s=%s", name, text) < 0) /* keys are unique: no search */
		return sbx_wrap(err, "%s", where);
	return 0;
}

static int bind_env(struct sbx_json v, const char *where, struct sbx_strv *field,
		    struct sbx_err *err)
{
	struct sbx_json_iter it;
	struct sbx_json key, value;

	if (sbx_bind_expect(v, SBX_JSON_OBJECT, where, err) < 0)
		return -1;
	sbx_strv_release(field);
	it = sbx_json_iter(v);
	while (sbx_json_next(&it, &key, &value)) {
		if (bind_variable(key, value, where, field, err) < 0)
			return -1;
	}
	return 0;
}

static int bind_value(const struct sbx_bind *row, struct sbx_json v, const char *where, void *field,
		      struct sbx_err *err)
{
	switch (row->kind) {
	case SBX_BIND_STRING:
		return bind_string(v, where, field, err);
	case SBX_BIND_STRV:
		return sbx_bind_strv(v, where, field, err);
	case SBX_BIND_ENV:
		return bind_env(v, where, field, err);
	case SBX_BIND_BOOL:
		if (sbx_bind_expect(v, SBX_JSON_BOOL, where, err) < 0)
			return -1;
		*(bool *)field = sbx_json_bool(v);
		return 0;
	case SBX_BIND_U64:
		return sbx_json_u64(v, UINT64_MAX, where, field, err);
	case SBX_BIND_VALUE:
		*(struct sbx_json *)field = v;
		return 0;
	case SBX_BIND_CUSTOM:
		return row->custom(v, where, field, err);
	}
	abort(); /* no row has another kind */
}

static int unknown_key(const struct sbx_bind *rows, size_t n, struct sbx_str key, const char *where,
		       struct sbx_err *err)
{
	const char *nearest = NULL;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t distance = sbx_str_distance(key, rows[i].key);

		if (distance < least) {
			least = distance;
			nearest = rows[i].key;
		}
	}
	if (!nearest)
		return sbx_fail(err, SBX_E_INVALID, "%s: unknown key '%.*s'", where, quoted(key),
				key.p);
	return sbx_fail(err, SBX_E_INVALID,
			"%s: unknown key '%.*s' (the nearest known one is '%s')", where,
			quoted(key), key.p, nearest);
}

static const struct sbx_bind *find_row(const struct sbx_bind *rows, size_t n, struct sbx_str key)
{
	for (size_t i = 0; i < n; i++) {
		if (sbx_str_eq(key, rows[i].key))
			return &rows[i];
	}
	return NULL;
}

static int find_missing(const struct sbx_bind *rows, size_t n, struct sbx_json v, const char *where,
			struct sbx_err *err)
{
	struct sbx_json ignored;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].required && !sbx_json_get(v, rows[i].key, &ignored))
			return sbx_fail(err, SBX_E_INVALID, "%s: key '%s' is missing", where,
					rows[i].key);
	}
	return 0;
}

int sbx_bind_object(const struct sbx_bind *rows, size_t n, struct sbx_json v, const char *where,
		    void *out, struct sbx_err *err)
{
	struct sbx_json_iter it;
	struct sbx_json key, value;

	if (sbx_bind_expect(v, SBX_JSON_OBJECT, where, err) < 0)
		return -1;
	it = sbx_json_iter(v);
	while (sbx_json_next(&it, &key, &value)) {
		const struct sbx_bind *row = find_row(rows, n, sbx_json_string(key));
		SBX_CLEANUP(sbx_freep) char *place = NULL;

		if (!row)
			return unknown_key(rows, n, sbx_json_string(key), where, err);
		if (row->nullable && sbx_json_type(value) == SBX_JSON_NULL)
			continue;
		place = sbx_xasprintf("%s: %s", where, row->key);
		if (bind_value(row, value, place, (char *)out + row->offset, err) < 0)
			return -1;
	}
	return find_missing(rows, n, v, where, err);
}
