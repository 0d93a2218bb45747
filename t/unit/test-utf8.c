#include "lib/base/utf8.h"

#include <string.h>

#include "t/unit/tap.h"

TEST(valid)
{
	ok(sbx_utf8_valid("", 0));
	ok(sbx_utf8_valid("plain", 5));
	ok(sbx_utf8_valid("\0", 1));
	ok(sbx_utf8_valid("\xc2\x80\xdf\xbf", 4));
	ok(sbx_utf8_valid("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", 12));
	ok(sbx_utf8_valid("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8));
}

TEST(invalid)
{
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc2",
		"\xc2 ",
		"\xc2\xc2",
		"\xe0\x9f\xbf",
		"\xe0\xa0",
		"\xe1\x80 ",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xf0\x90\x80",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
		"12345678\xff",
		"1234567\xc3",
		"\xe2\x82\xac\xe2\x82",
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++) {
		if (!ok(!sbx_utf8_valid(bad[i], strlen(bad[i]))))
			tap_quote("bad", bad[i], strlen(bad[i]));
	}
}

static void prefix(const char *text, size_t want, size_t want_partial)
{
	size_t partial = 99, got = sbx_utf8_prefix(text, strlen(text), &partial);

	if (!ok_int(got, want) || !ok_int(partial, want_partial))
		tap_quote("of  ", text, strlen(text));
}

TEST(prefix)
{
	prefix("", 0, 0);
	prefix("abcdefghij", 10, 0);
	prefix("abcdefgh\xe2\x82\xac", 11, 0);
	prefix("abcdefgh\xe2\x82", 8, 2);
	prefix("abc\xe2", 3, 1);
	prefix("\xf0\x9f\x98", 0, 3);
	prefix("\xf0\x9f", 0, 2);
	prefix("\xc3", 0, 1);
	/* Beginnings that no byte can complete. */
	prefix("a\xff", 1, 0);
	prefix("a\xe0\x80", 1, 0);
	prefix("a\xed\xa0", 1, 0);
	prefix("a\xf4\x90", 1, 0);
	prefix("a\xc0", 1, 0);
	/* Bad in the middle: what follows does not count. */
	prefix("a\xff\xe2\x82", 1, 0);
	prefix("a\xe2\x82z", 1, 0);
}

/* A text cut anywhere is its first part, what is held back, and the rest. */
TEST(cut_anywhere)
{
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80zzzzzzzzz\xc3\xa9";

	for (size_t n = 0; n < sizeof(text); n++) {
		size_t partial, len = sbx_utf8_prefix(text, n, &partial);

		ok_int(len + partial, n);
		ok(sbx_utf8_valid(text + len, sizeof(text) - 1 - len));
	}
}

TEST(next)
{
	uint32_t c = 0;

	ok_int(sbx_utf8_next("A", 1, &c), 1);
	ok_int(c, 'A');
	ok_int(sbx_utf8_next("\xc3\xa9", 2, &c), 2);
	ok_int(c, 0xe9);
	ok_int(sbx_utf8_next("\xe2\x82\xac", 3, &c), 3);
	ok_int(c, 0x20ac);
	ok_int(sbx_utf8_next("\xf4\x8f\xbf\xbf", 4, &c), 4);
	ok_int(c, 0x10ffff);
	ok_int(sbx_utf8_next("\xe2\x82\xac", 2, &c), 0);
	ok_int(sbx_utf8_next("", 0, &c), 0);
	ok_int(c, 0x10ffff);
}

TEST(show)
{
	char to[16];

	ok_int(sbx_utf8_show(to, sizeof(to), 0, "ok \xc3\xa9"), 5);
	ok_str(to, "ok \xc3\xa9");
	ok_int(sbx_utf8_show(to, sizeof(to), 5, "\n"), 9);
	ok_str(to, "ok \xc3\xa9\\x0a");
	ok_int(sbx_utf8_show(to, sizeof(to), 9, "123456"), 15);
	ok_str(to, "ok \xc3\xa9\\x0a123456");
	ok_int(sbx_utf8_show(to, sizeof(to), 15, "7"), 15);
	ok_str(to, "ok \xc3\xa9\\x0a123...");
	ok_int(sbx_utf8_show(to, sizeof(to), 0, "12345678901\xc3\xa9qrs"), 14);
	ok_str(to, "12345678901...");
}

TAP_MAIN(RUN(valid), RUN(invalid), RUN(prefix), RUN(cut_anywhere), RUN(next), RUN(show))
