#include "cmd/opt.h"

#include <stdlib.h>

#include "cmd/cmd.h"
#include "lib/base/str.h"
#include "t/unit/tap.h"

struct ctx {
	bool flag, keep;
	const char *text;
	int number;
	char list[64]; /* what a repeatable option brought, by comma */
};

static int add_to_list(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
		       struct sbx_err *err)
{
	struct ctx *c = ctx;
	size_t n = strlen(c->list);

	(void)opt;
	if (strcmp(value, "bad") == 0)
		return sbx_fail(err, SBX_E_USAGE, "%s: bad", where);
	(void)snprintf(c->list + n, sizeof(c->list) - n, "%s,", value);
	return 0;
}

static const struct sbx_opt rows[] = {
	{.name = "timeout",
	 .arg = "TIME",
	 .help = "end the program after TIME; a text that is long enough to be wrapped at the "
		 "width of a terminal",
	 .group = "limits",
	 .flags = SBX_OPT_SETTING,
	 .apply = sbx_opt_text,
	 .offset = offsetof(struct ctx, text)},
	{.name = "flag",
	 .letter = 'f',
	 .help = "a switch",
	 .flags = SBX_OPT_NO | SBX_OPT_SETTING,
	 .apply = sbx_opt_bool,
	 .offset = offsetof(struct ctx, flag)},
	{.name = "keep-order",
	 .letter = 'k',
	 .help = "another",
	 .group = "output",
	 .flags = SBX_OPT_SETTING,
	 .apply = sbx_opt_bool,
	 .offset = offsetof(struct ctx, keep)},
	{.name = "number",
	 .letter = 'n',
	 .arg = "N",
	 .help = "a number",
	 .apply = sbx_opt_int,
	 .offset = offsetof(struct ctx, number)},
	{.name = "env",
	 .letter = 'e',
	 .arg = "K=V",
	 .help = "repeatable",
	 .flags = SBX_OPT_REPEAT | SBX_OPT_SETTING,
	 .apply = add_to_list},
	{.name = NULL},
};

static const struct sbx_cmd cmd = {.name = "cmd",
				   .args = "[options] FILE",
				   .about = "does it",
				   .opts = rows,
				   .flags = SBX_CMD_RUNS};

/* Splits words at blanks and parses; NULL words end the line. */
static int parse_for(const struct sbx_cmd *of, struct sbx_args *args, const char *line,
		     struct sbx_err *err)
{
	static char text[256];
	static char *argv[32];
	int argc = 0;

	*args = (struct sbx_args){0};
	(void)snprintf(text, sizeof(text), "cmd %s", line);
	for (char *rest = text, *word; argc < 31 && (word = strsep(&rest, " "));) {
		if (*word != '\0')
			argv[argc++] = word;
	}
	argv[argc] = NULL;
	return sbx_args_parse(args, of, argc, argv, err);
}

static int parse(struct sbx_args *args, const char *line, struct sbx_err *err)
{
	return parse_for(&cmd, args, line, err);
}

static int parse_and_drop(const char *line, struct sbx_err *err)
{
	struct sbx_args args;
	int r = parse(&args, line, err);

	sbx_args_release(&args);
	return r;
}

TEST(forms)
{
	struct ctx c = {.text = NULL};
	struct sbx_args args;

	ok_call(parse(&args, "--timeout 5s -fk -n7 -e A=1 --env=B=2 file --flag -x", err));
	ok_call(sbx_args_apply(&args, &c, err));
	ok_str(c.text, "5s");
	ok(c.flag);
	ok(c.keep);
	ok_int(c.number, 7);
	ok_str(c.list, "A=1,B=2,");
	ok_int(args.n_operands, 3);
	ok_str(args.operand[0], "file");
	ok_str(args.operand[2], "-x");
	ok(!args.dashdash);
	ok(!args.help);
	sbx_args_release(&args);
}

TEST(last_wins_and_no)
{
	struct ctx c = {.flag = false};
	struct sbx_args args;

	ok_call(parse(&args, "--flag --no-flag --timeout 1 --timeout 2", err));
	ok_call(sbx_args_apply(&args, &c, err));
	ok(!c.flag);
	ok_str(c.text, "2");
	sbx_args_release(&args);
}

