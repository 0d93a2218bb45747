/* The program's bytes as events: whatever is cut wherever, the same bytes come, and text is text. */
#include <stdlib.h>

#include "lib/base/buf.h"
#include "lib/base/utf8.h"
#include "lib/sandbox/live.h"
#include "t/unit/tap.h"

/* What came: the bytes themselves, and a picture of the events, text in quotes and data as its length in angles. */
struct record {
	struct sbx_sink sink;
	struct sbx_buf bytes[2], picture;
	size_t events;
};

static int put(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err)
{
	struct record *r = (struct record *)sink;
	struct sbx_str s = ev->output.bytes;
	int stream = ev->type == SBX_EV_STDERR;

	ok(ev->type == SBX_EV_STDOUT || ev->type == SBX_EV_STDERR);
	ok(s.n > 0);
	ok(!ev->output.text || sbx_utf8_valid(s.p, s.n));
	r->events++;
	if (sbx_buf_add(&r->bytes[stream], s.p, s.n, err) != 0)
		return -1;
	if (!ev->output.text)
		return sbx_buf_addf(&r->picture, err, "<%zu>", s.n);
	return sbx_buf_addf(&r->picture, err, "'%.*s'", (int)s.n, s.p);
}

static const struct sbx_sink_ops ops = {.put = put};

static void set_up(struct record *r, struct sbx_live *live)
{
	*r = (struct record){.sink.ops = &ops,
			     .bytes = {{.max = 1 << 24}, {.max = 1 << 24}},
			     .picture.max = 1 << 24};
	*live = (struct sbx_live){.em = {.sink = &r->sink, .id = "r"}};
}

static void tear_down(struct record *r)
{
	sbx_buf_release(&r->bytes[0]);
	sbx_buf_release(&r->bytes[1]);
	sbx_buf_release(&r->picture);
}

/* The picture of a stream that comes in these pieces. */
static void pieces(const char *const *piece, size_t n, const char *want, struct sbx_err *err)
{
	struct record r;
	struct sbx_live live;

	set_up(&r, &live);
	for (size_t i = 0; i < n; i++)
		ok_call(sbx_live_output(&live, 1, sbx_str_of(piece[i]), false, err));
	ok_call(sbx_live_output(&live, 1, SBX_STR(""), true, err));
	ok_str(sbx_buf_str(&r.picture), want);
	tear_down(&r);
}

#define ok_pieces(want, ...)                       \
	pieces((const char *const[]){__VA_ARGS__}, \
	       SBX_ARRAY_SIZE(((const char *[]){__VA_ARGS__})), want, err)

TEST(text)
{
	ok_pieces("", "");
	ok_pieces("'one''two'", "one", "two");
	ok_pieces("'z\u00fc\u20ac\U0001f600'", "z\u00fc\u20ac\U0001f600");
}

TEST(a_character_that_is_cut)
{
	ok_pieces("'a''\u00fc''b'", "a\xc3",
		  "\xbc"
		  "b");
	ok_pieces("'a''\u20ac''b'", "a\xe2", "\x82",
		  "\xac"
		  "b");
	ok_pieces("'a''\u20ac''b'", "a\xe2\x82",
		  "\xac"
		  "b");
	ok_pieces("'a''\U0001f600''b'", "a\xf0", "\x9f", "\x98",
		  "\x80"
		  "b");
	ok_pieces("'a''\U0001f600''b'", "a\xf0\x9f\x98",
		  "\x80"
		  "b");
	/* Nothing finishes it. */
	ok_pieces("'a'<1>", "a\xc3");
	ok_pieces("'a'<3>", "a\xf0\x9f", "\x98");
}

TEST(a_character_that_is_spoiled)
{
	ok_pieces("'a'<1>'b'", "a\xc3", "b");
	/* What spoils one begins the next. */
	ok_pieces("<2>'\u00fc''b'", "\xe2\x82", "\xc3",
		  "\xbc"
		  "b");
	ok_pieces("<2>'\u00fcb'", "\xe2\x82",
		  "\xc3\xbc"
		  "b");
	/* An overlong form, a surrogate, and what is above the last one are known at their second byte. */
	ok_pieces("<1><1>'b'", "\xe0",
		  "\x80"
		  "b");
	ok_pieces("<1><1>'b'", "\xed",
		  "\xa0"
		  "b");
	ok_pieces("<1><1>'b'", "\xf4",
		  "\x90"
		  "b");
}

