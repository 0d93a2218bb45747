/*
 * Reading one definition.  First the rows bind the object to the struct, then the checks refuse what no language can mean, so that
 * whoever uses a struct sbx_lang need not look again.
 */
#include "lib/def/lang.h"

#include <assert.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/def/expand.h"
#include "lib/json/bind.h"
#include "lib/json/doc.h"

enum {
	NAME_MAX_BYTES = 32,
	VARIANTS_MAX = 64,  /* of variants, of their needs and of their steps */
	PATTERN_MAX = 1024, /* regcomp recurses */
};

/* --- ownership */

static void release_need(struct sbx_lang_need *need)
{
	free(need->program);
	free(need->debian);
	free(need->fedora);
}

static void release_variant(struct sbx_lang_variant *variant)
{
	for (size_t i = 0; i < variant->n_needs; i++)
		release_need(&variant->needs[i]);
	free(variant->needs);
	for (size_t i = 0; i < variant->n_compile; i++)
		sbx_strv_release(&variant->compile[i]);
	free(variant->compile);
	sbx_strv_release(&variant->run);
}

void sbx_lang_free(struct sbx_lang *lang)
{
	if (!lang)
		return;
	for (size_t i = 0; i < lang->n_variants; i++)
		release_variant(&lang->variants[i]);
	free(lang->variants);
	sbx_strv_release(&lang->aliases);
	sbx_strv_release(&lang->suffixes);
	sbx_strv_release(&lang->env);
	sbx_strv_release(&lang->path);
	sbx_strv_release(&lang->host_paths);
	sbx_strv_release(&lang->warn);
	free(lang->name);
	free(lang->title);
	free(lang->image);
	free(lang->file);
	free(lang->file_pattern);
	free(lang->main_package);
	free(lang->main_type);
	free(lang->main_entry);
	free(lang->selftest_code);
	free(lang->selftest_stdin);
	free(lang->selftest_stdout);
	free(lang->source);
	free(lang);
}

static void free_langp(struct sbx_lang **lang)
{
	sbx_lang_free(*lang);
}

/* --- binding */

#define MAY(key_, kind_, type, member)                                                    \
	{                                                                                 \
		.key = (key_), .kind = SBX_BIND_##kind_, .offset = offsetof(type, member) \
	}
#define MUST(key_, kind_, type, member)                                                    \
	{                                                                                  \
		.key = (key_), .kind = SBX_BIND_##kind_, .offset = offsetof(type, member), \
		.required = true                                                           \
	}
/* A function that fills several members: it gets the whole struct. */
#define WHOLE(key_, required_, function)                                         \
	{                                                                        \
		.key = (key_), .kind = SBX_BIND_CUSTOM, .required = (required_), \
		.custom = (function)                                             \
	}

/* The number of elements of an array that must have some. */
static int count(struct sbx_json v, const char *where, size_t *ret, struct sbx_err *err)
{
	int n;

	if (sbx_bind_expect(v, SBX_JSON_ARRAY, where, err) < 0)
		return -1;
	n = sbx_json_count(v);
	if (n == 0)
		return sbx_fail(err, SBX_E_INVALID, "%s: must not be empty", where);
	if (n > VARIANTS_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "%s: has %d elements, at most %d", where, n,
				VARIANTS_MAX);
	*ret = (size_t)n;
	return 0;
}

static int bind_needs(struct sbx_json v, const char *where, void *field, struct sbx_err *err)
{
	static const struct sbx_bind rows[] = {
		MUST("program", STRING, struct sbx_lang_need, program),
		MAY("debian", STRING, struct sbx_lang_need, debian),
		MAY("fedora", STRING, struct sbx_lang_need, fedora),
	};
	struct sbx_lang_variant *variant = field;
	struct sbx_json_iter it;
	struct sbx_json key, element;
	size_t n;

	if (count(v, where, &n, err) < 0)
		return -1;
	variant->needs = sbx_xcalloc(n, sizeof(*variant->needs));
	it = sbx_json_iter(v);
	while (sbx_json_next(&it, &key, &element)) {
		struct sbx_lang_need *need = &variant->needs[variant->n_needs];
		SBX_CLEANUP(sbx_freep)
		char *place = sbx_xasprintf("%s[%zu]", where, variant->n_needs++);

		if (sbx_bind_object(rows, SBX_ARRAY_SIZE(rows), element, place, need, err) < 0)
			return -1;
		if (!need->debian)
			need->debian = sbx_xstrdup(need->program);
		if (!need->fedora)
			need->fedora = sbx_xstrdup(need->debian);
	}
	return 0;
}

