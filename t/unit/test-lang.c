#include "lib/def/lang.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/def/expand.h"
#include "t/unit/tap.h"

/* A path of the source tree. */
static char *source(const char *relative)
{
	static char path[4096];
	const char *top = getenv("SBX_SRCDIR");

	(void)snprintf(path, sizeof(path), "%s/%s", top ? top : ".", relative);
	return path;
}

/* The shipped definitions and nothing of this machine's. */
static void use_share(void)
{
	setenv("LLMSBX_SHARE", source("share"), 1);
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
}

TEST(minimal)
{
	struct sbx_lang *lang = NULL;

	if (!ok_call(sbx_lang_load(source("t/data/lang/good/minimal.json"), &lang, err)))
		return;
	ok_str(lang->name, "minimal");
	ok_str(lang->file, "main.min");
	ok_str(lang->source, source("t/data/lang/good/minimal.json"));
	ok_str(lang->image, NULL);
	ok_str(lang->file_pattern, NULL);
	ok_int(lang->aliases.n + lang->suffixes.n + lang->env.n + lang->path.n +
		       lang->host_paths.n + lang->warn.n,
	       0);
	ok_int(lang->n_variants, 1);
	ok_int(lang->variants[0].n_compile, 0);
	ok_str(lang->variants[0].needs[0].debian, "min");
	ok_str(lang->variants[0].needs[0].fedora, "min");
	ok_str(lang->selftest_stdout, "");
	sbx_lang_free(lang);
}

static void ok_list(const struct sbx_strv *got, const char *want)
{
	char joined[512] = "";

	for (size_t i = 0; i < got->n; i++)
		(void)snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s",
			       i ? "|" : "", got->v[i]);
	ok_str(joined, want);
}

TEST(full)
{
	const struct sbx_lang_variant *v;
	struct sbx_lang *lang = NULL;

	if (!ok_call(sbx_lang_load(source("t/data/lang/good/full.json"), &lang, err)))
		return;
	ok_str(lang->title, "Full & everything");
	ok_str(lang->image, "example:1");
	ok_str(lang->file_pattern, "^(type|kind) ([A-Z][a-z]*)");
	ok_str(lang->main_package, "^in ([a-z.]+)");
	ok_str(lang->main_type, "^type ([A-Z][a-z]*)");
	ok_str(lang->main_entry, "begin *\\(");
	ok_list(&lang->aliases, "all|f+");
	ok_list(&lang->suffixes, "ful|f");
	ok_list(&lang->env, "FULL_HOME={workdir}/.full|FULL_CPUS={cpus}|EMPTY=");
	ok_list(&lang->path, "/usr/lib/full/bin");
	ok_list(&lang->host_paths, "/etc/full*|/opt/full/lib|/nix/store/*-full");
	ok_list(&lang->warn, "bom|cr");
	ok_str(lang->selftest_code, "print\n");
	ok_str(lang->selftest_stdin, "in\n");
	ok_str(lang->selftest_stdout, "out\n");
	if (!ok_int(lang->n_variants, 2))
		return;
	v = &lang->variants[0];
	ok_int(v->n_needs, 3);
	ok_str(v->needs[0].program, "fullc");
	ok_str(v->needs[0].debian, "full-compiler libfull-dev");
	ok_str(v->needs[0].fedora, "fullc");
	ok_str(v->needs[1].fedora, "full-vm");
	ok_str(v->needs[2].debian, "env");
	ok_int(v->n_compile, 2);
	ok_list(&v->compile[0], "env|LEVEL={cpus}|fullc|-o|{build}/{stem}|{file}");
	ok_list(&v->compile[1], "fullc|--check|{{literal}}");
	ok_list(&v->run, "full|-m|{memory_mib}|-h{heap_mib}|{args}|{main}");
	ok_int(lang->variants[1].n_compile, 0);
	sbx_lang_free(lang);
}

