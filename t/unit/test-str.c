#include "lib/base/str.h"

#include <stdlib.h>

#include "t/unit/tap.h"

TEST(compare)
{
	struct sbx_str none = {NULL, 0};

	ok(sbx_str_eq(SBX_STR("abc"), "abc"));
	ok(!sbx_str_eq(SBX_STR("abc"), "abcd"));
	ok(!sbx_str_eq(SBX_STR("abc"), "ab"));
	ok(!sbx_str_eq(SBX_STR("a\0c"), "a"));
	ok(sbx_str_eq(none, ""));
	ok(sbx_str_has_prefix(SBX_STR("abc"), "ab"));
	ok(sbx_str_has_prefix(none, ""));
	ok(!sbx_str_has_prefix(SBX_STR("ab"), "abc"));
	ok(sbx_str_has_suffix(SBX_STR("a.py"), ".py"));
	ok(!sbx_str_has_suffix(SBX_STR("py"), ".py"));
	ok(sbx_str_eq_nocase(SBX_STR("GiB"), "gib"));
	ok(!sbx_str_eq_nocase(SBX_STR("GiB"), "gi"));
	ok(!sbx_str_eq_nocase(SBX_STR("@"), "`")); /* differ in the bit that is case for letters */
}

TEST(trim)
{
	struct sbx_str s = sbx_str_trim(SBX_STR(" \t\r\n a b\v\f "));

	ok_mem(s.p, s.n, "a b", 3);
	ok_int(sbx_str_trim(SBX_STR("  ")).n, 0);
	ok_int(sbx_str_trim((struct sbx_str){NULL, 0}).n, 0);
	ok_int(sbx_str_trim(SBX_STR("\xa0")).n, 1);
}

TEST(split)
{
	struct sbx_str rest = SBX_STR("a,,bc,"), part;

	ok(sbx_str_split(&rest, ',', &part));
	ok_mem(part.p, part.n, "a", 1);
	ok(sbx_str_split(&rest, ',', &part));
	ok_int(part.n, 0);
	ok(sbx_str_split(&rest, ',', &part));
	ok_mem(part.p, part.n, "bc", 2);
	ok(!sbx_str_split(&rest, ',', &part));
	rest = (struct sbx_str){NULL, 0};
	ok(!sbx_str_split(&rest, ',', &part));
}

TEST(dup)
{
	char *s = sbx_str_dup((struct sbx_str){"abc", 2});

	ok_str(s, "ab");
	free(s);
	s = sbx_str_dup((struct sbx_str){NULL, 0});
	ok_str(s, "");
	free(s);
}

TEST(numbers)
{
	uint64_t v = 7;

	ok_call(sbx_str_u64(SBX_STR("0"), 10, "n", &v, err));
	ok_int(v, 0);
	ok_call(sbx_str_u64(SBX_STR("18446744073709551615"), UINT64_MAX, "n", &v, err));
	ok(v == UINT64_MAX);
	ok_call(sbx_str_u64(SBX_STR("007"), 7, "n", &v, err));
	ok_int(v, 7);
	ok_fail(sbx_str_u64(SBX_STR("11"), 10, "--pids", &v, err), SBX_E_USAGE,
		"--pids: 11 is more than 10");
	ok_fail(sbx_str_u64(SBX_STR("18446744073709551616"), UINT64_MAX, "n", &v, err), SBX_E_USAGE,
		"is more than 18446744073709551615");
	ok_fail(sbx_str_u64(SBX_STR("99999999999999999999999"), UINT64_MAX, "n", &v, err),
		SBX_E_USAGE, "is more than");
	ok_fail(sbx_str_u64(SBX_STR(""), 10, "n", &v, err), SBX_E_USAGE, "not empty");
	ok_fail(sbx_str_u64((struct sbx_str){NULL, 0}, 10, "n", &v, err), SBX_E_USAGE, "not empty");
	ok_fail(sbx_str_u64(SBX_STR("-1"), 10, "n", &v, err), SBX_E_USAGE,
		"n: must be a number, not '-1'");
	ok_fail(sbx_str_u64(SBX_STR("+1"), 10, "n", &v, err), SBX_E_USAGE, "'+1'");
	ok_fail(sbx_str_u64(SBX_STR(" 1"), 10, "n", &v, err), SBX_E_USAGE, "' 1'");
	ok_fail(sbx_str_u64(SBX_STR("1 "), 10, "n", &v, err), SBX_E_USAGE, "'1 '");
	ok_fail(sbx_str_u64(SBX_STR("0x1"), 10, "n", &v, err), SBX_E_USAGE, "'0x1'");
	ok_fail(sbx_str_u64(SBX_STR("99999999999999999999999x"), 10, "n", &v, err), SBX_E_USAGE,
		"must be a number");
	ok_int(v, 7);
}

TEST(distance)
{
	char word[66];

	ok_int(sbx_str_distance(SBX_STR(""), ""), 0);
	ok_int(sbx_str_distance(SBX_STR("abc"), ""), 3);
	ok_int(sbx_str_distance(SBX_STR(""), "abc"), 3);
	ok_int(sbx_str_distance(SBX_STR("kitten"), "sitting"), 3);
	ok_int(sbx_str_distance(SBX_STR("Memory"), "memroy"), 1);
	ok_int(sbx_str_distance(SBX_STR("tiemout"), "timeout"), 1);
	memset(word, 'x', 65);
	word[65] = '\0';
	ok(sbx_str_distance(sbx_str_of(word), "a") == SIZE_MAX);
	ok(sbx_str_distance(SBX_STR("a"), word) == SIZE_MAX);
	ok_int(sbx_str_distance(sbx_str_of(word + 1), "a"), 64);
}

TAP_MAIN(RUN(compare), RUN(trim), RUN(split), RUN(dup), RUN(numbers), RUN(distance))
