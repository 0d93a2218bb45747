#include "lib/guest/wire.h"

#include <stdlib.h>

#include "lib/base/attr.h"
#include "t/unit/tap.h"

TEST(header)
{
	const struct sbx_frame f = {.type = SBX_WIRE_DATA, .stream = 2, .req = 0x01020304, .n = 3};
	uint8_t bytes[SBX_WIRE_HEADER + 4] = {0};
	struct sbx_frame got = {0};

	sbx_wire_header(bytes, &f);
	ok_mem(bytes, SBX_WIRE_HEADER, "\3\0\0\0\x20\2\0\0\4\3\2\1", 12);
	memcpy(bytes + SBX_WIRE_HEADER, "abcd", 4);
	for (size_t n = 0; n < SBX_WIRE_HEADER + 3; n++)
		ok_int(sbx_wire_parse(bytes, n, &got), 0);
	ok_int(sbx_wire_parse(bytes, sizeof bytes, &got), SBX_WIRE_HEADER + 3);
	ok_int(got.type, SBX_WIRE_DATA);
	ok_int(got.stream, 2);
	ok_int(got.req, 0x01020304);
	ok_mem(got.p, got.n, "abc", 3);
}

/* Known as soon as the header is there: a peer that announces too much is not waited for. */
TEST(impossible_headers)
{
	static const struct {
		const char *bytes;
		long want;
	} rows[] = {
		{"\0\x10\2\0\1\0\0\0\0\0\0\0", 0}, /* 132 KiB to come */
		{"\1\x10\2\0\1\0\0\0\0\0\0\0", -1}, {"\0\0\0\x80\1\0\0\0\0\0\0\0", -1},
		{"\0\0\0\0\1\3\0\0\0\0\0\0", 12},   {"\0\0\0\0\1\4\0\0\0\0\0\0", -1},
		{"\0\0\0\0\1\0\1\0\0\0\0\0", -1},   {"\0\0\0\0\1\0\0\1\0\0\0\0", -1},
	};
	struct sbx_frame f;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++)
		ok_int(sbx_wire_parse((const uint8_t *)rows[i].bytes, SBX_WIRE_HEADER, &f),
		       rows[i].want);
}

TEST(numbers)
{
	uint8_t bytes[13], one = 1;
	uint32_t four = 0x04030201;
	uint64_t eight = 0x0807060504030201;
	struct sbx_coder c = sbx_encoder(bytes, sizeof bytes);

	sbx_code_u8(&c, &one);
	sbx_code_u32(&c, &four);
	sbx_code_u64(&c, &eight);
	ok(sbx_coder_ok(&c));
	ok_mem(bytes, c.at, "\1\1\2\3\4\1\2\3\4\5\6\7\10", 13);
	sbx_code_u8(&c, &one);
	ok(!sbx_coder_ok(&c));
	one = 0;
	four = 0;
	eight = 0;
	c = sbx_decoder(bytes, sizeof bytes);
	sbx_code_u8(&c, &one);
	sbx_code_u32(&c, &four);
	ok(!sbx_coder_ok(&c)); /* something is left */
	sbx_code_u64(&c, &eight);
	ok(sbx_coder_ok(&c));
	ok_int(one, 1);
	ok_int(four, 0x04030201);
	ok_int(eight, 0x0807060504030201);
	sbx_code_u32(&c, &four);
	ok(!sbx_coder_ok(&c));
	ok_int(four, 0);
}

static bool takes_string(const char *bytes, size_t n, const char *want)
{
	struct sbx_coder c = sbx_decoder((const uint8_t *)bytes, n);
	const char *s = NULL;
	bool taken;

	sbx_code_str(&c, &s);
	taken = sbx_coder_ok(&c);
	return ok_str(s, want) && taken;
}

TEST(strings)
{
	ok(takes_string("\0\0\0\0", 5, ""));
	ok(takes_string("\2\0\0\0a\xff", 7, "a\xff"));
	/* Not there to its end, not terminated, with a NUL inside, with more behind it. */
	for (size_t n = 0; n < 7; n++)
		ok(!takes_string("\2\0\0\0ab", n, ""));
	ok(!takes_string("\2\0\0\0abc", 7, ""));
	ok(!takes_string("\2\0\0\0a\0", 7, ""));
	ok(!takes_string("\2\0\0\0ab", 8, "ab"));
	ok(!takes_string("\377\377\377\377ab", 8, ""));
	ok(!takes_string("\0\x10\2\0ab", 8, ""));
}

