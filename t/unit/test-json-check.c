#include "lib/json/check.h"

#include <stdlib.h>

#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "t/unit/tap.h"

/* Most of the first half is what jsmn takes for JSON. */
static const struct {
	struct sbx_str text;
	const char *words;
} bad[] = {
	{SBX_STR("{\"a\":1,}"), "line 1, column 8: expected a key"},
	{SBX_STR("[1,]"), "line 1, column 4: expected a value"},
	{SBX_STR("[1 2]"), "line 1, column 4: expected ',' or ']'"},
	{SBX_STR("[,1]"), "column 2: expected a value"},
	{SBX_STR("[1,,2]"), "column 4: expected a value"},
	{SBX_STR("{,}"), "column 2: expected a key"},
	{SBX_STR("{\"a\"}"), "column 5: expected ':'"},
	{SBX_STR("{\"a\":}"), "column 6: expected a value"},
	{SBX_STR("{\"a\":1 \"b\":2}"), "column 8: expected ',' or '}'"},
	{SBX_STR("{\"a\":1:2}"), "expected ',' or '}'"},
	{SBX_STR("{\"a\":\"b\"\"c\"}"), "expected ',' or '}'"},
	{SBX_STR("[\"a\":1]"), "expected ',' or ']'"},
	{SBX_STR("[01]"), "expected ',' or ']'"},
	{SBX_STR("[1.2.3]"), "expected ',' or ']'"},
	{SBX_STR("[-]"), "not a number"},
	{SBX_STR("[1e]"), "not a number"},
	{SBX_STR("[truE]"), "expected a value"},
	{SBX_STR("[nul]"), "expected a value"},
	{SBX_STR("[\"\\ud800\"]"), "half a surrogate pair"},
	{SBX_STR("[\"a\nb\"]"), "control character"},
	{SBX_STR("[\"\xff\"]"), "not UTF-8"},
	{SBX_STR(""), "line 1, column 1: expected a value"},
	{SBX_STR("{}{}"), "expected nothing more"},
	{SBX_STR("{"), "expected a key"},
	{SBX_STR("["), "expected a value"},
	{SBX_STR("[1"), "expected ',' or ']'"},
	{SBX_STR("{\"a\":1"), "expected ',' or '}'"},
	{SBX_STR("]"), "expected a value"},
	{SBX_STR("[1}"), "expected ',' or ']'"},
	{SBX_STR("{1:2}"), "expected a key"},
	{SBX_STR("{a:1}"), "expected a key"},
	{SBX_STR("{'a':1}"), "expected a key"},
	{SBX_STR("['a']"), "expected a value"},
	{SBX_STR("[\"a]"), "string not closed"},
	{SBX_STR("[\"a\\"), "string not closed"},
	{SBX_STR("[\"a\\\"]"), "string not closed"},
	{SBX_STR("[\"\\x\"]"), "unknown escape"},
	{SBX_STR("[\"\\'\"]"), "unknown escape"},
	{SBX_STR("[\"\\\0\"]"), "unknown escape"},
	{SBX_STR("[\"\\u12\"]"), "four hexadecimal digits"},
	{SBX_STR("[\"\\u12g4\"]"), "four hexadecimal digits"},
	{SBX_STR("[\"\\u+123\"]"), "four hexadecimal digits"},
	{SBX_STR("[\"\\u12"), "four hexadecimal digits"},
	{SBX_STR("[\"\\udc00\"]"), "half a surrogate pair"},
	{SBX_STR("[\"\\ud800\\u0041\"]"), "half a surrogate pair"},
	{SBX_STR("[\"\\ud800\\ud800\"]"), "half a surrogate pair"},
	{SBX_STR("[\"\\ud800x\"]"), "half a surrogate pair"},
	{SBX_STR("[\"\\ud800\\u"), "half a surrogate pair"},
	{SBX_STR("[\"\0\"]"), "control character"},
	{SBX_STR("[\"\t\"]"), "control character"},
	{SBX_STR("[\"\xc0\x80\"]"), "not UTF-8"},
	{SBX_STR("[\"\xed\xa0\x80\"]"), "not UTF-8"},
	{SBX_STR("[\"\xe2\x82"), "not UTF-8"},
	{SBX_STR("\xef\xbb\xbf{}"), "column 1: expected a value"},
	{SBX_STR("[\xc2\xa0"
		 "1]"),
	 "expected a value"},
	{SBX_STR("[\f1]"), "expected a value"},
	{SBX_STR("[1]\0"), "expected nothing more"},
	{SBX_STR("[+1]"), "expected a value"},
	{SBX_STR("[.5]"), "expected a value"},
	{SBX_STR("[1.]"), "not a number"},
	{SBX_STR("[-.5]"), "not a number"},
	{SBX_STR("[-01]"), "expected ',' or ']'"},
	{SBX_STR("[1e+]"), "not a number"},
	{SBX_STR("[1e5.2]"), "expected ',' or ']'"},
	{SBX_STR("[0x1]"), "expected ',' or ']'"},
	{SBX_STR("[1_000]"), "expected ',' or ']'"},
	{SBX_STR("[- 1]"), "not a number"},
	{SBX_STR("[NaN]"), "expected a value"},
	{SBX_STR("[Infinity]"), "expected a value"},
	{SBX_STR("[-Infinity]"), "not a number"},
	{SBX_STR("[undefined]"), "expected a value"},
	{SBX_STR("[truefalse]"), "expected ',' or ']'"},
	{SBX_STR("tru"), "expected a value"},
	{SBX_STR("True"), "expected a value"},
	{SBX_STR("nullx"), "expected nothing more"},
	{SBX_STR("1 2"), "expected nothing more"},
	{SBX_STR("\"a\" \"b\""), "expected nothing more"},
	{SBX_STR("[1] // c"), "expected nothing more"},
	{SBX_STR("[/* c */1]"), "expected a value"},
	{SBX_STR("[1]]"), "expected nothing more"},
	{SBX_STR("{\n\"a\": 1,\n  x}"), "line 3, column 3: expected a key"},
};

