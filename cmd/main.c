/*
 * Theory of operation.  A command line is taken apart with the command's own table before anything
 * is loaded, so that --help and a misspelled option cost nothing and depend on nothing.  Then what
 * the command's flags ask for is set up, it runs, and standard output is flushed and closed *here*,
 * so that a full disk or /dev/full is never silent.  A failure is one line on stderr.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"

/* The whole line in one write, so that several llmsbx on one terminal do not mix theirs. */
static void complain(const struct sbx_cmd *cmd, const struct sbx_err *err)
{
	bool usage = cmd && err->code == SBX_E_USAGE;

	(void)dprintf(STDERR_FILENO, "llmsbx%s%s: %s\n", usage ? " " : "", usage ? cmd->name : "",
		      err->msg);
}

static int status_of(const struct sbx_cmd *cmd, const struct sbx_err *err)
{
	if (cmd && cmd->flags & SBX_CMD_RUNS)
		return sbx_code_exit(err->code);
	return err->code == SBX_E_USAGE ? 2 : 1;
}

static int run_command(const struct sbx_cmd *cmd, struct sbx_app *app, int argc, char **argv,
		       struct sbx_err *err)
{
	SBX_CLEANUP(sbx_args_release) struct sbx_args args = {0};

	if (sbx_args_parse(&args, cmd, argc, argv, err) < 0)
		return -1;
	if (args.help) {
		sbx_opt_help(stdout, cmd);
		return 0;
	}
	if (cmd->flags & SBX_CMD_CONFIG && sbx_conf_load(&app->conf, err) < 0)
		return -1;
	return cmd->run(app, &args, err);
}

/* What came before the command: `--help` and `--version` are the commands of that name. */
static int find_command(const char *word, const struct sbx_cmd **ret, struct sbx_err *err)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		word = "help";
	else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		word = "version";
	else if (*word == '-')
		return sbx_fail(
			err, SBX_E_USAGE,
			"unknown option '%s'; options stand behind the command: llmsbx run %s",
			word, word);
	return sbx_cmd_get(word, ret, err);
}

static int set_log_level(struct sbx_err *err)
{
	const char *name = getenv("LLMSBX_LOG");
	enum sbx_log_level level;

	if (!name || !*name)
		return 0;
	if (!sbx_log_level_parse(sbx_str_of(name), &level))
		return sbx_fail(err, SBX_E_USAGE,
				"LLMSBX_LOG: '%s' is not one of error, warn, info, debug, trace",
				name);
	sbx_log_set_level(level);
	return 0;
}

/* Nothing that was printed may be lost without a word. */
static int close_stdout(struct sbx_err *err)
{
	bool failed = ferror(stdout) != 0;

	if (fclose(stdout) != 0)
		return sbx_fail_sys(err, errno, "cannot write to standard output");
	if (failed)
		return sbx_fail(err, SBX_E_OUTPUT, "cannot write to standard output");
	return 0;
}

int main(int argc, char **argv)
{
	struct sbx_app app = {.start_ns = sbx_now_ns()};
	struct sbx_err err = SBX_ERR_INIT, close_err = SBX_ERR_INIT;
	const struct sbx_cmd *cmd = NULL;
	int status = -1;

	if (sbx_fill_standard_fds(&err) < 0) {
		complain(NULL, &err);
		return 1;
	}
	if (argc < 2) {
		sbx_help_all(stderr);
		return 2;
	}
	if (set_log_level(&err) == 0 && find_command(argv[1], &cmd, &err) == 0)
		status = run_command(cmd, &app, argc - 1, argv + 1, &err);
	if (status < 0) {
		complain(cmd, &err);
		status = status_of(cmd, &err);
	}
	sbx_conf_release(&app.conf);
	if (close_stdout(&close_err) < 0 && err.code == SBX_E_OK) {
		complain(NULL, &close_err);
		status = status_of(cmd, &close_err);
	}
	return status;
}
