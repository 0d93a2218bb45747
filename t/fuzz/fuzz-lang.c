/*
 * A language's definition, a NUL and a source.  What is taken for a definition keeps the loader's promises: every command expands,
 * and what a source asks to be called is a plain file name.
 */
#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/def/expand.h"
#include "lib/def/lang.h"
#include "lib/def/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The C library's expressions take time and memory without bound for nested counts and for back references.  A definition is the
 * user's own, so that is no fault of ours; here it would be found again and again.
 */
static bool costly(struct sbx_str text)
{
	for (size_t i = 1; i < text.n; i++) {
		if (isdigit((unsigned char)text.p[i]) && strchr("{,\\", text.p[i - 1]))
			return true;
	}
	return false;
}

static void expand(const struct sbx_expand *ex, const struct sbx_strv *in, bool args)
{
	struct sbx_strv out = {.v = NULL};
	struct sbx_err err = SBX_ERR_INIT;
	int rc = sbx_expand_argv(ex, in, args, &out, &err);

	assert(rc == 0 || err.code == SBX_E_LIMIT);
	sbx_strv_release(&out);
}

static void use(const struct sbx_lang *lang, struct sbx_str source)
{
	struct sbx_source_names names;
	struct sbx_expand ex = {.workdir = "/w", .cpus = 1};

	sbx_source_names(lang, NULL, source, &names);
	assert(names.file[0] && !strchr("-.+@", names.file[0]) && !strchr(names.file, '/'));
	assert(names.stem[0] && strncmp(names.file, names.stem, strlen(names.stem)) == 0);
	ex.file = names.file;
	ex.stem = names.stem;
	ex.main = names.main;
	expand(&ex, &lang->env, false);
	for (size_t i = 0; i < lang->n_variants; i++) {
		for (size_t j = 0; j < lang->variants[i].n_compile; j++)
			expand(&ex, &lang->variants[i].compile[j], false);
		expand(&ex, &lang->variants[i].run, true);
	}
	sbx_source_names_release(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data;
	struct sbx_str text = {.p = p, .n = strnlen(p, size)};
	struct sbx_str source = {.p = p + text.n, .n = size - text.n};
	struct sbx_err err = SBX_ERR_INIT;
	struct sbx_lang *lang = NULL;
	struct sbx_str program;
	int rc;

	if (source.n > 0)
		source = (struct sbx_str){.p = source.p + 1, .n = source.n - 1};
	program = sbx_source_interpreter(source);
	assert(program.n == 0 ||
	       (program.p > source.p && program.p + program.n <= source.p + source.n));
	if (costly(text))
		return 0;
	rc = sbx_lang_parse(text, "f.json", &lang, &err);
	assert((rc < 0) == (err.code != SBX_E_OK) && (rc < 0) == (lang == NULL));
	if (lang)
		use(lang, source);
	sbx_lang_free(lang);
	return 0;
}
