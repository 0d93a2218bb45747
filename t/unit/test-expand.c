#include "lib/def/expand.h"

#include "t/unit/tap.h"

static char arg_a[] = "a", arg_b[] = "b c";
static char *arg_list[] = {arg_a, arg_b, NULL};
static const struct sbx_strv two_args = {.v = arg_list, .n = 2};

static struct sbx_expand usual(void)
{
	return (struct sbx_expand){
		.file = "main.py",
		.stem = "main",
		.workdir = "/sandbox",
		.memory_mib = 512,
		.cpus = 2,
		.args = &two_args,
	};
}

/* The expansion of a NULL-terminated list, joined by '|'; "" where it failed. */
static const char *expand(const struct sbx_expand *ex, bool append, struct sbx_err *err,
			  const char *const *in)
{
	static char joined[4096];
	struct sbx_strv argv = {.v = NULL}, out = {.v = NULL};

	joined[0] = '\0';
	for (; *in; in++) {
		if (sbx_strv_add(&argv, *in, err) < 0)
			return "";
	}
	if (sbx_expand_argv(ex, &argv, append, &out, err) == 0) {
		for (size_t i = 0; i < out.n; i++)
			(void)snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined),
				       "%s%s", i ? "|" : "", out.v[i]);
	}
	sbx_strv_release(&argv);
	sbx_strv_release(&out);
	return joined;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(every_placeholder)
{
	struct sbx_expand ex = usual();

	ok_str(expand(&ex, false, err,
		      LIST("{file}", "{stem}.o", "{workdir}/{file}", "-Xmx{heap_mib}m",
			   "{memory_mib}", "-j{cpus}", "{build}/x", "{main}")),
	       "main.py|main.o|/sandbox/main.py|-Xmx358m|512|-j2|/tmp/x|main");
	ex.main = "com.example.Main";
	ex.build = "/b";
	ok_str(expand(&ex, false, err, LIST("{main}", "{build}", "{args}", "z")),
	       "com.example.Main|/b|a|b c|z");
	ok_int(err->code, SBX_E_OK);
}

TEST(arguments)
{
	struct sbx_expand ex = usual();

	ok_str(expand(&ex, true, err, LIST("x")), "x|a|b c");
	ok_str(expand(&ex, true, err, LIST("x", "{args}", "y")), "x|a|b c|y");
	ok_str(expand(&ex, false, err, LIST("x")), "x");
	ex.args = NULL;
	ok_str(expand(&ex, true, err, LIST("x", "{args}")), "x");
	ok_str(expand(&ex, true, err, LIST("x")), "x");
}

TEST(braces)
{
	struct sbx_expand ex = usual();

	ok_str(expand(&ex, false, err, LIST("if (x) {{ {file} }}", "{{file}}", "", "{{{file}}}")),
	       "if (x) { main.py }|{file}||{main.py}");
}

TEST(no_limit_no_element)
{
	struct sbx_expand ex = usual();

	ex.memory_mib = 0;
	ex.cpus = 0;
	ok_str(expand(&ex, false, err,
		      LIST("java", "-Xmx{heap_mib}m", "M={memory_mib}", "-j{cpus}", "{file}")),
	       "java|main.py");
}

TEST(heap_is_below_the_limit)
{
	static const struct {
		uint64_t memory;
		const char *heap;
	} cases[] = {{1, "1"},
		     {2, "1"},
		     {10, "7"},
		     {64, "44"},
		     {100, "70"},
		     {1000, "700"},
		     {1ull << 44, "12314530231091"}};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		struct sbx_expand ex = usual();

		ex.memory_mib = cases[i].memory;
		ok_str(expand(&ex, false, err, LIST("{heap_mib}")), cases[i].heap);
	}
}

TEST(a_file_is_never_an_option)
{
	static const char *const cases[][2] = {
		{"-n.py", "./-n.py"}, {"--help", "./--help"}, {"+x.sh", "./+x.sh"},
		{"@f.c", "./@f.c"},   {".hidden", ".hidden"}, {"a b.py", "a b.py"},
		{"é.py", "é.py"},
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		struct sbx_expand ex = usual();

		ex.file = cases[i][0];
		ok_str(expand(&ex, false, err, LIST("{file}")), cases[i][1]);
	}
}

TEST(values_are_not_expanded_again)
{
	struct sbx_expand ex = usual();

	ex.file = "{workdir}{{.py";
	ok_str(expand(&ex, false, err, LIST("{file}")), "{workdir}{{.py");
}

TEST(wrong)
{
	static const char *const cases[][2] = {{"{files}", "{files}"},
					       {"x{}y", "{}"},
					       {"{file", "{file"},
					       {"a}", "}"},
					       {"{", "{"},
					       {"-{args}", "{args}"},
					       {"{File}", "{File}"},
					       {"{file}{what}", "{what}"}};
	static const char *const good[] = {"", "{args}", "{{}}", "{file}", "{heap_mib}x{cpus}"};
	struct sbx_expand ex = usual();
	char bad[64];

	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		ok_str(sbx_expand_wrong(cases[i][0], bad), cases[i][1]);
		(void)expand(&ex, false, err, LIST(cases[i][0]));
		ok_int(err->code, SBX_E_INVALID);
		sbx_err_clear(err);
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(good); i++)
		ok_str(sbx_expand_wrong(good[i], bad), NULL);
}

TEST(wrong_is_shortened)
{
	char text[300], bad[64];

	memset(text, 'x', sizeof(text));
	text[0] = '{';
	text[298] = '}';
	text[299] = '\0';
	ok(sbx_expand_wrong(text, bad) == bad);
	ok_int(strlen(bad), 63);
}

TEST(one_element_has_a_ceiling)
{
	struct sbx_strv in = {.v = NULL}, out = {.v = NULL};
	struct sbx_expand ex = usual();
	static char longest[130 << 10];

	memset(longest, 'x', sizeof(longest) - 1);
	ex.workdir = longest;
	ok_call(sbx_strv_add(&in, "{workdir}", err));
	ok_fail(sbx_expand_argv(&ex, &in, false, &out, err), SBX_E_LIMIT, "bytes");
	sbx_strv_release(&in);
	sbx_strv_release(&out);
}

TAP_MAIN(RUN(every_placeholder), RUN(arguments), RUN(braces), RUN(no_limit_no_element),
	 RUN(heap_is_below_the_limit), RUN(a_file_is_never_an_option),
	 RUN(values_are_not_expanded_again), RUN(wrong), RUN(wrong_is_shortened),
	 RUN(one_element_has_a_ceiling))