static const struct {
	const char *name, *words;
} bad[] = {
	{"Upper", "'Upper' is no name"},
	{"alias", "aliases[0]: 'a b' is no name"},
	{"args-as-program", "run[0]: {args} can only be"},
	{"args-in-compile", "compile[0][1]: {args} can only be a whole element of run"},
	{"args-in-element", "run[1]: {args} can only be a whole element of run"},
	{"args-in-env", "env.A: {args} can only be a whole element of run"},
	{"brace", "run[1]: '}' is no placeholder"},
	{"empty-program", "variants[0]: compile[1]: begins with no program"},
	{"env-name", "env.A{file}: is no name of a variable"},
	{"env-name-blank", "env.A B: is no name of a variable"},
	{"env-name-digit", "env.1A: is no name of a variable"},
	{"half-main", "main: key 'type' is missing"},
	{"half-selftest", "selftest: key 'stdin' is missing"},
	{"host-path", "host_paths[1]: '/home/x' must be below /etc, /opt or /nix/store"},
	{"host-path-empty-component", "host_paths[0]"},
	{"host-path-upwards", "host_paths[0]"},
	{"host-path-whole", "host_paths[0]: '/etc' must be below"},
	{"later-key", "unknown key 'install'"},
	{"no-needs", "variants[0]: needs: must not be empty"},
	{"no-program", "variants[0]: run: begins with no program"},
	{"no-run", "variants[0]: key 'run' is missing"},
	{"no-selftest", "key 'selftest' is missing"},
	{"no-title", "key 'title' is missing"},
	{"no-variant", "variants: must not be empty"},
	{"not-an-object", "must be an object, not an array"},
	{"not-json", "not-json.json"},
	{"nul", "title: must not contain a NUL"},
	{"option-as-file", "file: '-x' must be a plain name"},
	{"other-name", "so the file must be called 'another.json'"},
	{"path-as-file", "file: 'src/main.x' must be a plain name"},
	{"path-of-two", "path[0]"},
	{"path-outside", "path[0]: '/opt/x/bin' must be a folder below /usr"},
	{"path-upwards", "path[0]: '/usr/../home/x' must be a folder below /usr"},
	{"pattern", "file_pattern: cannot use the pattern"},
	{"pattern-too-long", "file_pattern: has more than 1024 bytes"},
	{"pattern-without-group", "file_pattern: needs a group"},
	{"placeholder", "run[1]: '{files}' is no placeholder"},
	{"placeholder-in-env", "env.A: '{what}' is no placeholder"},
	{"program-path", "needs[0]: program: '/usr/bin/x' must be a name"},
	{"suffix-with-dot", "suffixes[1]: '.y' must be a suffix without dots"},
	{"unknown-inner-key",
	 "variants[0]: unknown key 'compiler' (the nearest known one is 'compile')"},
	{"unknown-key", "unknown key 'fille' (the nearest known one is 'file')"},
	{"warn-of-what", "warn[0]: 'tabs' is neither 'bom' nor 'cr'"},
	{"wrong-element", "variants[0]: run[1]: must be a string, not a number"},
	{"wrong-step", "variants[0]: compile[0]: must be an array, not a string"},
	{"wrong-type", "suffixes: must be an array, not a string"},
};

TEST(bad_ones)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++) {
		SBX_CLEANUP(sbx_freep)
		char *relative = sbx_xasprintf("t/data/lang/bad/%s.json", bad[i].name);
		struct sbx_lang *lang = NULL;

		if (!ok_fail(sbx_lang_load(source(relative), &lang, err), SBX_E_INVALID,
			     bad[i].words) ||
		    !ok(lang == NULL))
			printf("#   in %s\n", relative);
	}
}

/* Each file has its row above, and names itself in its message. */
TEST(no_bad_one_is_left_out)
{
	DIR *dir = opendir(source("t/data/lang/bad"));
	struct dirent *entry;
	size_t n = 0;

	if (!ok(dir != NULL))
		return;
	while ((entry = readdir(dir)) != NULL)
		n += entry->d_name[0] != '.';
	closedir(dir);
	ok_int(n, SBX_ARRAY_SIZE(bad));
}

TEST(no_file)
{
	struct sbx_lang *lang = NULL;

	ok_fail(sbx_lang_load("/nonexistent/x.json", &lang, err), SBX_E_NOT_FOUND, "x.json");
	sbx_lang_free(NULL);
}

TEST(too_many)
{
	SBX_CLEANUP(sbx_freep) char *text = sbx_xcalloc(1, 8192);
	struct sbx_lang *lang = NULL;

	(void)snprintf(text, 8192, "{\"variants\":[");
	for (int i = 0; i < 65; i++)
		(void)snprintf(text + strlen(text), 8192 - strlen(text), "%s{}", i ? "," : "");
	(void)snprintf(text + strlen(text), 8192 - strlen(text), "]}");
	ok_fail(sbx_lang_parse(sbx_str_of(text), "x.json", &lang, err), SBX_E_LIMIT, "at most 64");
}

/* --- finding, among those that are shipped */

static const char shipped[] = "bash|c|cpp|go|java|javascript|python|r|ruby|typescript";

TEST(shipped_ones)
{
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.v = NULL};
	struct sbx_strv names = {.v = NULL};

	use_share();
	if (!ok_call(sbx_langs_load_all(&langs, NULL, err)))
		return;
	for (size_t i = 0; i < langs.n; i++)
		ok_call(sbx_strv_add(&names, langs.v[i]->name, err));
	ok_list(&names, shipped);
	ok_call(sbx_langs_load_all(&langs, NULL, err));
	ok_int(langs.n, names.n);
	sbx_strv_release(&names);
}

