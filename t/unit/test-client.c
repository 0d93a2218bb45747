/* The client with a guest that is made up: a stream that yields what the test wrote, and keeps what the client sent. */
#include "lib/guest/client.h"

#include <poll.h>
#include <stdlib.h>

#include "guest-digest.h"
#include "lib/base/buf.h"
#include "lib/base/strv.h"
#include "t/unit/tap.h"

struct fake {
	struct sbx_stream st;
	struct sbx_buf in, out;
	size_t in_at, read_at_most;
	size_t room; /* for writing */
	bool ended, broken;
};

static ssize_t fake_read(struct sbx_stream *st, void *buf, size_t len,
			 struct sbx_err *err SBX_UNUSED)
{
	struct fake *f = (struct fake *)st;
	size_t left = f->in.len - f->in_at;

	if (left == 0)
		return f->ended ? 0 : SBX_STREAM_AGAIN;
	len = len < left ? len : left;
	len = f->read_at_most && len > f->read_at_most ? f->read_at_most : len;
	memcpy(buf, f->in.p + f->in_at, len);
	f->in_at += len;
	return (ssize_t)len;
}

static ssize_t fake_write(struct sbx_stream *st, const void *buf, size_t len, struct sbx_err *err)
{
	struct fake *f = (struct fake *)st;

	if (f->broken)
		return sbx_fail(err, SBX_E_LOST, "gone");
	if (f->room == 0)
		return SBX_STREAM_AGAIN;
	len = len < f->room ? len : f->room;
	f->room -= len;
	if (sbx_buf_add(&f->out, buf, len, err) != 0)
		return -1;
	return (ssize_t)len;
}

static void fake_free(struct sbx_stream *st SBX_UNUSED)
{
}

static const struct sbx_stream_ops fake_ops = {fake_read, fake_write, fake_free};

/* ---- what the guest sends */

static void frame(struct fake *f, uint8_t type, uint8_t stream, uint32_t req, const void *p,
		  size_t n)
{
	struct sbx_err err = SBX_ERR_INIT;
	struct sbx_frame head = {.type = type, .stream = stream, .req = req, .n = (uint32_t)n};
	uint8_t header[SBX_WIRE_HEADER];

	sbx_wire_header(header, &head);
	if (sbx_buf_add(&f->in, header, sizeof header, &err) != 0 ||
	    sbx_buf_add(&f->in, p, n, &err) != 0)
		abort();
}

static void frame_u32(struct fake *f, uint8_t type, uint8_t stream, uint32_t req, uint32_t v)
{
	uint8_t p[4];
	struct sbx_coder c = sbx_encoder(p, sizeof p);

	sbx_code_u32(&c, &v);
	frame(f, type, stream, req, p, sizeof p);
}

static void hello(struct fake *f, uint32_t version, const char *digest)
{
	uint8_t p[256];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_wire_hello m = {.version = version, .digest = digest};

	sbx_code_hello(&c, &m);
	frame(f, SBX_WIRE_HELLO, 0, 0, p, c.at);
}

static void confined(struct fake *f, uint32_t req)
{
	uint8_t p[256];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_facts m = {.euid = 65532};

	sbx_code_facts(&c, &m);
	frame(f, SBX_WIRE_CONFINED, 0, req, p, c.at);
}

static void limit(struct fake *f, uint32_t req, uint8_t stream)
{
	uint8_t p[16];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_wire_limit m = {.stream = stream, .value = 9};

	sbx_code_limit(&c, &m);
	frame(f, SBX_WIRE_LIMIT, 0, req, p, c.at);
}

static void entry(struct fake *f, uint32_t req, uint8_t kind)
{
	uint8_t p[64];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_wire_entry m = {.kind = kind, .path = "p"};

	sbx_code_entry(&c, &m);
	frame(f, SBX_WIRE_ENTRY, 0, req, p, c.at);
}

static void done(struct fake *f, uint32_t req)
{
	uint8_t p[64];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_wire_done m = {.what = ""};

	sbx_code_done(&c, &m);
	frame(f, SBX_WIRE_DONE, 0, req, p, c.at);
}

