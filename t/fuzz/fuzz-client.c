/*
 * The host's end of the protocol against a guest that sends anything.  A request of every kind is open; never more comes of a
 * stream than its window, never more goes out than the host has credit for, and what is queued does not grow with what comes.
 */
#include "lib/guest/client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "guest-digest.h"
#include "lib/base/attr.h"
#include "lib/base/err.h"
#include "lib/base/strv.h"
#include "t/fuzz/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { QUEUE = 64 << 10, PIECE = 4096 };

struct host {
	struct sbx_stream stream;
	uint8_t in[SBX_WIRE_HEADER + SBX_WIRE_PAYLOAD_MAX];
	size_t in_at, in_len, written;

	struct sbx_client *client;
	size_t come[16][SBX_WIRE_STREAMS]; /* and not given back, by request */
	bool over[16];
	bool generous; /* gives back at once */
};

/* What a handler is called with. */
struct request {
	struct host *host;
	uint32_t req;
};

static ssize_t host_read(struct sbx_stream *st, void *buf, size_t len,
			 struct sbx_err *err SBX_UNUSED)
{
	struct host *h = (struct host *)st;
	size_t n = h->in_len - h->in_at < len ? h->in_len - h->in_at : len;

	if (n == 0)
		return SBX_STREAM_AGAIN;
	memcpy(buf, h->in + h->in_at, n);
	h->in_at += n;
	return (ssize_t)n;
}

static ssize_t host_write(struct sbx_stream *st, const void *buf SBX_UNUSED, size_t len,
			  struct sbx_err *err SBX_UNUSED)
{
	((struct host *)st)->written += len;
	return (ssize_t)len;
}

/* ---- handlers */

static int on_confined(void *ctx, const struct sbx_facts *facts SBX_UNUSED, struct sbx_err *err)
{
	struct request *r = ctx;

	return sbx_client_go(r->host->client, r->req, err);
}

static int on_started(void *ctx SBX_UNUSED, struct sbx_err *err SBX_UNUSED)
{
	return 0;
}

static int on_data(void *ctx, unsigned int stream, struct sbx_str bytes, struct sbx_err *err)
{
	struct request *r = ctx;
	size_t *come;

	assert(stream > 0 && stream < SBX_WIRE_STREAMS && bytes.n > 0);
	come = &r->host->come[r->req][stream];
	*come += bytes.n;
	assert(*come <= SBX_WIRE_WINDOW);
	if (!r->host->generous)
		return 0;
	/* The client saves small amounts up, so that this is less than what it allows. */
	*come -= bytes.n;
	return sbx_client_credit(r->host->client, r->req, stream, bytes.n, err);
}

static int on_eof(void *ctx SBX_UNUSED, unsigned int stream, uint32_t sys SBX_UNUSED,
		  struct sbx_err *err SBX_UNUSED)
{
	assert(stream < SBX_WIRE_STREAMS);
	return 0;
}

static int on_limit(void *ctx SBX_UNUSED, const struct sbx_wire_limit *m,
		    struct sbx_err *err SBX_UNUSED)
{
	assert(m->stream == 1 || m->stream == 2);
	return 0;
}

static int on_entry(void *ctx SBX_UNUSED, const struct sbx_wire_entry *m,
		    struct sbx_err *err SBX_UNUSED)
{
	assert(m->kind >= SBX_WIRE_KIND_FILE && m->kind <= SBX_WIRE_KIND_UNREADABLE);
	(void)strlen(m->path);
	return 0;
}

static void close_request(struct request *r)
{
	assert(!r->host->over[r->req]);
	r->host->over[r->req] = true;
}

static int on_done(void *ctx, const struct sbx_wire_done *m, struct sbx_err *err SBX_UNUSED)
{
	(void)strlen(m->what);
	close_request(ctx);
	return 0;
}

static int on_end(void *ctx, const struct sbx_wire_end *m, struct sbx_err *err SBX_UNUSED)
{
	(void)strlen(m->step);
	assert(m->how >= SBX_WIRE_EXITED && m->how <= SBX_WIRE_FAILED && m->code <= 255);
	close_request(ctx);
	return 0;
}