/* Adds s to seen; it must be new. */
static void once(struct sbx_strv *seen, const char *s, struct sbx_err *err)
{
	if (!ok(!sbx_strv_contains(seen, s)))
		printf("#   '%s' twice\n", s);
	ok_call(sbx_strv_add(seen, s, err));
}

TEST(no_name_and_no_suffix_twice)
{
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.v = NULL};
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv names = {.v = NULL}, suffixes = {.v = NULL};

	use_share();
	if (!ok_call(sbx_langs_load_all(&langs, NULL, err)))
		return;
	for (size_t i = 0; i < langs.n; i++) {
		const struct sbx_lang *lang = langs.v[i];

		once(&names, lang->name, err);
		for (size_t j = 0; j < lang->aliases.n; j++)
			once(&names, lang->aliases.v[j], err);
		for (size_t j = 0; j < lang->suffixes.n; j++)
			once(&suffixes, lang->suffixes.v[j], err);
		/* Code without a name of its own is found again by the one it gets. */
		ok(strrchr(lang->file, '.') &&
		   sbx_strv_contains(&lang->suffixes, strrchr(lang->file, '.') + 1));
	}
}

static void ok_expands(const struct sbx_expand *ex, const struct sbx_strv *in, struct sbx_err *err)
{
	struct sbx_strv out = {.v = NULL};

	ok_call(sbx_expand_argv(ex, in, true, &out, err));
	ok(out.n > 0 || in->n == 0 || ex->cpus == 0);
	sbx_strv_release(&out);
}

TEST(shipped_commands_expand)
{
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.v = NULL};
	struct sbx_expand ex = {.file = "f.x", .stem = "f", .workdir = "/w"};

	use_share();
	if (!ok_call(sbx_langs_load_all(&langs, NULL, err)))
		return;
	for (size_t i = 0; i < 2 * langs.n; i++) {
		const struct sbx_lang *lang = langs.v[i / 2];

		ex.memory_mib = ex.cpus = i % 2;
		ok_expands(&ex, &lang->env, err);
		for (size_t j = 0; j < lang->n_variants; j++) {
			ok_expands(&ex, &lang->variants[j].run, err);
			for (size_t k = 0; k < lang->variants[j].n_compile; k++)
				ok_expands(&ex, &lang->variants[j].compile[k], err);
		}
	}
}

/* The language's name, "" when none was found. */
static const char *name_of(const struct sbx_lang *lang)
{
	return lang ? lang->name : "";
}

TEST(find)
{
	static const char *const cases[][2] = {
		{"python", "python"}, {"Python", "python"}, {"PY", "python"},      {"c++", "cpp"},
		{"js", "javascript"}, {"C", "c"},           {"golang", "go"},      {"R", "r"},
		{"Rscript", "r"},     {"sh", "bash"},       {"node", "javascript"}};

	use_share();
	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.v = NULL};
		const struct sbx_lang *lang = NULL;

		ok_call(sbx_langs_find(&langs, sbx_str_of(cases[i][0]), &lang, err));
		ok_str(name_of(lang), cases[i][1]);
	}
}

TEST(find_reads_one_file)
{
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.v = NULL};
	const struct sbx_lang *lang = NULL, *again = NULL;

	use_share();
	ok_call(sbx_langs_find(&langs, SBX_STR("Ruby"), &lang, err));
	ok_int(langs.n, 1);
	ok_call(sbx_langs_find(&langs, SBX_STR("ruby"), &again, err));
	ok(lang == again);
	ok_call(sbx_langs_find_shebang(&langs, SBX_STR("#!/usr/bin/python3.11\n"), &lang, err));
	ok_int(langs.n, 2);
	ok_call(sbx_langs_find(&langs, SBX_STR("py"), &lang, err));
	ok_int(langs.n, 10);
	ok_call(sbx_langs_find(&langs, SBX_STR("ruby"), &lang, err));
	ok(lang == again);
}

TEST(find_nothing)
{
	static const struct sbx_str names[] = {SBX_STR("nothing"), SBX_STR(""),
					       SBX_STR("../languages/python"), SBX_STR("."),
					       SBX_STR("python\0x")};
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.v = NULL};
	const struct sbx_lang *lang = NULL;

	use_share();
	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++)
		ok_fail(sbx_langs_find(&langs, names[i], &lang, err), SBX_E_NOT_FOUND,
			"there are bash c cpp go java javascript python r ruby typescript");
	ok(lang == NULL);
}

