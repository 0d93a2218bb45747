#include "lib/base/clock.h"

#include <limits.h>

#include "t/unit/tap.h"

TEST(now)
{
	uint64_t a = sbx_now_ns(), b = sbx_now_ns();

	ok(a > 0 && b >= a);
}

TEST(deadlines)
{
	uint64_t now = sbx_now_ns();
	int ms;

	ok(sbx_deadline(SBX_UNLIMITED) == SBX_UNLIMITED);
	ok(sbx_deadline(SBX_UNLIMITED - 1) == SBX_UNLIMITED);
	ok(sbx_deadline(5) >= now + 5);
	ok_int(sbx_poll_ms(SBX_UNLIMITED), -1);
	ok_int(sbx_poll_ms(0), 0);
	ok_int(sbx_poll_ms(now), 0);
	ok_int(sbx_poll_ms(SBX_UNLIMITED - 1), INT_MAX);
	ms = sbx_poll_ms(sbx_deadline(UINT64_C(1000000000000)));
	ok(ms > 900000 && ms <= 1000000);
	/* Rounded up: before the deadline it is never 0, which would spin. */
	now = sbx_now_ns();
	ms = sbx_poll_ms(now + 10500000);
	ok((uint64_t)ms * 1000000 >= now + 10500000 - sbx_now_ns() && ms <= 11);
}

static const struct row {
	const char *text;
	uint64_t want;
} durations[] =
	{
		{"30", 30000000000},     {"30s", 30000000000},
		{"500ms", 500000000},    {"2m", 120000000000},
		{"1h", 3600000000000},   {"1.5s", 1500000000},
		{"0.001", 1000000},      {"1.5m", 90000000000},
		{"0.000000001s", 1},     {"1.50H", 5400000000000},
		{"none", SBX_UNLIMITED}, {"18446744073s", 18446744073000000000U},
		{"0.0000000015h", 3600},
},
  sizes[] =
	  {
		  {"0", 0},
		  {"65536", 65536},
		  {"512k", 524288},
		  {"64m", 67108864},
		  {"1g", 1073741824},
		  {"1GiB", 1073741824},
		  {"1KB", 1024},
		  {"2MiB", 2097152},
		  {"1.5g", 1610612736},
		  {"7B", 7},
		  {"1t", 1099511627776},
		  {"none", SBX_UNLIMITED},
		  {"0.5k", 512},
		  {"18446744073709551614", 18446744073709551614U},
},
  millis[] = {
	  {"1", 1000}, {"0.5", 500}, {"2.25", 2250}, {"0.001", 1}, {"none", SBX_UNLIMITED},
};

typedef int parser(struct sbx_str s, const char *what, uint64_t *ret, struct sbx_err *err);

static void good(parser *parse, const struct row *rows, size_t n, struct sbx_err *err)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = 99;

		if (!ok_call(parse(sbx_str_of(rows[i].text), "x", &v, err)) ||
		    !ok_int(v, rows[i].want))
			printf("#   of '%s'\n", rows[i].text);
	}
}

TEST(good)
{
	good(sbx_parse_duration, durations, SBX_ARRAY_SIZE(durations), err);
	good(sbx_parse_size, sizes, SBX_ARRAY_SIZE(sizes), err);
	good(sbx_parse_milli, millis, SBX_ARRAY_SIZE(millis), err);
}

static void bad(parser *parse, const char *text, const char *words, struct sbx_err *err)
{
	uint64_t v = 99;

	if (!ok_fail(parse(sbx_str_of(text), "--x", &v, err), SBX_E_USAGE, words))
		printf("#   of '%s'\n", text);
	ok_int(v, 99);
}

TEST(malformed)
{
	static const char *const texts[] = {"",    "s",    "-1",   "+1",    " 1",  "1 ",      "1 s",
					    "1.",  ".5",   "1..5", "1.2.3", "1,5", "0x10",    "1e3",
					    "1s2", "1m30", "None", "inf",   "1x",  "\xc2\xb2"};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(texts); i++) {
		bad(sbx_parse_duration, texts[i], "is not a duration (500ms, 30s, 2m, 1h, none)",
		    err);
		bad(sbx_parse_size, texts[i], "is not a size", err);
		bad(sbx_parse_milli, texts[i], "is not a number of processors", err);
	}
	bad(sbx_parse_duration, "1k", "--x: '1k' is not", err);
	bad(sbx_parse_size, "1s", "is not", err);
	bad(sbx_parse_milli, "1m", "is not", err);
}

TEST(too_large_or_nothing)
{
	bad(sbx_parse_duration, "0", "write 'none'", err);
	bad(sbx_parse_duration, "0ms", "write 'none'", err);
	bad(sbx_parse_duration, "0.0000000001s", "write 'none'", err);
	bad(sbx_parse_milli, "0", "write 'none'", err);
	bad(sbx_parse_milli, "0.0009", "write 'none'", err);
	bad(sbx_parse_duration, "18446744074", "too large", err);
	bad(sbx_parse_duration, "99999999999999999999999", "too large", err);
	bad(sbx_parse_size, "18446744073709551615", "too large", err);
	bad(sbx_parse_size, "18446744073709551616", "too large", err);
	bad(sbx_parse_size, "17592186044416m", "too large", err);
}

TAP_MAIN(RUN(now), RUN(deadlines), RUN(good), RUN(malformed), RUN(too_large_or_nothing))