static int bind_compile(struct sbx_json v, const char *where, void *field, struct sbx_err *err)
{
	struct sbx_lang_variant *variant = field;
	struct sbx_json_iter it;
	struct sbx_json key, step;
	size_t n;

	if (count(v, where, &n, err) < 0)
		return -1;
	variant->compile = sbx_xcalloc(n, sizeof(*variant->compile));
	it = sbx_json_iter(v);
	while (sbx_json_next(&it, &key, &step)) {
		struct sbx_strv *argv = &variant->compile[variant->n_compile];
		SBX_CLEANUP(sbx_freep)
		char *place = sbx_xasprintf("%s[%zu]", where, variant->n_compile++);

		if (sbx_bind_strv(step, place, argv, err) < 0)
			return -1;
	}
	return 0;
}

static int bind_variants(struct sbx_json v, const char *where, void *field, struct sbx_err *err)
{
	static const struct sbx_bind rows[] = {
		WHOLE("needs", true, bind_needs),
		WHOLE("compile", false, bind_compile),
		MUST("run", STRV, struct sbx_lang_variant, run),
	};
	struct sbx_lang *lang = field;
	struct sbx_json_iter it;
	struct sbx_json key, element;
	size_t n;

	if (count(v, where, &n, err) < 0)
		return -1;
	lang->variants = sbx_xcalloc(n, sizeof(*lang->variants));
	it = sbx_json_iter(v);
	while (sbx_json_next(&it, &key, &element)) {
		struct sbx_lang_variant *variant = &lang->variants[lang->n_variants];
		SBX_CLEANUP(sbx_freep)
		char *place = sbx_xasprintf("%s[%zu]", where, lang->n_variants++);

		if (sbx_bind_object(rows, SBX_ARRAY_SIZE(rows), element, place, variant, err) < 0)
			return -1;
	}
	return 0;
}

static int bind_main(struct sbx_json v, const char *where, void *field, struct sbx_err *err)
{
	static const struct sbx_bind rows[] = {
		MUST("package", STRING, struct sbx_lang, main_package),
		MUST("type", STRING, struct sbx_lang, main_type),
		MUST("entry", STRING, struct sbx_lang, main_entry),
	};

	return sbx_bind_object(rows, SBX_ARRAY_SIZE(rows), v, where, field, err);
}

static int bind_selftest(struct sbx_json v, const char *where, void *field, struct sbx_err *err)
{
	static const struct sbx_bind rows[] = {
		MUST("code", STRING, struct sbx_lang, selftest_code),
		MUST("stdin", STRING, struct sbx_lang, selftest_stdin),
		MUST("stdout", STRING, struct sbx_lang, selftest_stdout),
	};

	return sbx_bind_object(rows, SBX_ARRAY_SIZE(rows), v, where, field, err);
}

static const struct sbx_bind lang_rows[] = {
	MUST("name", STRING, struct sbx_lang, name),
	MUST("title", STRING, struct sbx_lang, title),
	MAY("aliases", STRV, struct sbx_lang, aliases),
	MAY("suffixes", STRV, struct sbx_lang, suffixes),
	MAY("image", STRING, struct sbx_lang, image),
	MUST("file", STRING, struct sbx_lang, file),
	MAY("file_pattern", STRING, struct sbx_lang, file_pattern),
	WHOLE("main", false, bind_main),
	WHOLE("variants", true, bind_variants),
	MAY("env", ENV, struct sbx_lang, env),
	MAY("path", STRV, struct sbx_lang, path),
	MAY("host_paths", STRV, struct sbx_lang, host_paths),
	MAY("warn", STRV, struct sbx_lang, warn),
	WHOLE("selftest", true, bind_selftest),
};

/* --- checking: each takes the path for its messages */

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789";

/* What --lang and file names can be: lower case, digits, and after the first one of + # _ . - as well. */
static bool is_name(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > NAME_MAX_BYTES || !strchr(name_bytes, s[0]))
		return false;
	for (; *s; s++) {
		if (!strchr(name_bytes, *s) && !strchr("+#_.-", *s))
			return false;
	}
	return true;
}