TEST(find_suffix)
{
	static const char *const cases[][2] = {{"main.py", "python"},
					       {"/a.b/x.c", "c"},
					       {"x.C", "cpp"},
					       {"x.cc", "cpp"},
					       {"MAIN.PY", "python"},
					       {"x.R", "r"},
					       {"x.r", "r"},
					       {"a/b.test.ts", "typescript"},
					       {"x.mjs", "javascript"},
					       {"Makefile", ""},
					       {".py", ""},
					       {"a.py/x", ""},
					       {"x.", ""},
					       {"x.unknown", ""},
					       {"-", ""}};
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.v = NULL};

	use_share();
	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		const struct sbx_lang *lang = NULL;

		ok_call(sbx_langs_find_suffix(&langs, cases[i][0], &lang, err));
		ok_str(name_of(lang), cases[i][1]);
	}
}

TEST(find_shebang)
{
	static const char *const cases[][2] = {{"#!/bin/sh\n", "bash"},
					       {"#!/usr/bin/env -S python3.11 -u\nx", "python"},
					       {"#!/usr/bin/env ruby3.1", "ruby"},
					       {"#!/usr/bin/env Rscript\n", "r"},
					       {"#! /usr/bin/node --use_strict\r\n", "javascript"},
					       {"#!/usr/bin/env -S llmsbx run\n", ""},
					       {"#!/usr/bin/perl\n", ""},
					       {"#!\n", ""},
					       {"#!/\n", ""},
					       {"#!3.11\n", ""},
					       {"#!/usr/bin/env\n", ""},
					       {"print(1)\n#!/bin/sh", ""},
					       {"", ""}};
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.v = NULL};

	use_share();
	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		const struct sbx_lang *lang = NULL;

		ok_call(sbx_langs_find_shebang(&langs, sbx_str_of(cases[i][0]), &lang, err));
		ok_str(name_of(lang), cases[i][1]);
	}
}

/* A user's file replaces a shipped one, an empty one masks it, a bad one is told. */
TEST(a_users_own)
{
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.v = NULL}, again = {.v = NULL};
	char top[] = "/tmp/test-lang.XXXXXX";
	const struct sbx_lang *lang = NULL;
	SBX_CLEANUP(sbx_freep) char *llmsbx = NULL, *folder = NULL, *go = NULL, *ruby = NULL;
	static const char mine[] = "{\"name\":\"go\",\"title\":\"Mine\",\"file\":\"a.go\","
				   "\"variants\":[{\"needs\":[{\"program\":\"mine\"}],"
				   "\"run\":[\"mine\"]}],\"selftest\":"
				   "{\"code\":\"\",\"stdin\":\"\",\"stdout\":\"\"}}";

	use_share();
	if (!ok(mkdtemp(top) != NULL))
		return;
	setenv("XDG_CONFIG_HOME", top, 1);
	llmsbx = sbx_xasprintf("%s/llmsbx", top);
	folder = sbx_xasprintf("%s/languages", llmsbx);
	go = sbx_xasprintf("%s/go.json", folder);
	ruby = sbx_xasprintf("%s/ruby.json", folder);
	ok(mkdir(llmsbx, 0700) == 0 && mkdir(folder, 0700) == 0);
	ok_call(sbx_replace_file(go, mine, strlen(mine), 0600, err));
	ok_call(sbx_replace_file(ruby, "", 0, 0600, err));
	ok_call(sbx_langs_find(&langs, SBX_STR("go"), &lang, err));
	ok_str(lang ? lang->title : "", "Mine");
	ok_fail(sbx_langs_find(&langs, SBX_STR("ruby"), &lang, err), SBX_E_NOT_FOUND,
		"there are bash c cpp go java javascript python r typescript");
	ok_call(sbx_replace_file(ruby, "{", 1, 0600, err));
	ok_fail(sbx_langs_find(&again, SBX_STR("ruby"), &lang, err), SBX_E_INVALID, "ruby.json");
	ok_fail(sbx_langs_load_all(&again, NULL, err), SBX_E_INVALID, "ruby.json");
	ok(unlink(go) == 0 && unlink(ruby) == 0 && rmdir(folder) == 0 && rmdir(llmsbx) == 0 &&
	   rmdir(top) == 0);
}

TAP_MAIN(RUN(minimal), RUN(full), RUN(bad_ones), RUN(no_bad_one_is_left_out), RUN(no_file),
	 RUN(too_many), RUN(shipped_ones), RUN(no_name_and_no_suffix_twice),
	 RUN(shipped_commands_expand), RUN(find), RUN(find_reads_one_file), RUN(find_nothing),
	 RUN(find_suffix), RUN(find_shebang), RUN(a_users_own))