TEST(dashes)
{
	struct sbx_args args;

	ok_call(parse(&args, "-- --timeout", err));
	ok(args.dashdash);
	ok_int(args.n_operands, 1);
	ok_str(args.operand[0], "--timeout");
	sbx_args_release(&args);

	ok_call(parse(&args, "--timeout -- - --", err));
	ok(!args.dashdash); /* the first was a value, the second stands behind an operand */
	ok_int(args.n_operands, 2);
	ok_str(args.operand[0], "-");
	ok_str(args.given[0].value, "--");
	sbx_args_release(&args);

	ok_call(parse(&args, "", err));
	ok_int(args.n_operands, 0);
	ok(args.operand[0] == NULL);
	sbx_args_release(&args);
}

/* Nothing behind an operand can be a program's here. */
TEST(options_anywhere)
{
	static const struct sbx_cmd other = {.name = "other", .opts = rows};
	struct sbx_args args;

	ok_call(parse_for(&other, &args, "verb --timeout 5 name -f -- -k last", err));
	ok_int(args.n_given, 2);
	ok_str(args.given[0].value, "5");
	ok_int(args.n_operands, 4);
	ok_str(args.operand[0], "verb");
	ok_str(args.operand[1], "name");
	ok_str(args.operand[2], "-k");
	ok_str(args.operand[3], "last");
	ok(args.operand[4] == NULL);
	sbx_args_release(&args);
}

TEST(wrong)
{
	ok_fail(parse_and_drop("--timeot 5", err), SBX_E_USAGE,
		"unknown option '--timeot'; did you mean '--timeout'?");
	ok_fail(parse_and_drop("--timoeut=5", err), SBX_E_USAGE, "did you mean '--timeout'?");
	ok_fail(parse_and_drop("--time 5", err), SBX_E_USAGE, "did you mean '--timeout'?");
	ok_fail(parse_and_drop("--time", err), SBX_E_USAGE, "did you mean '--timeout'?");
	ok_fail(parse_and_drop("--no-flg", err), SBX_E_USAGE, "did you mean '--no-flag'?");
	ok_fail(parse_and_drop("--no-timeout", err), SBX_E_USAGE, "unknown option '--no-timeout'");
	ok_fail(parse_and_drop("--plumbin", err), SBX_E_USAGE, "'--plumbin'; --help lists them");
	ok_fail(parse_and_drop("--install x", err), SBX_E_USAGE,
		"unknown option '--install'; --help lists them");
	ok_fail(parse_and_drop("-z", err), SBX_E_USAGE, "unknown option '-z'");
	ok_fail(parse_and_drop("-fz", err), SBX_E_USAGE, "unknown option '-z'");
	ok_fail(parse_and_drop("--timeout", err), SBX_E_USAGE,
		"option '--timeout' needs a value: TIME");
	ok_fail(parse_and_drop("-f -n", err), SBX_E_USAGE, "option '-n' needs a value: N");
	ok_fail(parse_and_drop("--flag=1", err), SBX_E_USAGE, "option '--flag' takes no value");
	ok_fail(parse_and_drop("--help=1", err), SBX_E_USAGE, "option '--help' takes no value");
	ok_fail(parse_and_drop("--hel", err), SBX_E_USAGE, "unknown option '--hel'");
}

static int parse_and_apply(const char *line, struct sbx_err *err)
{
	struct ctx c = {.flag = false};
	struct sbx_args args;
	int r = parse(&args, line, err);

	if (r == 0)
		r = sbx_args_apply(&args, &c, err);
	sbx_args_release(&args);
	return r;
}

TEST(wrong_values)
{
	ok_fail(parse_and_apply("--timeout=", err), SBX_E_USAGE, "--timeout: the value is empty");
	ok_fail(parse_and_apply("-n x", err), SBX_E_USAGE, "--number: ");
	ok_fail(parse_and_apply("-n 2147483648", err), SBX_E_USAGE, "--number: ");
	ok_fail(parse_and_apply("-n -1", err), SBX_E_USAGE, "--number: ");
	ok_fail(parse_and_apply("-e bad", err), SBX_E_USAGE, "--env: bad");
}