static void end(struct fake *f, uint32_t req, uint8_t how, uint32_t code)
{
	uint8_t p[256];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_wire_end m = {.how = how, .code = code, .step = ""};

	sbx_code_end(&c, &m);
	frame(f, SBX_WIRE_END, 0, req, p, c.at);
}

/* ---- what the host hears: a word a call */

struct heard {
	struct sbx_buf words;
	struct sbx_client *client;
	bool fails, goes_on;
};

static int say(struct heard *h, const char *word, struct sbx_err *err)
{
	if (h->fails)
		return sbx_fail(err, SBX_E_OUTPUT, "the handler failed");
	return sbx_buf_addf(&h->words, err, "%s ", word);
}

static int on_confined(void *ctx, const struct sbx_facts *facts, struct sbx_err *err)
{
	return say(ctx, facts->euid == 65532 ? "confined" : "?", err);
}

static int on_started(void *ctx, struct sbx_err *err)
{
	return say(ctx, "started", err);
}

static int on_data(void *ctx, unsigned int stream, struct sbx_str s, struct sbx_err *err)
{
	char word[64];

	(void)snprintf(word, sizeof word, "data%u:%zu", stream, s.n);
	return say(ctx, word, err);
}

static int on_eof(void *ctx, unsigned int stream, uint32_t sys, struct sbx_err *err)
{
	char word[64];

	(void)snprintf(word, sizeof word, "eof%u:%u", stream, sys);
	return say(ctx, word, err);
}

static int on_limit(void *ctx, const struct sbx_wire_limit *m, struct sbx_err *err)
{
	return say(ctx, m->value == 9 ? "limit" : "?", err);
}

static int on_entry(void *ctx, const struct sbx_wire_entry *m, struct sbx_err *err)
{
	return say(ctx, m->path, err);
}

static const struct sbx_call_ops prog_ops, get_ops;

static int on_done(void *ctx, const struct sbx_wire_done *m SBX_UNUSED, struct sbx_err *err)
{
	struct heard *h = ctx;
	uint32_t req;

	if (h->goes_on && sbx_client_request(h->client, &get_ops, h, &req, err) != 0)
		return -1;
	return say(h, "done", err);
}

static int on_end(void *ctx, const struct sbx_wire_end *m, struct sbx_err *err)
{
	return say(ctx, m->how == SBX_WIRE_EXITED ? "exited" : "ended", err);
}

static const struct sbx_call_ops prog_ops = {.confined = on_confined,
					     .started = on_started,
					     .data = on_data,
					     .eof = on_eof,
					     .limit = on_limit,
					     .end = on_end};
static const struct sbx_call_ops get_ops = {
	.entry = on_entry, .data = on_data, .eof = on_eof, .done = on_done};

/* ---- set up: request 1 is a program, 2 a GET */

struct both {
	struct fake fake;
	struct heard heard;
	struct sbx_client *client;
};

static void set_up(struct both *b, struct sbx_err *err)
{
	struct sbx_wire_setup setup = {.workdir = "/w"};
	uint32_t req;

	*b = (struct both){.fake = {.st = {.ops = &fake_ops, .fd = -1},
				    .in.max = 64 << 20,
				    .out.max = 64 << 20,
				    .room = SIZE_MAX},
			   .heard.words.max = 1 << 20};
	ok_call(sbx_client_open(&b->fake.st, &setup, &b->client, err));
	b->heard.client = b->client;
	ok_call(sbx_client_request(b->client, &prog_ops, &b->heard, &req, err));
	ok_int(req, 1);
	ok_call(sbx_client_request(b->client, &get_ops, &b->heard, &req, err));
	ok_int(req, 2);
}

static void greeted(struct both *b, struct sbx_err *err)
{
	set_up(b, err);
	hello(&b->fake, SBX_WIRE_VERSION, SBX_GUEST_DIGEST);
	ok_call(sbx_client_pump(b->client, err));
	ok(sbx_client_greeted(b->client));
	sbx_buf_reset(&b->fake.out);
}

