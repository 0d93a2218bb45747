#include "cmd/opt.h"

#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "lib/base/err.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/sandbox/run.h"

enum {
	NAME_MAX_ = 48,   /* longest long option with its no- */
	HELP_COLUMN = 26, /* where help texts begin */
	HELP_WIDTH = 80,
	VAL_ROW = 1 << 10, /* getopt's value of row i is VAL_ROW + i: no letter */
};

/* --- small things ------------------------------------------------------------------------- */

bool sbx_near(const char *word, const char *candidate, size_t *best)
{
	size_t n = strlen(word), d;

	/* Who wrote the beginning of a name meant that name. */
	d = n >= 3 && strncmp(word, candidate, n) == 0
		    ? 1
		    : sbx_str_distance(sbx_str_of(word), candidate);
	if (d >= *best || d >= n)
		return false;
	*best = d;
	return true;
}

static size_t count_rows(const struct sbx_opt *rows)
{
	size_t n = 0;

	while (rows[n].name)
		n++;
	return n;
}

/* --- applying ----------------------------------------------------------------------------- */

int sbx_opt_bool(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
		 struct sbx_err *err)
{
	return sbx_option_bool(value, where, (bool *)((char *)ctx + opt->offset), err);
}

int sbx_opt_text(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
		 struct sbx_err *err)
{
	const char **field = (const char **)(void *)((char *)ctx + opt->offset);

	if (*value == '\0')
		return sbx_fail(err, SBX_E_USAGE, "%s: the value is empty; give %s", where,
				opt->arg);
	*field = value;
	return 0;
}

int sbx_opt_int(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
		struct sbx_err *err)
{
	int *field = (int *)(void *)((char *)ctx + opt->offset);
	uint64_t v;

	if (sbx_str_u64(sbx_str_of(value), INT_MAX, where, &v, err) < 0)
		return -1;
	*field = (int)v;
	return 0;
}

int sbx_opt_set(const struct sbx_opt *rows, const char *name, const char *value, const char *where,
		void *ctx, struct sbx_err *err)
{
	const char *nearest = NULL;
	size_t best = SBX_NEAR_INIT;

	for (const struct sbx_opt *o = rows; o->name; o++) {
		if (!(o->flags & SBX_OPT_SETTING))
			continue;
		if (sbx_option_same(o->name, name))
			return o->apply(o, value, where, ctx, err);
		if (sbx_near(name, o->name, &best))
			nearest = o->name;
	}
	if (nearest)
		return sbx_fail(err, SBX_E_USAGE,
				"%s: there is no setting '%s'; did you mean '%s'?", where, name,
				nearest);
	return sbx_fail(err, SBX_E_USAGE, "%s: there is no setting '%s'; see llmsbx-config(5)",
			where, name);
}

/* --- parsing ------------------------------------------------------------------------------ */

/* What getopt_long needs, made from the rows. */
struct getopt_tables {
	struct option *longs;
	char (*no_names)[NAME_MAX_];
	char *shorts;
};

static void release_tables(struct getopt_tables *t)
{
	free(t->longs);
	free(t->no_names);
	free(t->shorts);
}

/* One long option of getopt's for the row, two where it has a --no- form, and its letter. */
static void build_row(struct getopt_tables *t, const struct sbx_opt *o, size_t i, size_t *n_longs,
		      size_t *n_shorts)
{
	int has_arg = o->arg ? required_argument : no_argument;

	t->longs[(*n_longs)++] = (struct option){o->name, has_arg, NULL, VAL_ROW + (int)i};
	if (o->flags & SBX_OPT_NO) {
		(void)snprintf(t->no_names[i], NAME_MAX_, "no-%s", o->name);
		t->longs[(*n_longs)++] =
			(struct option){t->no_names[i], no_argument, NULL, VAL_ROW + (int)i};
	}
	if (o->letter == 0)
		return;
	t->shorts[(*n_shorts)++] = o->letter;
	if (o->arg)
		t->shorts[(*n_shorts)++] = ':';
}

static void build_tables(struct getopt_tables *t, const struct sbx_opt *rows, size_t n)
{
	size_t n_longs = 0, n_shorts = 0;

	t->longs = sbx_xcalloc(2 * n + 2, sizeof(*t->longs));
	t->no_names = sbx_xcalloc(n + 1, sizeof(*t->no_names));
	t->shorts = sbx_xcalloc(2 * n + 4, 1);
	t->shorts[n_shorts++] = '+'; /* stop at the first operand */
	t->shorts[n_shorts++] = ':'; /* tell a missing value from an unknown option */
	t->shorts[n_shorts++] = 'h';
	t->longs[n_longs++] = (struct option){"help", no_argument, NULL, 'h'};
	for (size_t i = 0; i < n; i++)
		build_row(t, &rows[i], i, &n_longs, &n_shorts);
}

static const struct sbx_opt *by_letter(const struct sbx_opt *rows, int letter)
{
	for (; rows->name; rows++) {
		if (rows->letter == letter)
			return rows;
	}
	return NULL;
}

