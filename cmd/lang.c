#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "lib/base/err.h"
#include "lib/base/strv.h"
#include "lib/def/lang.h"
#include "lib/sandbox/backends.h"

struct lang_opts {
	const char *backend;
	enum sbx_list_format format;
};

/* --- list --------------------------------------------------------------------------------- */

static void write_summary(struct sbx_jw *jw, const struct sbx_lang *lang,
			  const struct sbx_backends_lang *h)
{
	sbx_jw_kstr(jw, "name", lang->name);
	sbx_jw_kstr(jw, "title", lang->title);
	sbx_jw_kstrv(jw, "aliases", &lang->aliases);
	sbx_jw_kstrv(jw, "suffixes", &lang->suffixes);
	sbx_jw_kbool(jw, "ready", h->ready);
	sbx_jw_kstr(jw, "program", h->program);
	sbx_jw_kstr(jw, "missing", h->missing ? h->missing->program : NULL);
	sbx_jw_kstr(jw, "install", h->package);
}

static void print_summary(const struct sbx_lang *lang, const struct sbx_backends_lang *h)
{
	if (h->ready)
		(void)printf("%-12s ready    %s\n", lang->name, h->program ? h->program : "");
	else
		(void)printf("%-12s missing  '%s': install the package '%s'\n", lang->name,
			     h->missing->program, h->package);
}

static int list_one(struct sbx_list *list, struct sbx_backend *be, const struct sbx_lang *lang,
		    struct sbx_err *err)
{
	SBX_CLEANUP(sbx_backends_lang_release) struct sbx_backends_lang h = {0};

	if (sbx_backends_lang(be, lang, &h, err) < 0)
		return -1;
	if (list->format == SBX_LIST_TEXT) {
		print_summary(lang, &h);
		return 0;
	}
	sbx_list_begin(list);
	write_summary(&list->jw, lang, &h);
	return sbx_list_end(list, err);
}

static int list_langs(struct sbx_backend *be, struct sbx_langs *langs, enum sbx_list_format format,
		      struct sbx_err *err)
{
	SBX_CLEANUP(sbx_list_release) struct sbx_list list;
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv broken = {0};

	sbx_list_init(&list, format);
	if (sbx_langs_load_all(langs, &broken, err) < 0)
		return -1;
	for (size_t i = 0; i < langs->n; i++) {
		if (list_one(&list, be, langs->v[i], err) < 0)
			return -1;
	}
	sbx_list_finish(&list);
	for (size_t i = 0; i < broken.n; i++)
		(void)dprintf(STDERR_FILENO, "llmsbx lang: %s\n", broken.v[i]);
	return broken.n > 0 ? 1 : 0;
}

/* --- show --------------------------------------------------------------------------------- */

static void print_words(const char *label, const struct sbx_strv *words)
{
	if (words->n == 0)
		return;
	(void)printf("%-10s", label);
	for (size_t i = 0; i < words->n; i++)
		(void)printf("%s%s", i > 0 ? " " : "", words->v[i]);
	(void)putchar('\n');
}

static void print_variant(const struct sbx_lang_variant *v, bool chosen)
{
	(void)printf("variant   %s\n", chosen ? "(a run takes this one)" : "");
	for (size_t i = 0; i < v->n_needs; i++)
		(void)printf("  needs   %s (package '%s')\n", v->needs[i].program,
			     v->needs[i].debian);
	for (size_t i = 0; i < v->n_compile; i++)
		print_words("  compile", &v->compile[i]);
	print_words("  run", &v->run);
}

static void print_lang(const struct sbx_lang *lang, const struct sbx_backends_lang *h)
{
	(void)printf("%-10s%s (%s)\n", "name", lang->name, lang->title ? lang->title : lang->name);
	print_words("aliases", &lang->aliases);
	print_words("suffixes", &lang->suffixes);
	(void)printf("%-10s%s\n", "file", lang->file);
	(void)printf("%-10s%s\n", "source", lang->source);
	print_words("env", &lang->env);
	print_words("path", &lang->path);
	print_words("host", &lang->host_paths);
	for (size_t i = 0; i < lang->n_variants; i++)
		print_variant(&lang->variants[i], h->ready && h->variant == i);
	(void)printf("%-10s", "status");
	if (h->ready)
		(void)printf("ready: %s\n", h->program ? h->program : "");
	else
		(void)printf("missing: '%s': install the package '%s'\n", h->missing->program,
			     h->package);
}

