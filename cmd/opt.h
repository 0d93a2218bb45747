/*
 * Options are data.  One row says how an option is written, what its help is and how its value is
 * applied; from the same rows come parsing, --help, `help --dump` (which the check of the manual
 * and the completions read), the LLMSBX_* variables and the keys of config.json.
 *
 * A long name is never abbreviated, so that a new option cannot change what an old script means.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "lib/base/attr.h"

struct sbx_cmd;
struct sbx_err;
struct sbx_opt;

enum sbx_opt_flag {
	SBX_OPT_REPEAT = 1 << 0,  /* adds instead of replacing */
	SBX_OPT_NO = 1 << 2,      /* a switch that can also be written --no-NAME */
	SBX_OPT_SETTING = 1 << 3, /* has a variable and a key as well */
};

/*
 * value is never NULL: "true" for a switch, "false" for its --no- form.  where names the place for
 * messages ("--timeout", "LLMSBX_TIMEOUT", "config.json: timeout").
 */
typedef int sbx_opt_apply(const struct sbx_opt *opt, const char *value, const char *where,
			  void *ctx, struct sbx_err *err);

struct sbx_opt {
	const char *name;  /* without dashes; NULL ends the table */
	char letter;       /* 0: none */
	const char *arg;   /* what the value is called ("TIME"); NULL: a switch */
	const char *help;  /* lower case, no full stop */
	const char *group; /* heading in --help, on the first row of its group */
	unsigned int flags;
	sbx_opt_apply *apply;
	size_t offset; /* of the field in ctx, for the three below */
	/* For completions: the i-th word that it may be; NULL behind the last. */
	const char *(*word)(size_t i);
};

/* Ready-made ways to apply: a bool, a borrowed const char *, an int from 0 to INT_MAX. */
sbx_opt_apply sbx_opt_bool, sbx_opt_text, sbx_opt_int;

/* A command line, split.  All text is borrowed from argv. */
struct sbx_args {
	struct {
		const struct sbx_opt *opt;
		const char *value;
	} * given; /* owned; in the order they came */
	size_t n_given, cap_given;
	char **operand; /* owned; NULL-terminated */
	int n_operands;
	bool dashdash; /* a `--` ended the options */
	bool help;     /* --help or -h was there: nothing else counts */
};

/*
 * Splits argv[1...]; argv[0] is the command's name.  Options end at the first operand of a command
 * that runs programs, and may stand anywhere for others.  args is zeroed at first, and the caller's
 * to release also after a failure, which is SBX_E_USAGE and names the nearest option.  Nothing is
 * applied yet.
 */
int sbx_args_parse(struct sbx_args *args, const struct sbx_cmd *cmd, int argc, char **argv,
		   struct sbx_err *err) SBX_MUST_USE;
int sbx_args_apply(const struct sbx_args *args, void *ctx, struct sbx_err *err) SBX_MUST_USE;
void sbx_args_release(struct sbx_args *args);

/*
 * Applies the setting called name, from config.json or a variable (dashes and underscores alike);
 * SBX_E_USAGE names the nearest one.
 */
int sbx_opt_set(const struct sbx_opt *rows, const char *name, const char *value, const char *where,
		void *ctx, struct sbx_err *err) SBX_MUST_USE;

/*
 * Whether word is written like a long option of the table (`--name`, `--name=value`, `--no-name`).
 */
bool sbx_opt_looks_like(const struct sbx_opt *rows, const char *word);

/* The text of `llmsbx CMD --help`, at most 80 columns wide. */
void sbx_opt_help(FILE *to, const struct sbx_cmd *cmd);

/*
 * One line an option: command TAB names by comma TAB argument TAB help; the first line is the
 * command itself.
 */
void sbx_opt_dump(FILE *to, const struct sbx_cmd *cmd);

/*
 * For "did you mean": true when candidate is nearer to word than all before it and near enough to
 * be meant.  *best starts at SBX_NEAR_INIT.
 */
enum { SBX_NEAR_INIT = 3 };
bool sbx_near(const char *word, const char *candidate, size_t *best);