TEST(string_that_does_not_fit)
{
	static uint8_t bytes[SBX_WIRE_PAYLOAD_MAX];
	static char text[SBX_WIRE_PAYLOAD_MAX];
	const char *s = text;
	struct sbx_coder c;

	memset(text, 'x', sizeof text - 5);
	c = sbx_encoder(bytes, sizeof bytes);
	sbx_code_str(&c, &s);
	ok(sbx_coder_ok(&c));
	ok_int(c.at, sizeof bytes);
	text[sizeof text - 5] = 'x';
	c = sbx_encoder(bytes, sizeof bytes);
	sbx_code_str(&c, &s);
	ok(!sbx_coder_ok(&c));
}

static size_t encode_get(uint8_t *bytes, size_t cap, uint32_t n_globs)
{
	struct sbx_wire_get m = {
		.max_files = 1, .max_depth = 2, .max_bytes = 3, .n_globs = n_globs};
	struct sbx_coder c = sbx_encoder(bytes, cap);

	for (uint32_t i = 0; i < SBX_WIRE_LIST_MAX; i++)
		m.globs[i] = "*";
	sbx_code_get(&c, &m);
	return sbx_coder_ok(&c) ? c.at : 0;
}

TEST(lists)
{
	uint8_t bytes[1024];
	struct sbx_wire_get m;
	size_t n = encode_get(bytes, sizeof bytes, SBX_WIRE_LIST_MAX);
	struct sbx_coder c = sbx_decoder(bytes, n);

	ok_int(n, 4 + 4 + 8 + 4 + 64 * 6);
	sbx_code_get(&c, &m);
	ok(sbx_coder_ok(&c));
	ok_int(m.n_globs, 64);
	ok_str(m.globs[63], "*");
	ok_int(encode_get(bytes, sizeof bytes, SBX_WIRE_LIST_MAX + 1), 0);
	ok_int(encode_get(bytes, 100, 40), 0);
	/* One that says it has more than there may be holds nothing. */
	bytes[16] = 65;
	c = sbx_decoder(bytes, n);
	sbx_code_get(&c, &m);
	ok(!sbx_coder_ok(&c));
	ok_int(m.n_globs, 0);
}

TEST(a_message_cut_anywhere)
{
	struct sbx_wire_end m = {
		.how = SBX_WIRE_EXITED, .code = 7, .step = "step", .bytes = {1, 2}};
	uint8_t bytes[256];
	struct sbx_coder c = sbx_encoder(bytes, sizeof bytes);
	size_t n;

	sbx_code_end(&c, &m);
	n = c.at;
	for (size_t cut = 0; cut <= n + 1; cut++) {
		uint8_t *exact = malloc(cut ? cut : 1);

		if (!ok(exact != NULL))
			return;
		memcpy(exact, bytes, cut);
		c = sbx_decoder(exact, cut);
		sbx_code_end(&c, &m);
		ok(sbx_coder_ok(&c) == (cut == n));
		ok_str(m.step, cut >= 18 ? "step" : "");
		free(exact);
	}
	ok_int(m.bytes[1], 2);
}

TEST(facts)
{
	struct sbx_facts m, got;
	uint8_t bytes[512], again[512];
	struct sbx_coder c = sbx_encoder(bytes, sizeof bytes);
	size_t n;

	memset(&m, 0x5a, sizeof m);
	memset(&got, 0, sizeof got);
	sbx_code_facts(&c, &m);
	n = c.at;
	ok_int(n, 10 * 8 + 13 * 4);
	c = sbx_decoder(bytes, n);
	sbx_code_facts(&c, &got);
	ok(sbx_coder_ok(&c));
	c = sbx_encoder(again, sizeof again);
	sbx_code_facts(&c, &got);
	ok_mem(again, c.at, bytes, n);
	ok_int(got.root_readonly, 0x5a5a5a5a);
}

TAP_MAIN(RUN(header), RUN(impossible_headers), RUN(numbers), RUN(strings),
	 RUN(string_that_does_not_fit), RUN(lists), RUN(a_message_cut_anywhere), RUN(facts))