TEST(data_in_text)
{
	ok_pieces("'caf'<1>'\n'", "caf\xe9\n");
	ok_pieces("'a'<2>'b'", "a\xff\xfe"
			       "b");
	/* Its end is no place to cut a character either. */
	ok_pieces("<1>'\u20ac''x'", "\xff\xe2\x82",
		  "\xac"
		  "x");
}

/* Bytes without any sense come in few events. */
TEST(data)
{
	struct record r;
	struct sbx_live live;
	static char bytes[1 << 20];
	uint64_t state = 1;

	for (size_t i = 0; i < sizeof bytes; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (char)(state >> 56);
	}
	set_up(&r, &live);
	for (size_t at = 0; at < sizeof bytes; at += 1 << 16)
		ok_call(sbx_live_output(&live, 2, (struct sbx_str){bytes + at, 1 << 16}, false,
					err));
	ok_call(sbx_live_output(&live, 2, SBX_STR(""), true, err));
	ok_mem(r.bytes[1].p, r.bytes[1].len, bytes, sizeof bytes);
	ok(r.events < 16 * 8);
	tear_down(&r);
}

/* Once to a stream as it is, then cut at a and b. */
static void all_cuts(struct sbx_str s, struct sbx_err *err)
{
	struct record r;
	struct sbx_live live;

	for (size_t a = 0; a <= s.n; a++) {
		for (size_t b = a; b <= s.n; b++) {
			set_up(&r, &live);
			ok_call(sbx_live_output(&live, 1, (struct sbx_str){s.p, a}, false, err));
			ok_call(sbx_live_output(&live, 1, (struct sbx_str){s.p + a, b - a}, false,
						err));
			ok_call(sbx_live_output(&live, 1, (struct sbx_str){s.p + b, s.n - b}, true,
						err));
			if (!ok_mem(r.bytes[0].p, r.bytes[0].len, s.p, s.n))
				return;
			ok_int(live.tail[0].n, 0);
			tear_down(&r);
		}
	}
}

TEST(cut_anywhere)
{
	static const char mixed[] =
		"a\0b\u00fc\u20ac\U0001f600\xff\xe2\x82"
		"c\xf0\x9f\xe2\x82\xac\xc3\xed\xa0\x80"
		"plain text, long enough that it is told from data by its length, \u00e4 at least"
		"\xf0\x9f\x98\xc0\xaf\n\xe2\x82";

	all_cuts((struct sbx_str){mixed, sizeof mixed - 1}, err);
}

/* Byte by byte no character is ever cut in two, whatever stands around it. */
TEST(byte_by_byte)
{
	static const char mixed[] = "\u00fc\xff\u20ac\xe2\x82\U0001f600\xc3";
	struct record r;
	struct sbx_live live;

	set_up(&r, &live);
	for (size_t i = 0; i < sizeof mixed - 1; i++)
		ok_call(sbx_live_output(&live, 1, (struct sbx_str){mixed + i, 1}, false, err));
	ok_call(sbx_live_output(&live, 1, SBX_STR(""), true, err));
	ok_str(sbx_buf_str(&r.picture), "'\u00fc'<1>'\u20ac'<2>'\U0001f600'<1>");
	tear_down(&r);
}

TEST(streams_apart)
{
	struct record r;
	struct sbx_live live;

	set_up(&r, &live);
	ok_call(sbx_live_output(&live, 1, SBX_STR("\xc3"), false, err));
	ok_call(sbx_live_output(&live, 2, SBX_STR("\xe2\x82"), false, err));
	ok_call(sbx_live_output(&live, 1, SBX_STR("\xbc"), false, err));
	ok_call(sbx_live_output(&live, 2, SBX_STR("\xac"), false, err));
	ok_str(sbx_buf_str(&r.bytes[0]), "\u00fc");
	ok_str(sbx_buf_str(&r.bytes[1]), "\u20ac");
	ok_int(r.events, 2);
	tear_down(&r);
}

TAP_MAIN(RUN(text), RUN(a_character_that_is_cut), RUN(a_character_that_is_spoiled),
	 RUN(data_in_text), RUN(data), RUN(cut_anywhere), RUN(byte_by_byte), RUN(streams_apart))