/* The row that name[0..n) names in full, *ret_no telling whether by its --no- form. */
static const struct sbx_opt *by_name(const struct sbx_opt *rows, const char *name, size_t n,
				     bool *ret_no)
{
	for (; rows->name; rows++) {
		if (strlen(rows->name) == n && memcmp(rows->name, name, n) == 0) {
			*ret_no = false;
			return rows;
		}
		if (rows->flags & SBX_OPT_NO && n == strlen(rows->name) + 3 &&
		    memcmp(name, "no-", 3) == 0 && memcmp(name + 3, rows->name, n - 3) == 0) {
			*ret_no = true;
			return rows;
		}
	}
	return NULL;
}

static int unknown_long(const struct sbx_opt *rows, const char *name, size_t n, struct sbx_err *err)
{
	char word[NAME_MAX_] = "";
	const char *nearest = NULL, *no = "";
	size_t best = SBX_NEAR_INIT;

	if (n < sizeof(word))
		memcpy(word, name, n);
	for (const struct sbx_opt *o = rows; o->name; o++) {
		char with_no[NAME_MAX_];

		if (sbx_near(word, o->name, &best)) {
			nearest = o->name;
			no = "";
		}
		(void)snprintf(with_no, sizeof(with_no), "no-%s", o->name);
		if (o->flags & SBX_OPT_NO && sbx_near(word, with_no, &best)) {
			nearest = o->name;
			no = "no-";
		}
	}
	if (nearest)
		return sbx_fail(err, SBX_E_USAGE, "unknown option '--%.*s'; did you mean '--%s%s'?",
				(int)n, name, no, nearest);
	return sbx_fail(err, SBX_E_USAGE, "unknown option '--%.*s'; --help lists them", (int)n,
			name);
}

/* getopt said '?' or took an abbreviation; word is the element it was looking at. */
static int refuse(const struct sbx_opt *rows, const char *word, int letter, struct sbx_err *err)
{
	size_t n;
	bool no;

	if (strncmp(word, "--", 2) != 0)
		return sbx_fail(err, SBX_E_USAGE, "unknown option '-%c'; --help lists them",
				letter);
	word += 2;
	n = strcspn(word, "=");
	if (by_name(rows, word, n, &no) || (n == 4 && memcmp(word, "help", 4) == 0))
		return sbx_fail(err, SBX_E_USAGE, "option '--%.*s' takes no value", (int)n, word);
	return unknown_long(rows, word, n, err);
}

static int missing_value(const struct sbx_opt *rows, const char *word, int val, struct sbx_err *err)
{
	const struct sbx_opt *o = val >= VAL_ROW ? &rows[val - VAL_ROW] : by_letter(rows, val);
	bool no;

	if (!o)
		return refuse(rows, word, val, err);
	if (val < VAL_ROW)
		return sbx_fail(err, SBX_E_USAGE, "option '-%c' needs a value: %s", val, o->arg);
	if (by_name(rows, word + 2, strlen(word + 2), &no) != o)
		return unknown_long(rows, word + 2, strlen(word + 2), err);
	return sbx_fail(err, SBX_E_USAGE, "option '--%s' needs a value: %s", o->name, o->arg);
}

static int add_given(struct sbx_args *args, const struct sbx_opt *opt, const char *value,
		     struct sbx_err *err)
{
	if (sbx_array_grow(&args->given, &args->cap_given, args->n_given + 1, SBX_STRV_MAX,
			   sizeof(*args->given), err) < 0)
		return -1;
	args->given[args->n_given].opt = opt;
	args->given[args->n_given++].value = value;
	return 0;
}

/* One answer of getopt's; word is the element of argv that it comes from. */
static int take(struct sbx_args *args, const struct sbx_opt *rows, const char *word, int val,
		struct sbx_err *err)
{
	bool is_long = val >= VAL_ROW || (val == 'h' && strncmp(word, "--", 2) == 0);
	const struct sbx_opt *o;
	bool no = false;

	if (val == '?')
		return refuse(rows, word, optopt, err);
	if (val == ':')
		return missing_value(rows, word, optopt, err);
	if (is_long && val == 'h' && strcmp(word, "--help") != 0)
		return refuse(rows, word, val, err);
	if (val == 'h') {
		args->help = true;
		return 0;
	}
	o = is_long ? by_name(rows, word + 2, strcspn(word + 2, "="), &no) : by_letter(rows, val);
	if (!o) /* an abbreviation */
		return refuse(rows, word, val, err);
	return add_given(args, o, o->arg ? optarg : no ? "false" : "true", err);
}

/* Takes options off argv[1...] until the first operand, whose index is returned. */
static int take_options(struct sbx_args *args, const struct sbx_opt *rows,
			const struct getopt_tables *t, int argc, char **argv, struct sbx_err *err)
{
	int val, from;

	opterr = 0;
	optind = 0; /* glibc: begin anew */
	for (from = 1; (val = getopt_long(argc, argv, t->shorts, t->longs, NULL)) != -1;
	     from = optind) {
		/* Within a cluster of letters optind stays where it is, and so does from. */
		if (take(args, rows, argv[from], val, err) < 0)
			return -1;
		if (args->help)
			break;
	}
	args->dashdash = optind > from && strcmp(argv[optind - 1], "--") == 0;
	return optind;
}