static void started(struct both *b, struct sbx_err *err)
{
	greeted(b, err);
	confined(&b->fake, 1);
	frame(&b->fake, SBX_WIRE_STARTED, 0, 1, "", 0);
	ok_call(sbx_client_pump(b->client, err));
	ok_str(sbx_buf_str(&b->heard.words), "confined started ");
	sbx_buf_reset(&b->heard.words);
}

static void tear_down(struct both *b)
{
	sbx_client_free(b->client);
	sbx_buf_release(&b->fake.in);
	sbx_buf_release(&b->fake.out);
	sbx_buf_release(&b->heard.words);
}

static void breaks(struct both *b, const char *words, struct sbx_err *err)
{
	ok_fail(sbx_client_pump(b->client, err), SBX_E_BACKEND, words);
	tear_down(b);
}

/* ---- */

TEST(greeting)
{
	struct both b;

	greeted(&b, err);
	tear_down(&b);
	set_up(&b, err);
	hello(&b.fake, SBX_WIRE_VERSION + 1, SBX_GUEST_DIGEST);
	breaks(&b, "create it anew", err);
	set_up(&b, err);
	hello(&b.fake, SBX_WIRE_VERSION, "of another build");
	breaks(&b, "create it anew", err);
	set_up(&b, err);
	confined(&b.fake, 1);
	breaks(&b, "no greeting", err);
	greeted(&b, err);
	hello(&b.fake, SBX_WIRE_VERSION, SBX_GUEST_DIGEST);
	breaks(&b, "its greeting", err);
}

TEST(a_run)
{
	struct both b;

	greeted(&b, err);
	b.fake.read_at_most = 1; /* frames are put together from any pieces */
	confined(&b.fake, 1);
	frame(&b.fake, SBX_WIRE_STARTED, 0, 1, "", 0);
	frame(&b.fake, SBX_WIRE_DATA, 1, 1, "abc", 3);
	frame(&b.fake, SBX_WIRE_DATA, 2, 1, "de", 2);
	limit(&b.fake, 1, 1);
	limit(&b.fake, 1, 2);
	frame_u32(&b.fake, SBX_WIRE_EOF, 0, 1, 0);
	end(&b.fake, 1, SBX_WIRE_EXITED, 255);
	/* Crossed with its end. */
	frame(&b.fake, SBX_WIRE_DATA, 1, 1, "abc", 3);
	for (int i = 0; i < 20; i++)
		ok_call(sbx_client_pump(b.client, err));
	ok_str(sbx_buf_str(&b.heard.words),
	       "confined started data1:3 data2:2 limit limit eof0:0 exited ");
	ok_int(sbx_client_room(b.client, 1), 0);
	tear_down(&b);
}

TEST(files)
{
	struct both b;

	greeted(&b, err);
	b.heard.goes_on = true;
	entry(&b.fake, 2, SBX_WIRE_KIND_FILE);
	frame(&b.fake, SBX_WIRE_DATA, 1, 2, "abc", 3);
	frame_u32(&b.fake, SBX_WIRE_EOF, 1, 2, 5);
	done(&b.fake, 2);
	entry(&b.fake, 3, SBX_WIRE_KIND_UNREADABLE); /* of the request that done began */
	ok_call(sbx_client_pump(b.client, err));
	ok_str(sbx_buf_str(&b.heard.words), "p data1:3 eof1:5 done p ");
	tear_down(&b);
}

TEST(out_of_order)
{
	struct both b;

	greeted(&b, err);
	frame(&b.fake, SBX_WIRE_STARTED, 0, 1, "", 0);
	breaks(&b, "a start", err);
	greeted(&b, err);
	frame(&b.fake, SBX_WIRE_DATA, 1, 1, "x", 1);
	breaks(&b, "does not run", err);
	greeted(&b, err);
	limit(&b.fake, 1, 1);
	breaks(&b, "a limit", err);
	started(&b, err);
	confined(&b.fake, 1);
	breaks(&b, "its measurements", err);
	started(&b, err);
	frame(&b.fake, SBX_WIRE_STARTED, 0, 1, "", 0);
	breaks(&b, "a start", err);
	started(&b, err);
	limit(&b.fake, 1, 2);
	limit(&b.fake, 1, 2);
	breaks(&b, "a limit", err);
}