TEST(help_wins)
{
	struct sbx_args args;

	ok_call(parse(&args, "--help --nonsense", err));
	ok(args.help);
	sbx_args_release(&args);
	ok_call(parse(&args, "-fh", err));
	ok(args.help);
	sbx_args_release(&args);
	ok_call(parse(&args, "file --help", err));
	ok(!args.help);
	sbx_args_release(&args);
}

TEST(settings)
{
	struct ctx c = {.flag = false};

	ok_call(sbx_opt_set(rows, "keep_order", "true", "config.json", &c, err));
	ok(c.keep);
	ok_call(sbx_opt_set(rows, "keep-order", "no", "config.json", &c, err));
	ok(!c.keep);
	ok_fail(sbx_opt_set(rows, "keep_order", "maybe", "config.json", &c, err), SBX_E_USAGE,
		"config.json: 'maybe' is neither");
	ok_fail(sbx_opt_set(rows, "number", "1", "config.json", &c, err), SBX_E_USAGE,
		"config.json: there is no setting 'number'");
	ok_fail(sbx_opt_set(rows, "timout", "1", "config.json", &c, err), SBX_E_USAGE,
		"did you mean 'timeout'?");
}

TEST(operands_like_options)
{
	ok(sbx_opt_looks_like(rows, "--timeout"));
	ok(sbx_opt_looks_like(rows, "--timeout=5"));
	ok(sbx_opt_looks_like(rows, "--no-flag"));
	ok(!sbx_opt_looks_like(rows, "--time"));
	ok(!sbx_opt_looks_like(rows, "timeout"));
	ok(!sbx_opt_looks_like(rows, "--"));
	ok(!sbx_opt_looks_like(rows, "-f"));
}

/* What print writes, owned by the caller. */
static char *printed(void (*print)(FILE *to, const struct sbx_cmd *cmd))
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	print(to, &cmd);
	(void)fclose(to);
	return text;
}

TEST(help_text)
{
	char *text = printed(sbx_opt_help);

	ok_str(text,
	       "usage: llmsbx cmd [options] FILE\n"
	       "\n"
	       "does it\n"
	       "\n"
	       "limits:\n"
	       "      --timeout TIME      end the program after TIME; a text that is long enough\n"
	       "                          to be wrapped at the width of a terminal\n"
	       "  -f, --[no-]flag         a switch\n"
	       "\n"
	       "output:\n"
	       "  -k, --keep-order        another\n"
	       "  -n, --number N          a number\n"
	       "  -e, --env K=V           repeatable\n"
	       "\n"
	       "other:\n"
	       "  -h, --help              show this text\n"
	       "\n"
	       "The manual: man llmsbx-cmd\n");
	free(text);
}

TEST(dump)
{
	char *text = printed(sbx_opt_dump);

	ok(strstr(text, "cmd\t\t[options] FILE\tdoes it\t\n") == text);
	ok(strstr(text, "\ncmd\t--flag,-f,--no-flag\t\ta switch\t\n") != NULL);
	ok(strstr(text, "\ncmd\t--env,-e\tK=V\trepeatable\t\n") != NULL);
	free(text);
}

TEST(nearest)
{
	size_t best = SBX_NEAR_INIT;

	ok(sbx_near("rnu", "run", &best)); /* one swap */
	ok_int(best, 1);
	ok(!sbx_near("rnu", "gnu", &best)); /* as near: the first stays */
	best = SBX_NEAR_INIT;
	ok(!sbx_near("ab", "cd", &best)); /* nothing in common */
	ok(!sbx_near("install", "enforce", &best));
	ok(sbx_near("docter", "doctor", &best));
}

TAP_MAIN(RUN(forms), RUN(last_wins_and_no), RUN(dashes), RUN(options_anywhere), RUN(wrong),
	 RUN(wrong_values), RUN(help_wins), RUN(settings), RUN(operands_like_options),
	 RUN(help_text), RUN(dump), RUN(nearest))