int sbx_args_parse(struct sbx_args *args, const struct sbx_cmd *cmd, int argc, char **argv,
		   struct sbx_err *err)
{
	SBX_CLEANUP(release_tables) struct getopt_tables t = {0};
	int at = 0;

	build_tables(&t, cmd->opts, count_rows(cmd->opts));
	args->operand = sbx_xcalloc((size_t)argc + 1, sizeof(*args->operand));
	while (at < argc && !args->help) {
		int n = take_options(args, cmd->opts, &t, argc - at, argv + at, err);
		bool rest = cmd->flags & SBX_CMD_RUNS || args->dashdash;

		if (n < 0)
			return -1;
		at += n;
		/* What takes the place of argv[0] for the next turn is the operand itself. */
		while (at < argc) {
			args->operand[args->n_operands++] = argv[at];
			if (!rest)
				break;
			at++;
		}
	}
	return 0;
}

int sbx_args_apply(const struct sbx_args *args, void *ctx, struct sbx_err *err)
{
	for (size_t i = 0; i < args->n_given; i++) {
		const struct sbx_opt *o = args->given[i].opt;
		char where[NAME_MAX_ + 2];

		(void)snprintf(where, sizeof(where), "--%s", o->name);
		if (o->apply(o, args->given[i].value, where, ctx, err) < 0)
			return -1;
	}
	return 0;
}

void sbx_args_release(struct sbx_args *args)
{
	free(args->given);
	free(args->operand);
	*args = (struct sbx_args){0};
}

bool sbx_opt_looks_like(const struct sbx_opt *rows, const char *word)
{
	bool no;

	return strncmp(word, "--", 2) == 0 &&
	       by_name(rows, word + 2, strcspn(word + 2, "="), &no) != NULL;
}

/* --- printing ----------------------------------------------------------------------------- */

/* Prints text from column col on, wrapped at HELP_WIDTH and continued at HELP_COLUMN. */
static void print_wrapped(FILE *to, int col, const char *text)
{
	if (col + 2 > HELP_COLUMN) {
		(void)fputc('\n', to);
		col = 0;
	}
	(void)fprintf(to, "%*s", HELP_COLUMN - col, "");
	col = HELP_COLUMN;
	while (*text != '\0') {
		int n = (int)strcspn(text, " ");

		if (col > HELP_COLUMN && col + 1 + n > HELP_WIDTH) {
			(void)fprintf(to, "\n%*s", HELP_COLUMN, "");
			col = HELP_COLUMN;
		}
		col += fprintf(to, "%s%.*s", col > HELP_COLUMN ? " " : "", n, text);
		text += n;
		text += strspn(text, " ");
	}
	(void)fputc('\n', to);
}

static void print_row(FILE *to, const struct sbx_opt *o)
{
	int col = fprintf(to, o->letter ? "  -%c, " : "      ", o->letter);

	col += fprintf(to, "--%s%s", o->flags & SBX_OPT_NO ? "[no-]" : "", o->name);
	if (o->arg)
		col += fprintf(to, " %s", o->arg);
	print_wrapped(to, col, o->help);
}

static const struct sbx_opt help_row = {.name = "help", .letter = 'h', .help = "show this text"};

void sbx_opt_help(FILE *to, const struct sbx_cmd *cmd)
{
	bool grouped = false;

	(void)fprintf(to, "usage: llmsbx %s%s%s\n\n%s\n", cmd->name, *cmd->args ? " " : "",
		      cmd->args, cmd->about);
	for (const struct sbx_opt *o = cmd->opts; o->name; o++) {
		if (o->group || !grouped)
			(void)fprintf(to, "\n%s:\n", o->group ? o->group : "options");
		grouped = true;
		print_row(to, o);
	}
	(void)fputs("\nother:\n", to);
	print_row(to, &help_row);
	(void)fprintf(to, "\nThe manual: man llmsbx-%s\n", cmd->name);
}

static void dump_row(FILE *to, const char *cmd, const struct sbx_opt *o)
{
	(void)fprintf(to, "%s\t--%s", cmd, o->name);
	if (o->letter)
		(void)fprintf(to, ",-%c", o->letter);
	if (o->flags & SBX_OPT_NO)
		(void)fprintf(to, ",--no-%s", o->name);
	(void)fprintf(to, "\t%s\t%s\t", o->arg ? o->arg : "", o->help);
	for (size_t i = 0; o->word && o->word(i); i++)
		(void)fprintf(to, "%s%s", i > 0 ? "|" : "", o->word(i));
	(void)fputc('\n', to);
}

void sbx_opt_dump(FILE *to, const struct sbx_cmd *cmd)
{
	(void)fprintf(to, "%s\t\t%s\t%s\t\n", cmd->name, cmd->args, cmd->about);
	for (const struct sbx_opt *o = cmd->opts; o->name; o++)
		dump_row(to, cmd->name, o);
	dump_row(to, cmd->name, &help_row);
}
