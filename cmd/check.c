#include <stdio.h>

#include "cmd/cmd.h"
#include "lib/base/err.h"
#include "lib/base/strv.h"
#include "lib/def/lang.h"

/* What is to be checked, as it was asked for. */
struct check_opts {
	struct sbx_strv languages, configs; /* paths */
};

static int add_path(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
		    struct sbx_err *err)
{
	struct sbx_strv *paths = (struct sbx_strv *)(void *)((char *)ctx + opt->offset);

	if (*value == '\0')
		return sbx_fail(err, SBX_E_USAGE, "%s: the value is empty; give FILE", where);
	return sbx_strv_add(paths, value, err);
}

static int check_language(const char *path, struct sbx_err *err)
{
	struct sbx_lang *lang;

	if (sbx_lang_load(path, &lang, err) < 0)
		return -1;
	sbx_lang_free(lang);
	return 0;
}

static int check_config(const char *path, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_conf_release) struct sbx_conf conf = {0};

	if (sbx_conf_load_file(path, &conf, err) < 0)
		return -1;
	return sbx_run_check_conf(&conf, err);
}

/* Says of each file that it is good, or what is wrong with it.  Whether all were good. */
static bool check_all(const struct sbx_strv *paths,
		      int (*check)(const char *path, struct sbx_err *err))
{
	bool good = true;

	for (size_t i = 0; i < paths->n; i++) {
		struct sbx_err why = SBX_ERR_INIT;

		if (check(paths->v[i], &why) == 0) {
			(void)printf("%s: ok\n", paths->v[i]);
			continue;
		}
		(void)fprintf(stderr, "llmsbx: %s\n", why.msg);
		good = false;
	}
	return good;
}

static void release(struct check_opts *o)
{
	sbx_strv_release(&o->languages);
	sbx_strv_release(&o->configs);
}

static int run_check(struct sbx_app *app, const struct sbx_args *args, struct sbx_err *err)
{
	SBX_CLEANUP(release) struct check_opts o = {0};
	bool good;

	(void)app;
	if (sbx_args_apply(args, &o, err) < 0)
		return -1;
	if (args->n_operands > 0 || o.languages.n + o.configs.n == 0)
		return sbx_fail(err, SBX_E_USAGE,
				"give the file that is to be checked with --language or --config");
	good = check_all(&o.languages, check_language);
	good = check_all(&o.configs, check_config) && good;
	return good ? 0 : 1;
}

static const struct sbx_opt check_opts[] = {
	{.name = "language",
	 .arg = "FILE",
	 .help = "a definition of a language, as in share/languages; repeatable",
	 .flags = SBX_OPT_REPEAT,
	 .apply = add_path,
	 .offset = offsetof(struct check_opts, languages)},
	{.name = "config",
	 .arg = "FILE",
	 .help = "a config.json; repeatable",
	 .flags = SBX_OPT_REPEAT,
	 .apply = add_path,
	 .offset = offsetof(struct check_opts, configs)},
	{0},
};

const struct sbx_cmd sbx_cmd_check = {
	.name = "check",
	.args = "[options]",
	.about = "validate data files",
	.opts = check_opts,
	.run = run_check,
};
