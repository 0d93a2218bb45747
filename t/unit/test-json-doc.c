#include "lib/json/doc.h"

#include <stdlib.h>
#include <time.h>

#include "lib/base/buf.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "t/unit/tap.h"

static struct sbx_json_doc *parse(const char *text, struct sbx_err *err)
{
	struct sbx_json_doc *doc = NULL;

	if (!ok_call(sbx_json_parse(sbx_str_of(text), "x", &doc, err)))
		abort();
	return doc;
}

TEST(scalars)
{
	static const struct {
		const char *text;
		enum sbx_json_type type;
	} rows[] = {
		{"1", SBX_JSON_NUMBER},  {" -1.5e3 ", SBX_JSON_NUMBER},
		{"true", SBX_JSON_BOOL}, {"false\n", SBX_JSON_BOOL},
		{"null", SBX_JSON_NULL}, {"\"\"", SBX_JSON_STRING},
		{"[]", SBX_JSON_ARRAY},  {"{}", SBX_JSON_OBJECT},
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++) {
		SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = parse(rows[i].text, err);

		ok_int(sbx_json_type(sbx_json_root(doc)), rows[i].type);
		if (rows[i].type == SBX_JSON_BOOL)
			ok_int(sbx_json_bool(sbx_json_root(doc)), i == 2);
	}
	ok_str(sbx_json_type_name(SBX_JSON_OBJECT), "an object");
	ok_str(sbx_json_type_name(SBX_JSON_STRING), "a string");
	sbx_json_free(NULL);
}

TEST(walk)
{
	SBX_CLEANUP(sbx_json_freep)
	struct sbx_json_doc *doc =
		parse("{\"a\":[1,[2,[]],{\"x\":{}}],\"b\":{},\"c\":\"d\",\"e\":null}", err);
	struct sbx_json root = sbx_json_root(doc), key, value, a;
	struct sbx_json_iter it = sbx_json_iter(root);
	char keys[8] = "";
	int n = 0;

	while (sbx_json_next(&it, &key, &value) && n < 7)
		keys[n++] = sbx_json_string(key).p[0];
	ok_str(keys, "abce");
	ok_int(sbx_json_count(root), 4);
	ok_int(sbx_json_type(value), SBX_JSON_NULL);

	ok(sbx_json_get(root, "a", &a));
	ok_int(sbx_json_count(a), 3);
	it = sbx_json_iter(a);
	ok(sbx_json_next(&it, &key, &value));
	ok(key.token < 0);
	ok_int(sbx_json_type(value), SBX_JSON_NUMBER);
	ok(sbx_json_next(&it, &key, &value));
	ok_int(sbx_json_count(value), 2);
	ok(sbx_json_next(&it, &key, &value));
	ok_int(sbx_json_type(value), SBX_JSON_OBJECT);
	ok_mem(sbx_json_raw(value).p, sbx_json_raw(value).n, "{\"x\":{}}", 8);
	ok(!sbx_json_next(&it, &key, &value));

	ok(!sbx_json_get(root, "x", &a)); /* of an inner object */
	ok(!sbx_json_get(root, "d", &a)); /* a value */
	ok(sbx_json_get(root, "c", &a));
	ok_mem(sbx_json_string(a).p, sbx_json_string(a).n, "d", 1);
	ok_mem(sbx_json_raw(a).p, sbx_json_raw(a).n, "\"d\"", 3);
}

static void string(const char *text, const char *want, size_t want_n, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = parse(text, err);
	struct sbx_str s = sbx_json_string(sbx_json_root(doc)),
		       raw = sbx_json_raw(sbx_json_root(doc));

	ok_mem(s.p, s.n, want, want_n);
	ok_mem(raw.p, raw.n, text, strlen(text));
}

TEST(strings)
{
	string("\"\"", "", 0, err);
	string("\"plain\"", "plain", 5, err);
	string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8, err);
	string("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	       10, err);
	string("\"a\\u0000b\"", "a\0b", 3, err);
	string("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\\ud800\\udc00\\udbff\\udfff\"",
	       "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 19,
	       err);
	string("\"\xe2\x82\xac\\n\"", "\xe2\x82\xac\n", 4, err);
}

TEST(strings_beside_each_other)
{
	SBX_CLEANUP(sbx_json_freep)
	struct sbx_json_doc *doc = parse("{\"\\n\":\"\\t\\t\",\"b\":\"c\",\"d\":\"\\\\x\"}", err);
	struct sbx_json v;

	ok(sbx_json_get(sbx_json_root(doc), "\n", &v));
	ok_mem(sbx_json_string(v).p, sbx_json_string(v).n, "\t\t", 2);
	ok(sbx_json_get(sbx_json_root(doc), "b", &v));
	ok_mem(sbx_json_string(v).p, sbx_json_string(v).n, "c", 1);
	ok(sbx_json_get(sbx_json_root(doc), "d", &v));
	ok_mem(sbx_json_string(v).p, sbx_json_string(v).n, "\\x", 2);
}