static const struct sbx_call_ops prog_ops = {.confined = on_confined,
					     .started = on_started,
					     .data = on_data,
					     .eof = on_eof,
					     .limit = on_limit,
					     .end = on_end};
static const struct sbx_call_ops get_ops = {
	.entry = on_entry, .data = on_data, .eof = on_eof, .done = on_done};
static const struct sbx_call_ops put_ops = {.done = on_done};

/* ---- one input */

static void must(int result)
{
	if (result != 0)
		abort();
}

static void open_requests(struct host *h, struct request *requests)
{
	static const struct sbx_call_ops *const kinds[] = {&prog_ops, &get_ops, &put_ops, &put_ops};
	struct sbx_wire_spawn spawn = {.cwd = "/"};
	struct sbx_wire_get get = {.n_globs = 1, .globs = {"*"}};
	struct sbx_strv argv = {0}, env = {0};
	struct sbx_err err = SBX_ERR_INIT;

	must(sbx_strv_add(&argv, "true", &err));
	for (size_t i = 0; i < SBX_ARRAY_SIZE(kinds); i++) {
		requests[i].host = h;
		must(sbx_client_request(h->client, kinds[i], &requests[i], &requests[i].req, &err));
	}
	must(sbx_client_spawn(h->client, requests[0].req, &spawn, &argv, &env, &err));
	must(sbx_client_get(h->client, requests[1].req, &get, &err));
	must(sbx_client_put(h->client, requests[2].req, "f", 0644, &err));
	must(sbx_client_mark(h->client, requests[3].req, &get, &err));
	sbx_strv_release(&argv);
}

static void set_frame(struct host *h, const struct sbx_frame *f)
{
	sbx_wire_header(h->in, f);
	if (f->n)
		memcpy(h->in + SBX_WIRE_HEADER, f->p, f->n);
	h->in_at = 0;
	h->in_len = SBX_WIRE_HEADER + (size_t)f->n;
}

static void greet(struct host *h)
{
	uint8_t p[128];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_wire_hello m = {.version = SBX_WIRE_VERSION, .digest = SBX_GUEST_DIGEST};

	sbx_code_hello(&c, &m);
	set_frame(h, &(struct sbx_frame){.type = SBX_WIRE_HELLO, .p = p, .n = (uint32_t)c.at});
}

/* Sends what the client says it has room for, to the program and to the file. */
static void feed(struct host *h)
{
	static const char zeros[PIECE];
	struct sbx_err err = SBX_ERR_INIT;

	for (uint32_t req = 1; req <= 3; req += 2) {
		size_t n = sbx_client_room(h->client, req);

		assert(n <= SBX_WIRE_WINDOW && (n == 0 || !h->over[req]));
		n = n < PIECE ? n : PIECE;
		must(sbx_client_data(h->client, req, (struct sbx_str){zeros, n}, &err));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sbx_stream_ops ops = {.read = host_read, .write = host_write};
	static struct host h;
	struct fuzz_bytes bytes = {data, size};
	struct sbx_wire_setup setup = {.workdir = "/w"};
	struct request requests[4];
	struct sbx_err err = SBX_ERR_INIT;
	struct sbx_frame f;
	uint8_t how = fuzz_byte(&bytes);

	memset(&h, 0, sizeof h);
	h.stream = (struct sbx_stream){.ops = &ops, .fd = -1};
	h.generous = how & 1;
	must(sbx_client_open(&h.stream, &setup, &h.client, &err));
	open_requests(&h, requests);
	if (!(how & 2))
		greet(&h);
	for (;;) {
		size_t before = h.written;

		if (sbx_client_pump(h.client, &err) != 0)
			break;
		assert(h.written - before < QUEUE);
		feed(&h);
		if (!fuzz_frame(&bytes, &f))
			break;
		set_frame(&h, &f);
	}
	assert(err.code == SBX_E_OK || err.code == SBX_E_BACKEND);
	sbx_client_free(h.client);
	return 0;
}
