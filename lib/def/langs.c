/* Finding a language among the files.  A name is tried as a file first: the usual run reads one definition, not ten. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/def/lang.h"
#include "lib/def/search.h"
#include "lib/def/source.h"

enum {
	LANGS_MAX = 1024,
	LIST_MAX = 600, /* of a message that lists the languages */
};

static const char kind[] = "languages";

void sbx_langs_release(struct sbx_langs *langs)
{
	for (size_t i = 0; i < langs->n; i++)
		sbx_lang_free(langs->v[i]);
	free(langs->v);
	*langs = (struct sbx_langs){.v = NULL};
}

static const struct sbx_lang *loaded(const struct sbx_langs *langs, const char *source)
{
	for (size_t i = 0; i < langs->n; i++) {
		if (strcmp(langs->v[i]->source, source) == 0)
			return langs->v[i];
	}
	return NULL;
}

/* Reads a definition unless it was read before. */
static int load(struct sbx_langs *langs, const char *path, const struct sbx_lang **ret,
		struct sbx_err *err)
{
	const struct sbx_lang *known = loaded(langs, path);

	if (!known) {
		if (sbx_array_grow(&langs->v, &langs->cap, langs->n + 1, LANGS_MAX,
				   sizeof(*langs->v), err) < 0)
			return sbx_wrap(err, "languages");
		if (sbx_lang_load(path, &langs->v[langs->n], err) < 0)
			return -1;
		known = langs->v[langs->n++];
	}
	if (ret)
		*ret = known;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct sbx_lang *const *)a)->name, (*(struct sbx_lang *const *)b)->name);
}

int sbx_langs_load_all(struct sbx_langs *langs, struct sbx_strv *broken, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv paths = {.v = NULL};

	if (langs->all)
		return 0;
	if (sbx_search_all(kind, &paths, err) < 0)
		return -1;
	for (size_t i = 0; i < paths.n; i++) {
		struct sbx_err why = SBX_ERR_INIT;

		if (load(langs, paths.v[i], NULL, broken ? &why : err) == 0)
			continue;
		if (!broken || sbx_strv_add(broken, why.msg, err) < 0)
			return -1;
	}
	if (langs->n)
		qsort(langs->v, langs->n, sizeof(*langs->v), by_name);
	langs->all = true;
	return 0;
}

static bool has_name(const struct sbx_lang *lang, struct sbx_str name)
{
	if (sbx_str_eq_nocase(name, lang->name))
		return true;
	for (size_t i = 0; i < lang->aliases.n; i++) {
		if (sbx_str_eq_nocase(name, lang->aliases.v[i]))
			return true;
	}
	return false;
}

/* The definition in NAME.json, if there is one: *ret stays as it was otherwise. */
static int find_file(struct sbx_langs *langs, struct sbx_str name, const struct sbx_lang **ret,
		     struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *file = NULL, *path = NULL;

	if (name.n == 0 || name.n > 64 || name.p[0] == '.' || memchr(name.p, '/', name.n) ||
	    memchr(name.p, '\0', name.n))
		return 0;
	file = sbx_xasprintf("%.*s.json", (int)name.n, name.p);
	for (char *p = file; *p; p++) {
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	}
	if (sbx_search_file(kind, file, &path, err) < 0)
		return -1;
	return path ? load(langs, path, ret, err) : 0;
}

/* By file, then by alias among all; *ret is NULL when there is none. */
static int find_name(struct sbx_langs *langs, struct sbx_str name, const struct sbx_lang **ret,
		     struct sbx_err *err)
{
	*ret = NULL;
	if (find_file(langs, name, ret, err) < 0)
		return -1;
	if (*ret)
		return 0;
	if (sbx_langs_load_all(langs, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < langs->n && !*ret; i++) {
		if (has_name(langs->v[i], name))
			*ret = langs->v[i];
	}
	return 0;
}

static int unknown(const struct sbx_langs *langs, struct sbx_str name, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf list = SBX_BUF_INIT(LIST_MAX);
	struct sbx_err full = SBX_ERR_INIT; /* then the list ends there */

	for (size_t i = 0; i < langs->n; i++) {
		if (sbx_buf_addf(&list, &full, "%s%s", i ? " " : "", langs->v[i]->name) < 0)
			break;
	}
	return sbx_fail(err, SBX_E_NOT_FOUND, "unknown language '%.*s': there are %s",
			(int)(name.n < 64 ? name.n : 64), name.p,
			list.len ? sbx_buf_str(&list) : "none");
}

int sbx_langs_find(struct sbx_langs *langs, struct sbx_str name, const struct sbx_lang **ret,
		   struct sbx_err *err)
{
	const struct sbx_lang *lang;

	if (find_name(langs, name, &lang, err) < 0)
		return -1;
	if (!lang)
		return unknown(langs, name, err);
	*ret = lang;
	return 0;
}

int sbx_langs_find_suffix(struct sbx_langs *langs, const char *path, const struct sbx_lang **ret,
			  struct sbx_err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	const struct sbx_lang *other_case = NULL;

	if (sbx_langs_load_all(langs, NULL, err) < 0)
		return -1;
	*ret = NULL;
	if (!dot || dot == name)
		return 0;
	for (size_t i = 0; i < langs->n; i++) {
		const struct sbx_strv *suffixes = &langs->v[i]->suffixes;

		for (size_t j = 0; j < suffixes->n; j++) {
			if (strcmp(dot + 1, suffixes->v[j]) == 0) {
				*ret = langs->v[i];
				return 0;
			}
			if (!other_case && strcasecmp(dot + 1, suffixes->v[j]) == 0)
				other_case = langs->v[i];
		}
	}
	*ret = other_case;
	return 0;
}

int sbx_langs_find_shebang(struct sbx_langs *langs, struct sbx_str code,
			   const struct sbx_lang **ret, struct sbx_err *err)
{
	struct sbx_str name = sbx_source_interpreter(code), bare = name;
	const struct sbx_lang *lang = NULL;

	while (bare.n > 0 && strchr("0123456789.-", bare.p[bare.n - 1]))
		bare.n--;
	if (name.n > 0 && find_file(langs, bare, &lang, err) < 0)
		return -1;
	if (!lang && name.n > 0 && find_name(langs, name, &lang, err) < 0)
		return -1;
	if (!lang && bare.n > 0 && bare.n < name.n && find_name(langs, bare, &lang, err) < 0)
		return -1;
	*ret = lang;
	return 0;
}