static int check_name(const struct sbx_lang *lang, const char *path, struct sbx_err *err)
{
	const char *slash = strrchr(path, '/');
	SBX_CLEANUP(sbx_freep) char *file = sbx_xasprintf("%s.json", lang->name);

	if (!is_name(lang->name))
		return sbx_fail(err, SBX_E_INVALID,
				"%s: name: '%s' is no name: at most %d of a-z, 0-9 and, not first, "
				"+ # _ . -",
				path, lang->name, NAME_MAX_BYTES);
	if (strcmp(slash ? slash + 1 : path, file) != 0)
		return sbx_fail(err, SBX_E_INVALID,
				"%s: name: is '%s', so the file must be called '%s'", path,
				lang->name, file);
	for (size_t i = 0; i < lang->aliases.n; i++) {
		if (!is_name(lang->aliases.v[i]))
			return sbx_fail(err, SBX_E_INVALID, "%s: aliases[%zu]: '%s' is no name",
					path, i, lang->aliases.v[i]);
	}
	return 0;
}

static int check_files(const struct sbx_lang *lang, const char *path, struct sbx_err *err)
{
	if (lang->file[0] == '\0' || strchr(".-+@", lang->file[0]) || strchr(lang->file, '/'))
		return sbx_fail(
			err, SBX_E_INVALID,
			"%s: file: '%s' must be a plain name that begins with none of . - + @",
			path, lang->file);
	for (size_t i = 0; i < lang->suffixes.n; i++) {
		const char *suffix = lang->suffixes.v[i];

		if (suffix[0] == '\0' || suffix[strcspn(suffix, "./")])
			return sbx_fail(err, SBX_E_INVALID,
					"%s: suffixes[%zu]: '%s' must be a suffix without dots",
					path, i, suffix);
	}
	for (size_t i = 0; i < lang->warn.n; i++) {
		if (strcmp(lang->warn.v[i], "bom") != 0 && strcmp(lang->warn.v[i], "cr") != 0)
			return sbx_fail(err, SBX_E_INVALID,
					"%s: warn[%zu]: '%s' is neither 'bom' nor 'cr'", path, i,
					lang->warn.v[i]);
	}
	return 0;
}

static int check_pattern(const char *pattern, bool group, const char *path, const char *key,
			 struct sbx_err *err)
{
	regex_t re;
	size_t groups;
	int code;

	if (!pattern)
		return 0;
	if (strlen(pattern) > PATTERN_MAX)
		return sbx_fail(err, SBX_E_INVALID, "%s: %s: has more than %d bytes", path, key,
				PATTERN_MAX);
	code = regcomp(&re, pattern, REG_EXTENDED);
	if (code != 0) {
		char why[128];

		regerror(code, &re, why, sizeof(why));
		return sbx_fail(err, SBX_E_INVALID, "%s: %s: cannot use the pattern: %s", path, key,
				why);
	}
	groups = re.re_nsub;
	regfree(&re);
	if (group && groups == 0)
		return sbx_fail(err, SBX_E_INVALID,
				"%s: %s: needs a group (...) around what it is to find", path, key);
	return 0;
}

static int check_patterns(const struct sbx_lang *lang, const char *path, struct sbx_err *err)
{
	if (check_pattern(lang->file_pattern, true, path, "file_pattern", err) < 0 ||
	    check_pattern(lang->main_package, true, path, "main: package", err) < 0 ||
	    check_pattern(lang->main_type, true, path, "main: type", err) < 0 ||
	    check_pattern(lang->main_entry, false, path, "main: entry", err) < 0)
		return -1;
	return 0;
}

static int check_text(const char *text, bool args, const char *where, struct sbx_err *err)
{
	char bad[64];

	if (!sbx_expand_wrong(text, bad) && (args || strcmp(text, "{args}") != 0))
		return 0;
	if (strstr(text, "{args}"))
		return sbx_fail(err, SBX_E_INVALID, "%s: {args} can only be a whole element of run",
				where);
	return sbx_fail(err, SBX_E_INVALID,
			"%s: '%s' is no placeholder (a brace itself is written twice)", where, bad);
}

static int check_command(const struct sbx_strv *argv, bool args, const char *where,
			 struct sbx_err *err)
{
	if (argv->n == 0 || argv->v[0][0] == '\0')
		return sbx_fail(err, SBX_E_INVALID, "%s: begins with no program", where);
	for (size_t i = 0; i < argv->n; i++) {
		SBX_CLEANUP(sbx_freep) char *place = sbx_xasprintf("%s[%zu]", where, i);

		if (check_text(argv->v[i], args && i > 0, place, err) < 0)
			return -1;
	}
	return 0;
}

