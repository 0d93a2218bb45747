#include "lib/json/write.h"

#include "lib/base/buf.h"
#include "lib/json/doc.h"
#include "t/unit/tap.h"

TEST(nested)
{
	struct sbx_buf buf = SBX_BUF_INIT(1000);
	struct sbx_jw jw;

	sbx_jw_init(&jw, &buf);
	sbx_jw_object(&jw);
	sbx_jw_kstr(&jw, "s", "x");
	sbx_jw_kstr(&jw, "none", NULL);
	sbx_jw_key(&jw, "a");
	sbx_jw_array(&jw);
	sbx_jw_u64(&jw, 1);
	sbx_jw_array(&jw);
	sbx_jw_end(&jw);
	sbx_jw_object(&jw);
	sbx_jw_end(&jw);
	sbx_jw_null(&jw);
	sbx_jw_end(&jw);
	sbx_jw_kbool(&jw, "t", true);
	sbx_jw_kbool(&jw, "f", false);
	sbx_jw_knull(&jw, "n");
	sbx_jw_ku64(&jw, "u", UINT64_MAX);
	sbx_jw_key(&jw, "i");
	sbx_jw_i64(&jw, INT64_MIN);
	sbx_jw_key(&jw, "z");
	sbx_jw_i64(&jw, 0);
	sbx_jw_key(&jw, "b");
	sbx_jw_base64(&jw, SBX_STR("\xff\0"));
	sbx_jw_key(&jw, "r");
	sbx_jw_raw(&jw, SBX_STR("[1]"));
	sbx_jw_key(&jw, "q\"");
	sbx_jw_bool(&jw, true);
	sbx_jw_end(&jw);
	ok_call(sbx_jw_done(&jw, err));
	ok_str(buf.p, "{\"s\":\"x\",\"none\":null,\"a\":[1,[],{},null],\"t\":true,\"f\":false,"
		      "\"n\":null,\"u\":18446744073709551615,\"i\":-9223372036854775808,\"z\":0,"
		      "\"b\":\"/wA=\",\"r\":[1],\"q\\\"\":true}");
	sbx_buf_release(&buf);
}

/* Written behind what is there, one value a writer. */
TEST(appends)
{
	struct sbx_buf buf = SBX_BUF_INIT(100);
	struct sbx_jw jw;

	for (unsigned int i = 0; i < 2; i++) {
		sbx_jw_init(&jw, &buf);
		sbx_jw_u64(&jw, i);
		ok_call(sbx_jw_done(&jw, err));
		ok_call(sbx_buf_addc(&buf, '\n', err));
	}
	ok_str(buf.p, "0\n1\n");
	sbx_buf_release(&buf);
}

static void string(struct sbx_str s, const char *want, struct sbx_err *err)
{
	struct sbx_buf buf = SBX_BUF_INIT(1000);
	struct sbx_jw jw;

	sbx_jw_init(&jw, &buf);
	sbx_jw_str(&jw, s);
	ok_call(sbx_jw_done(&jw, err));
	ok_str(buf.p, want);
	sbx_buf_release(&buf);
}

TEST(strings)
{
	string((struct sbx_str){NULL, 0}, "\"\"", err);
	string(SBX_STR("plain / '"), "\"plain / '\"", err);
	string(SBX_STR("\"\\\b\f\n\r\t"), "\"\\\"\\\\\\b\\f\\n\\r\\t\"", err);
	string(SBX_STR("a\0b\x01\x1f\x7f"), "\"a\\u0000b\\u0001\\u001f\\u007f\"", err);
	string(SBX_STR("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaf"),
	       "\"\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaf\"", err);
	string(SBX_STR("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"), "\"\\u0080\\u009b\\u009f\xc2\xa0\"",
	       err);
	string(SBX_STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
	       "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", err);
	string(SBX_STR("a\xff"
		       "b\xe2\x82"),
	       "\"a\\ufffdb\\ufffd\\ufffd\"", err);
}

/* Whatever goes in comes out of the parser again. */
TEST(there_and_back)
{
	struct sbx_buf buf = SBX_BUF_INIT(10000);
	struct sbx_json_doc *doc = NULL;
	struct sbx_jw jw;
	char bytes[128];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	sbx_jw_init(&jw, &buf);
	sbx_jw_str(&jw, (struct sbx_str){bytes, sizeof(bytes)});
	ok_call(sbx_jw_done(&jw, err));
	if (ok_call(sbx_json_parse((struct sbx_str){buf.p, buf.len}, "x", &doc, err))) {
		struct sbx_str s = sbx_json_string(sbx_json_root(doc));

		ok_mem(s.p, s.n, bytes, sizeof(bytes));
	}
	sbx_json_free(doc);
	sbx_buf_release(&buf);
}

/* Every ceiling: the text is whole or the writer says that it is not. */
TEST(ceiling)
{
	static const char want[] = "{\"k\":[1,\"a\\nb\",\"YQ==\"]}";

	for (size_t max = 0; max <= sizeof(want); max++) {
		struct sbx_buf buf = SBX_BUF_INIT(max);
		struct sbx_jw jw;

		sbx_jw_init(&jw, &buf);
		sbx_jw_object(&jw);
		sbx_jw_key(&jw, "k");
		sbx_jw_array(&jw);
		sbx_jw_u64(&jw, 1);
		sbx_jw_cstr(&jw, "a\nb");
		sbx_jw_base64(&jw, SBX_STR("a"));
		sbx_jw_end(&jw);
		sbx_jw_end(&jw);
		if (max < sizeof(want) - 1) {
			ok_fail(sbx_jw_done(&jw, err), SBX_E_LIMIT, "JSON text of more than");
		} else {
			ok_call(sbx_jw_done(&jw, err));
			ok_str(buf.p, want);
		}
		sbx_buf_release(&buf);
	}
}

TAP_MAIN(RUN(nested), RUN(appends), RUN(strings), RUN(there_and_back), RUN(ceiling))