TEST(not_of_this_request)
{
	struct both b;

	greeted(&b, err);
	confined(&b.fake, 2);
	breaks(&b, "its measurements", err);
	greeted(&b, err);
	frame(&b.fake, SBX_WIRE_STARTED, 0, 2, "", 0);
	breaks(&b, "a start", err);
	greeted(&b, err);
	entry(&b.fake, 1, SBX_WIRE_KIND_FILE);
	breaks(&b, "an entry", err);
	greeted(&b, err);
	done(&b.fake, 1);
	breaks(&b, "a result", err);
	greeted(&b, err);
	end(&b.fake, 2, SBX_WIRE_EXITED, 0);
	breaks(&b, "an end", err);
	greeted(&b, err);
	done(&b.fake, 3);
	breaks(&b, "nobody asked for", err);
	greeted(&b, err);
	done(&b.fake, 0);
	breaks(&b, "nobody asked for", err);
}

TEST(broken_messages)
{
	static const uint8_t host_only[] = {
		SBX_WIRE_SETUP, SBX_WIRE_SPAWN, SBX_WIRE_GET, 0, 99, 255};
	struct both b;

	for (size_t i = 0; i < sizeof host_only; i++) {
		greeted(&b, err);
		frame(&b.fake, host_only[i], 0, 1, "", 0);
		breaks(&b, "an unknown frame", err);
	}
	greeted(&b, err);
	frame(&b.fake, SBX_WIRE_DATA, 9, 1, "x", 1);
	breaks(&b, "cannot be", err);
	started(&b, err);
	limit(&b.fake, 1, 0);
	breaks(&b, "a limit", err);
	started(&b, err);
	end(&b.fake, 1, 0, 0);
	breaks(&b, "an end", err);
	started(&b, err);
	end(&b.fake, 1, SBX_WIRE_FAILED + 1, 0);
	breaks(&b, "an end", err);
	started(&b, err);
	end(&b.fake, 1, SBX_WIRE_EXITED, 256);
	breaks(&b, "an end", err);
	greeted(&b, err);
	entry(&b.fake, 2, 0);
	breaks(&b, "an entry", err);
	greeted(&b, err);
	entry(&b.fake, 2, SBX_WIRE_KIND_UNREADABLE + 1);
	breaks(&b, "an entry", err);
	greeted(&b, err);
	frame(&b.fake, SBX_WIRE_EOF, 1, 2, "abc", 3);
	breaks(&b, "an end of file", err);
}

TEST(credit_that_comes_in)
{
	static const char data[SBX_WIRE_DATA_MAX + 1];
	struct both b;

	/* Exactly a window. */
	started(&b, err);
	for (int i = 0; i < SBX_WIRE_WINDOW / SBX_WIRE_DATA_MAX; i++)
		frame(&b.fake, SBX_WIRE_DATA, 1, 1, data, SBX_WIRE_DATA_MAX);
	frame(&b.fake, SBX_WIRE_DATA, 2, 1, data, 1);
	ok_call(sbx_client_pump(b.client, err));
	frame(&b.fake, SBX_WIRE_DATA, 1, 1, data, 1);
	breaks(&b, "more data", err);
	started(&b, err);
	frame(&b.fake, SBX_WIRE_DATA, 1, 1, data, SBX_WIRE_DATA_MAX + 1);
	breaks(&b, "more data", err);
	started(&b, err);
	frame(&b.fake, SBX_WIRE_DATA, 1, 1, data, 0);
	breaks(&b, "more data", err);
	started(&b, err);
	frame(&b.fake, SBX_WIRE_DATA, 0, 1, data, 1);
	breaks(&b, "more data", err);
	/* What is dealt with may come again; small amounts are saved up. */
	started(&b, err);
	for (int i = 0; i < SBX_WIRE_WINDOW / SBX_WIRE_DATA_MAX; i++)
		frame(&b.fake, SBX_WIRE_DATA, 1, 1, data, SBX_WIRE_DATA_MAX);
	ok_call(sbx_client_pump(b.client, err));
	ok_call(sbx_client_credit(b.client, 1, 1, 65535, err));
	ok_call(sbx_client_pump(b.client, err));
	ok_int(b.fake.out.len, 0);
	ok_call(sbx_client_credit(b.client, 1, 1, 2, err));
	ok_call(sbx_client_pump(b.client, err));
	ok_mem(b.fake.out.p, b.fake.out.len, "\4\0\0\0\x22\1\0\0\1\0\0\0\1\0\1\0", 16);
	frame(&b.fake, SBX_WIRE_DATA, 1, 1, data, SBX_WIRE_DATA_MAX);
	frame(&b.fake, SBX_WIRE_DATA, 1, 1, data, 1);
	ok_call(sbx_client_pump(b.client, err));
	frame(&b.fake, SBX_WIRE_DATA, 1, 1, data, 1);
	breaks(&b, "more data", err);
}