static const struct {
	struct sbx_str text;
	size_t tokens;
} good[] = {
	{SBX_STR("1"), 1},
	{SBX_STR("true"), 1},
	{SBX_STR("false"), 1},
	{SBX_STR("null"), 1},
	{SBX_STR("\"\""), 1},
	{SBX_STR(" \t\r\n0 \t\r\n"), 1},
	{SBX_STR("-0"), 1},
	{SBX_STR("-0.0e-0"), 1},
	{SBX_STR("1E+400"), 1},
	{SBX_STR("123456789012345678901234567890.5"), 1},
	{SBX_STR("[]"), 1},
	{SBX_STR("{ }"), 1},
	{SBX_STR("[[],{},[[]]]"), 5},
	{SBX_STR("{\"a\":{\"b\":[1,\"c\",null]}}"), 8},
	{SBX_STR("{\"\":\"\"}"), 3},
	{SBX_STR("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uFFFF\"]"), 2},
	{SBX_STR("[\"\\ud83d\\uDE00\"]"), 2},
	{SBX_STR("[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"]"), 2},
};

TEST(bad)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++) {
		size_t tokens = 99;

		if (!ok_fail(sbx_json_check(bad[i].text, "job 3", &tokens, err), SBX_E_INVALID,
			     bad[i].words))
			tap_quote("text", bad[i].text.p, bad[i].text.n);
		ok_int(tokens, 99);
	}
	ok_fail(sbx_json_check(bad[0].text, "job 3", NULL, err), SBX_E_INVALID, "job 3: line 1,");
	ok_fail(sbx_json_check((struct sbx_str){NULL, 0}, "x", NULL, err), SBX_E_INVALID,
		"expected a value");
}

TEST(good)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(good); i++) {
		size_t tokens = 99;

		if (!ok_call(sbx_json_check(good[i].text, "x", &tokens, err)) ||
		    !ok_int(tokens, good[i].tokens))
			tap_quote("text", good[i].text.p, good[i].text.n);
	}
}

/* No part of a good text but the whole is one (scalars aside), and none is read beyond its end. */
TEST(every_beginning)
{
	static const char text[] =
		"{\"a\\u00e9\":[-1.5e3,\"\\ud83d\\ude00\",true,null,{\"\xe2\x82\xac\":{}}]}";

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		char *part = sbx_str_dup((struct sbx_str){text, n});
		char *exact = malloc(n + (n == 0)); /* the sanitizer watches its end */
		size_t tokens;

		memcpy(exact, part, n);
		ok_fail(sbx_json_check((struct sbx_str){exact, n}, "x", &tokens, err),
			SBX_E_INVALID, "line 1");
		free(exact);
		free(part);
	}
}

TEST(depth)
{
	char text[2 * SBX_JSON_DEPTH + 2];
	struct sbx_str deepest = {text + 1, sizeof(text) - 2}, deeper = {text, sizeof(text)};
	size_t n = 100000, tokens;
	char *many = sbx_xcalloc(n, 1);

	memset(text, '[', sizeof(text) / 2);
	memset(text + sizeof(text) / 2, ']', sizeof(text) / 2);
	ok_call(sbx_json_check(deepest, "x", &tokens, err));
	ok_int(tokens, SBX_JSON_DEPTH);
	ok_fail(sbx_json_check(deeper, "x", &tokens, err), SBX_E_LIMIT,
		"column 65: nested too deep");
	memset(many, '[', n);
	ok_fail(sbx_json_check((struct sbx_str){many, n}, "x", &tokens, err), SBX_E_LIMIT,
		"nested too deep");
	free(many);
}

TEST(too_many_values)
{
	size_t n = 2 * (size_t)SBX_JSON_TOKENS, tokens = 0;
	char *text = sbx_xcalloc(n + 1, 1);

	for (size_t i = 0; i < n; i += 2)
		memcpy(text + i, "1,", 2);
	text[0] = '[';
	text[1] = ' ';
	text[n - 1] = ']';
	ok_call(sbx_json_check((struct sbx_str){text, n}, "x", &tokens, err));
	ok_int(tokens, SBX_JSON_TOKENS);
	text[1] = '[';
	ok_fail(sbx_json_check((struct sbx_str){text, n}, "x", &tokens, err), SBX_E_LIMIT,
		"too many values");
	free(text);
}

TAP_MAIN(RUN(bad), RUN(good), RUN(every_beginning), RUN(depth), RUN(too_many_values))
