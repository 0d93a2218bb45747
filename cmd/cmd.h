/*
 * What a command is, and all that it sees of main.c.
 *
 * Adding one: cmd/foo.c ending in its record, a row in cmd/table.c, Makefile.am, man/llmsbx-foo.1,
 * t/NNNN-foo.bats, NEWS.  Tests that check you then: 0010 (help of every command), 0020 (the manual
 * equals the help).
 */
#pragma once

#include <stdint.h>

#include "cmd/opt.h"
#include "lib/def/conf.h"

struct sbx_err;

struct sbx_app {
	uint64_t start_ns;    /* of llmsbx */
	struct sbx_conf conf; /* loaded for SBX_CMD_CONFIG */
};

enum sbx_cmd_flag {
	SBX_CMD_CONFIG = 1 << 1, /* wants the configuration loaded first */
	SBX_CMD_RUNS = 1 << 2,   /* its status is a program's: our failures are 125 and up */
};

struct sbx_cmd {
	const char *name;
	const char *args;           /* "[options] FILE" */
	const char *about;          /* one line, lower case, no full stop */
	const struct sbx_opt *opts; /* ends with a row without a name */
	unsigned int flags;         /* of enum sbx_cmd_flag */
	/* The exit status, or -1 with *err set. */
	int (*run)(struct sbx_app *app, const struct sbx_args *args, struct sbx_err *err);
};

extern const struct sbx_cmd sbx_cmd_run, sbx_cmd_check, sbx_cmd_lang, sbx_cmd_doctor, sbx_cmd_gc,
	sbx_cmd_help, sbx_cmd_version;

/* Every command, in the order of the help; ends with NULL.  table.c. */
extern const struct sbx_cmd *const sbx_cmds[];

/* NULL when there is none of that name. */
const struct sbx_cmd *sbx_cmd_find(const char *name);

/* Fails with SBX_E_USAGE naming the nearest command. */
int sbx_cmd_get(const char *name, const struct sbx_cmd **ret, struct sbx_err *err) SBX_MUST_USE;

/* The text of `llmsbx --help`. help.c. */
void sbx_help_all(FILE *to);

/* Fails unless every entry is an option of `run` with a value that it can have.  run.c. */
int sbx_run_check_conf(const struct sbx_conf *conf, struct sbx_err *err) SBX_MUST_USE;