TEST(credit_that_goes_out)
{
	static char data[SBX_WIRE_WINDOW];
	struct both b;

	greeted(&b, err);
	ok_int(sbx_client_room(b.client, 1), SBX_WIRE_WINDOW);
	ok_call(sbx_client_data(b.client, 1, (struct sbx_str){data, sizeof data - 1}, err));
	ok_int(sbx_client_room(b.client, 1), 1);
	frame_u32(&b.fake, SBX_WIRE_CREDIT, 0, 1, 99);
	ok_call(sbx_client_pump(b.client, err));
	ok_int(sbx_client_room(b.client, 1), 100);
	ok_int(b.fake.out.len, sizeof data - 1 + 8 * SBX_WIRE_HEADER);
	frame_u32(&b.fake, SBX_WIRE_EOF, 0, 1, 0); /* the program wants no more */
	ok_call(sbx_client_pump(b.client, err));
	ok_int(sbx_client_room(b.client, 1), 0);
	ok_int(sbx_client_room(b.client, 7), 0);
	frame_u32(&b.fake, SBX_WIRE_CREDIT, 0, 1, SBX_WIRE_WINDOW - 100 + 1);
	breaks(&b, "more credit", err);
	greeted(&b, err);
	frame_u32(&b.fake, SBX_WIRE_CREDIT, 1, 1, 0);
	breaks(&b, "more credit", err);
}

/* Hours of stdin through a queue that is never empty. */
TEST(queue_does_not_grow)
{
	static char data[SBX_WIRE_DATA_MAX];
	struct both b;
	size_t sent = 0;

	greeted(&b, err);
	b.fake.room = 0;
	ok_call(sbx_client_data(b.client, 1, (struct sbx_str){data, sizeof data}, err));
	for (int i = 0; i < 1000; i++) {
		ok_call(sbx_client_data(b.client, 1, (struct sbx_str){data, sizeof data}, err));
		b.fake.room = sizeof data + SBX_WIRE_HEADER;
		frame_u32(&b.fake, SBX_WIRE_CREDIT, 0, 1, sizeof data);
		ok_call(sbx_client_pump(b.client, err));
		sent += b.fake.out.len;
		sbx_buf_reset(&b.fake.out);
		ok_int(sbx_client_events(b.client), POLLIN | POLLOUT);
	}
	ok_int(sent, 1000 * (sizeof data + SBX_WIRE_HEADER));
	tear_down(&b);
}