static int check_variant(const struct sbx_lang_variant *variant, const char *where,
			 struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *run = sbx_xasprintf("%s: run", where);

	for (size_t i = 0; i < variant->n_needs; i++) {
		const char *program = variant->needs[i].program;

		if (program[0] == '\0' || strchr(program, '/'))
			return sbx_fail(err, SBX_E_INVALID,
					"%s: needs[%zu]: program: '%s' must be a name to look for "
					"in PATH",
					where, i, program);
	}
	for (size_t i = 0; i < variant->n_compile; i++) {
		SBX_CLEANUP(sbx_freep) char *step = sbx_xasprintf("%s: compile[%zu]", where, i);

		if (check_command(&variant->compile[i], false, step, err) < 0)
			return -1;
	}
	return check_command(&variant->run, true, run, err);
}

static int check_variable(const char *variable, const char *path, struct sbx_err *err)
{
	static const char bytes[] =
		"0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const char *equals = strchr(variable, '=');
	SBX_CLEANUP(sbx_freep) char *name = NULL, *where = NULL;

	assert(equals); /* the row binds them so */
	name = sbx_str_dup((struct sbx_str){.p = variable, .n = (size_t)(equals - variable)});
	where = sbx_xasprintf("%s: env.%s", path, name);
	if ((name[0] >= '0' && name[0] <= '9') || name[strspn(name, bytes)])
		return sbx_fail(err, SBX_E_INVALID, "%s: is no name of a variable", where);
	return check_text(equals + 1, false, where, err);
}

static int check_commands(const struct sbx_lang *lang, const char *path, struct sbx_err *err)
{
	for (size_t i = 0; i < lang->n_variants; i++) {
		SBX_CLEANUP(sbx_freep) char *where = sbx_xasprintf("%s: variants[%zu]", path, i);

		if (check_variant(&lang->variants[i], where, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < lang->env.n; i++) {
		if (check_variable(lang->env.v[i], path, err) < 0)
			return -1;
	}
	return 0;
}

/* An absolute path of plain components, below one of the roots, which a NULL ends. */
static bool is_below(const char *path, const char *const *roots)
{
	SBX_CLEANUP(sbx_freep) char *ended = sbx_xasprintf("%s/", path);

	if (strstr(ended, "//") || strstr(ended, "/./") || strstr(ended, "/../"))
		return false;
	for (; *roots; roots++) {
		if (sbx_str_has_prefix(sbx_str_of(path), *roots))
			return true;
	}
	return false;
}

static int check_paths(const struct sbx_lang *lang, const char *path, struct sbx_err *err)
{
	static const char *const folders[] = {"/usr/", NULL};
	static const char *const globs[] = {"/etc/", "/opt/", "/nix/store/", NULL};

	for (size_t i = 0; i < lang->path.n; i++) {
		if (!is_below(lang->path.v[i], folders) || strchr(lang->path.v[i], ':'))
			return sbx_fail(err, SBX_E_INVALID,
					"%s: path[%zu]: '%s' must be a folder below /usr", path, i,
					lang->path.v[i]);
	}
	for (size_t i = 0; i < lang->host_paths.n; i++) {
		if (!is_below(lang->host_paths.v[i], globs))
			return sbx_fail(
				err, SBX_E_INVALID,
				"%s: host_paths[%zu]: '%s' must be below /etc, /opt or /nix/store",
				path, i, lang->host_paths.v[i]);
	}
	return 0;
}

int sbx_lang_parse(struct sbx_str text, const char *path, struct sbx_lang **ret,
		   struct sbx_err *err)
{
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	SBX_CLEANUP(free_langp) struct sbx_lang *lang = sbx_new(struct sbx_lang);

	lang->source = sbx_xstrdup(path);
	if (sbx_json_parse(text, path, &doc, err) < 0 ||
	    sbx_bind_object(lang_rows, SBX_ARRAY_SIZE(lang_rows), sbx_json_root(doc), path, lang,
			    err) < 0 ||
	    check_name(lang, path, err) < 0 || check_files(lang, path, err) < 0 ||
	    check_patterns(lang, path, err) < 0 || check_commands(lang, path, err) < 0 ||
	    check_paths(lang, path, err) < 0)
		return -1;
	*ret = SBX_TAKE(lang);
	return 0;
}

int sbx_lang_load(const char *path, struct sbx_lang **ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_DOC_MAX);
	struct sbx_str bytes;

	if (sbx_read_file(path, &text, err) < 0)
		return -1;
	bytes = (struct sbx_str){.p = sbx_buf_str(&text), .n = text.len};
	return sbx_lang_parse(bytes, path, ret, err);
}