static void write_variant(struct sbx_jw *jw, const struct sbx_lang_variant *v)
{
	sbx_jw_object(jw);
	sbx_jw_key(jw, "needs");
	sbx_jw_array(jw);
	for (size_t i = 0; i < v->n_needs; i++) {
		sbx_jw_object(jw);
		sbx_jw_kstr(jw, "program", v->needs[i].program);
		sbx_jw_kstr(jw, "debian", v->needs[i].debian);
		sbx_jw_kstr(jw, "fedora", v->needs[i].fedora);
		sbx_jw_end(jw);
	}
	sbx_jw_end(jw);
	sbx_jw_key(jw, "compile");
	sbx_jw_array(jw);
	for (size_t i = 0; i < v->n_compile; i++) {
		sbx_jw_array(jw);
		for (size_t j = 0; j < v->compile[i].n; j++)
			sbx_jw_cstr(jw, v->compile[i].v[j]);
		sbx_jw_end(jw);
	}
	sbx_jw_end(jw);
	sbx_jw_kstrv(jw, "run", &v->run);
	sbx_jw_end(jw);
}

static int show_lang(struct sbx_backend *be, const struct sbx_lang *lang,
		     enum sbx_list_format format, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_backends_lang_release) struct sbx_backends_lang h = {0};
	SBX_CLEANUP(sbx_list_release) struct sbx_list list;

	sbx_list_init(&list, SBX_LIST_JSONL);
	if (sbx_backends_lang(be, lang, &h, err) < 0)
		return -1;
	if (format == SBX_LIST_TEXT) {
		print_lang(lang, &h);
		return 0;
	}
	sbx_list_begin(&list);
	write_summary(&list.jw, lang, &h);
	sbx_jw_kstr(&list.jw, "file", lang->file);
	sbx_jw_kstr(&list.jw, "source", lang->source);
	sbx_jw_kstrv(&list.jw, "env", &lang->env);
	sbx_jw_kstrv(&list.jw, "path", &lang->path);
	sbx_jw_kstrv(&list.jw, "host_paths", &lang->host_paths);
	sbx_jw_key(&list.jw, "variants");
	sbx_jw_array(&list.jw);
	for (size_t i = 0; i < lang->n_variants; i++)
		write_variant(&list.jw, &lang->variants[i]);
	sbx_jw_end(&list.jw);
	return sbx_list_end(&list, err);
}

static int run_lang(struct sbx_app *app, const struct sbx_args *args, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_backends_closep) struct sbx_backend *be = NULL;
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {0};
	struct lang_opts o = {.backend = "local"};
	const char *verb = args->n_operands > 0 ? args->operand[0] : "list";
	const struct sbx_lang *lang;
	bool show = strcmp(verb, "show") == 0;

	(void)app;
	if (sbx_args_apply(args, &o, err) < 0)
		return -1;
	if (!show && strcmp(verb, "list") != 0)
		return sbx_fail(err, SBX_E_USAGE, "'%s' is neither 'list' nor 'show'", verb);
	if (show && args->n_operands != 2)
		return sbx_fail(err, SBX_E_USAGE,
				"show takes one name; 'llmsbx lang list' has them");
	if (!show && args->n_operands > 1)
		return sbx_fail(err, SBX_E_USAGE, "list takes no arguments");
	if (sbx_backends_open(o.backend, &be, err) < 0)
		return -1;
	if (!show)
		return list_langs(be, &langs, o.format, err);
	if (sbx_langs_find(&langs, sbx_str_of(args->operand[1]), &lang, err) < 0)
		return -1;
	return show_lang(be, lang, o.format, err);
}

static const struct sbx_opt lang_opts[] = {
	{.name = "format",
	 .arg = "text|json|jsonl",
	 .help = "for a person, or as one value, or as a value a line (text)",
	 .apply = sbx_list_format_apply,
	 .offset = offsetof(struct lang_opts, format)},
	{.name = "backend",
	 .arg = "NAME",
	 .help = "whose sandboxes are asked (local)",
	 .apply = sbx_opt_text,
	 .offset = offsetof(struct lang_opts, backend)},
	{0},
};

const struct sbx_cmd sbx_cmd_lang = {
	.name = "lang",
	.args = "[options] [list | show NAME]",
	.about = "show the languages and what is installed for them",
	.opts = lang_opts,
	.run = run_lang,
};