TEST(strings_in_frames)
{
	struct sbx_strv argv = {0}, env = {0};
	struct sbx_wire_spawn m = {.cwd = "/"};
	struct both b;
	static char big[140 << 10];
	struct sbx_frame f;
	size_t at = 0;

	greeted(&b, err);
	memset(big, 'x', 100 << 10);
	ok_call(sbx_strv_add(&argv, "one", err));
	ok_call(sbx_strv_add(&argv, big, err));
	ok_call(sbx_strv_add(&argv, big, err));
	ok_call(sbx_client_spawn(b.client, 1, &m, &argv, &env, err));
	ok_call(sbx_client_pump(b.client, err));
	for (int i = 0; i < 3; i++) {
		long n =
			sbx_wire_parse((const uint8_t *)b.fake.out.p + at, b.fake.out.len - at, &f);

		ok_int(f.type, i == 2 ? SBX_WIRE_SPAWN : SBX_WIRE_ARGV);
		ok_int(f.n, i == 0 ? 8 + 5 + (100 << 10) : i == 1 ? 5 + (100 << 10) : 50);
		at += n > 0 ? (size_t)n : 0;
	}
	ok_int(at, b.fake.out.len);
	memset(big, 'x', sizeof big - 1);
	ok_call(sbx_strv_add(&env, big, err));
	ok_fail(sbx_client_spawn(b.client, 1, &m, &argv, &env, err), SBX_E_LIMIT,
		"environment variable 0 is longer");
	ok_fail(sbx_client_put(b.client, 1, big, 0, err), SBX_E_LIMIT, "too long");
	sbx_strv_release(&argv);
	sbx_strv_release(&env);
	tear_down(&b);
}

TEST(requests)
{
	struct both b;
	uint32_t req = 0;

	greeted(&b, err);
	for (uint32_t i = 3; i <= 16; i++)
		ok_call(sbx_client_request(b.client, &get_ops, &b.heard, &req, err));
	ok_int(req, 16);
	ok_fail(sbx_client_request(b.client, &get_ops, &b.heard, &req, err), SBX_E_LIMIT,
		"at once");
	done(&b.fake, 5);
	ok_call(sbx_client_pump(b.client, err));
	ok_call(sbx_client_request(b.client, &get_ops, &b.heard, &req, err));
	ok_int(req, 17);
	tear_down(&b);
}

/* An END that came is the result, whatever became of the guest since. */
TEST(ends)
{
	struct both b;

	started(&b, err);
	b.fake.ended = true;
	ok_fail(sbx_client_pump(b.client, err), SBX_E_LOST, "ended unexpectedly");
	tear_down(&b);
	started(&b, err);
	end(&b.fake, 1, SBX_WIRE_EXITED, 0);
	b.fake.ended = true;
	ok_call(sbx_client_pump(b.client, err));
	ok_str(sbx_buf_str(&b.heard.words), "exited ");
	ok_fail(sbx_client_pump(b.client, err), SBX_E_LOST, "ended unexpectedly");
	tear_down(&b);
	started(&b, err);
	end(&b.fake, 1, SBX_WIRE_EXITED, 0);
	b.fake.ended = b.fake.broken = true;
	ok_call(sbx_client_go(b.client, 1, err));
	ok_call(sbx_client_pump(b.client, err));
	ok_str(sbx_buf_str(&b.heard.words), "exited ");
	ok_fail(sbx_client_pump(b.client, err), SBX_E_LOST, "");
	tear_down(&b);
	started(&b, err);
	b.fake.broken = true;
	ok_call(sbx_client_go(b.client, 1, err));
	ok_fail(sbx_client_pump(b.client, err), SBX_E_LOST, "gone");
	tear_down(&b);
}

TEST(handler_fails)
{
	struct both b;

	started(&b, err);
	b.heard.fails = true;
	frame(&b.fake, SBX_WIRE_DATA, 1, 1, "x", 1);
	ok_fail(sbx_client_pump(b.client, err), SBX_E_OUTPUT, "the handler failed");
	tear_down(&b);
}

TAP_MAIN(RUN(greeting), RUN(a_run), RUN(files), RUN(out_of_order), RUN(not_of_this_request),
	 RUN(broken_messages), RUN(credit_that_comes_in), RUN(credit_that_goes_out),
	 RUN(queue_does_not_grow), RUN(strings_in_frames), RUN(requests), RUN(ends),
	 RUN(handler_fails))
