#include <stdio.h>

#include "cmd/cmd.h"
#include "lib/base/err.h"

void sbx_help_all(FILE *to)
{
	(void)fputs("usage: llmsbx COMMAND [options] ...\n\n"
		    "Runs code that a language model wrote where it can do no harm:\n"
		    "  echo 'print(6*7)' | llmsbx run\n\ncommands:\n",
		    to);
	for (size_t i = 0; sbx_cmds[i]; i++)
		(void)fprintf(to, "  %-10s%s\n", sbx_cmds[i]->name, sbx_cmds[i]->about);
	(void)fputs("\nThe options of one: llmsbx help COMMAND.  The manual: man llmsbx\n", to);
}

static int run_help(struct sbx_app *app, const struct sbx_args *args, struct sbx_err *err)
{
	const struct sbx_cmd *cmd;
	bool dump = false;

	(void)app;
	if (sbx_args_apply(args, &dump, err) < 0)
		return -1;
	if (args->n_operands > (dump ? 0 : 1))
		return sbx_fail(err, SBX_E_USAGE, "too many arguments: give one command");
	if (dump) {
		for (size_t i = 0; sbx_cmds[i]; i++)
			sbx_opt_dump(stdout, sbx_cmds[i]);
		return 0;
	}
	if (args->n_operands == 0) {
		sbx_help_all(stdout);
		return 0;
	}
	if (sbx_cmd_get(args->operand[0], &cmd, err) < 0)
		return -1;
	sbx_opt_help(stdout, cmd);
	return 0;
}

static const struct sbx_opt help_opts[] = {
	{.name = "dump",
	 .help = "print every option as a line, for programs",
	 .apply = sbx_opt_bool},
	{0},
};

const struct sbx_cmd sbx_cmd_help = {
	.name = "help",
	.args = "[COMMAND]",
	.about = "show the commands, or the options of one",
	.opts = help_opts,
	.run = run_help,
};

static int run_version(struct sbx_app *app, const struct sbx_args *args, struct sbx_err *err)
{
	(void)app;
	if (args->n_operands > 0)
		return sbx_fail(err, SBX_E_USAGE, "takes no arguments");
	(void)puts("llmsbx " SBX_VERSION);
	return 0;
}

static const struct sbx_opt version_opts[] = {{0}};

const struct sbx_cmd sbx_cmd_version = {
	.name = "version",
	.args = "",
	.about = "show the version",
	.opts = version_opts,
	.run = run_version,
};