TEST(repeated_keys)
{
	struct sbx_json_doc *doc = NULL;

	ok_fail(sbx_json_parse(SBX_STR("{\"a\":1,\n \"b\":2,\"a\":3}"), "f.json", &doc, err),
		SBX_E_INVALID, "f.json: line 2, column 8: key 'a' is there twice");
	ok_fail(sbx_json_parse(SBX_STR("[{\"x\":{\"a\":1,\"\\u0061\":2}}]"), "f", &doc, err),
		SBX_E_INVALID, "key '\\u0061' is there twice");
	ok_fail(sbx_json_parse(SBX_STR("{\"\":1,\"\":2}"), "f", &doc, err), SBX_E_INVALID,
		"key '' is there twice");
	ok_fail(sbx_json_parse(SBX_STR("{\"c\":1,\"b\":1,\"a\":1,\"b\":2,\"a\":3,\"b\":4}"), "f",
			       &doc, err),
		SBX_E_INVALID, "column 20: key 'b' is there twice");
	ok_fail(sbx_json_parse(SBX_STR("{\"a\":1,\"ab\":2,\"a\":3}"), "f", &doc, err),
		SBX_E_INVALID, "key 'a' is there twice");
	ok(!doc);
	sbx_json_free(parse("[{\"a\":1},{\"a\":{\"a\":\"a\"}},\"a\"]", err));
	sbx_json_free(parse("{\"a\":1,\"A\":2,\"a\\u0000\":3,\"aa\":4}", err));
}

TEST(refused)
{
	struct sbx_json_doc *doc = NULL;

	ok_fail(sbx_json_parse(SBX_STR("[1,]"), "job 7", &doc, err), SBX_E_INVALID,
		"job 7: line 1, column 4");
	ok_fail(sbx_json_parse((struct sbx_str){"x", (size_t)SBX_JOB_LINE_MAX + 1}, "job 7", &doc,
			       err),
		SBX_E_LIMIT, "job 7: larger than");
	ok(!doc);
}

/* What would take quadratic time in jsmn without parent links, or with keys compared in pairs. */
TEST(hostile)
{
	struct sbx_buf buf = SBX_BUF_INIT(SBX_DOC_MAX);
	struct sbx_json_doc *doc = NULL;
	clock_t begin = clock();
	int n = 0;

	for (n = 0; n < SBX_JSON_TOKENS / 2 - 1 && buf.len < SBX_DOC_MAX - 64; n++) {
		if (sbx_buf_addf(&buf, err, "%c\"%x\":0", n > 0 ? ',' : '{',
				 (unsigned int)n * 0x9e3779b1U) < 0)
			break;
	}
	ok_call(sbx_buf_addc(&buf, '}', err));
	ok_call(sbx_json_parse((struct sbx_str){buf.p, buf.len}, "keys", &doc, err));
	ok_int(doc ? sbx_json_count(sbx_json_root(doc)) : 0, n);
	sbx_json_freep(&doc);

	sbx_buf_reset(&buf);
	for (n = 0; n < SBX_JSON_TOKENS - 1; n++) {
		if (sbx_buf_adds(&buf, n > 0 ? ",[]" : "[[]", err) < 0)
			break;
	}
	ok_call(sbx_buf_addc(&buf, ']', err));
	ok_call(sbx_json_parse((struct sbx_str){buf.p, buf.len}, "arrays", &doc, err));
	ok_int(doc ? sbx_json_count(sbx_json_root(doc)) : 0, n);
	sbx_json_freep(&doc);
	sbx_buf_release(&buf);
	ok(clock() - begin <
	   20 * CLOCKS_PER_SEC); /* 0.5 s; hours if it were quadratic; sanitizers are slow */
}

TEST(longest_job)
{
	size_t n = SBX_JOB_LINE_MAX;
	SBX_CLEANUP(sbx_freep) char *text = sbx_xcalloc(n, 1);
	struct sbx_json_doc *doc = NULL;
	struct sbx_json v = {.doc = NULL};

	memset(text, 'x', n);
	memcpy(text, "{\"code\":\"\\n", 11);
	memcpy(text + n - 2, "\"}", 2);
	ok_call(sbx_json_parse((struct sbx_str){text, n}, "job", &doc, err));
	if (ok(doc && sbx_json_get(sbx_json_root(doc), "code", &v)))
		ok_int(sbx_json_string(v).n, n - 12);
	sbx_json_free(doc);
}

static void number(const char *text, uint64_t max, const char *words, uint64_t want,
		   struct sbx_err *err)
{
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = parse(text, err);
	uint64_t v = 99;

	if (words)
		ok_fail(sbx_json_u64(sbx_json_root(doc), max, "f: pids", &v, err), SBX_E_INVALID,
			words);
	else
		ok_call(sbx_json_u64(sbx_json_root(doc), max, "f: pids", &v, err));
	ok_int(v, words ? 99 : want);
}

TEST(numbers)
{
	number("0", 10, NULL, 0, err);
	number("10", 10, NULL, 10, err);
	number("18446744073709551615", UINT64_MAX, NULL, UINT64_MAX, err);
	number("11", 10, "f: pids: must be a whole number up to 10, not 11", 0, err);
	number("18446744073709551616", UINT64_MAX, "must be a whole number", 0, err);
	number("-1", 10, "must be a whole number up to 10, not -1", 0, err);
	number("-0", 10, "must be a whole number", 0, err);
	number("1.0", 10, "must be a whole number", 0, err);
	number("1e1", 10, "must be a whole number", 0, err);
	number("\"1\"", 10, "f: pids: must be a number, not a string", 0, err);
	number("null", 10, "must be a number, not null", 0, err);
	number("{}", 10, "must be a number, not an object", 0, err);
}

TAP_MAIN(RUN(scalars), RUN(walk), RUN(strings), RUN(strings_beside_each_other), RUN(repeated_keys),
	 RUN(refused), RUN(hostile), RUN(longest_job), RUN(numbers))
