#include "lib/guest/client.h"

#include <assert.h>
#include <poll.h>
#include <string.h>

#include "guest-digest.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/base/strv.h"

enum {
	IN_SIZE = 4 * (SBX_WIRE_HEADER + SBX_WIRE_DATA_MAX) + SBX_WIRE_PAYLOAD_MAX,
	/* What may wait for the guest: windows of stdin and PUT, and a program's whole vectors (8 MiB at most). */
	OUT_MAX = 16 << 20,
	CALLS = 16,
	CREDIT_STEP = 64 << 10,
	/* In one pump, so that the caller's own descriptors get their turn. */
	PUMP_READS = 64,
};

/* What comes at most once a request, and in this order. */
enum {
	CAME_CONFINED = 1 << 0,
	CAME_STARTED = 1 << 1,
	CAME_LIMIT_OUT = 1 << 2,
	CAME_LIMIT_ERR = 1 << 3,
};

struct call {
	uint32_t req; /* 0: free */
	const struct sbx_call_ops *ops;
	void *ctx;
	uint32_t may_send;                   /* bytes of stream 0 */
	uint32_t may_come[SBX_WIRE_STREAMS]; /* bytes of the other streams */
	uint32_t owed[SBX_WIRE_STREAMS];     /* dealt with, not yet given back */
	bool refused;                        /* the guest wants no more of stream 0 */
	unsigned int came;
};

struct sbx_client {
	struct sbx_stream *stream;
	struct call calls[CALLS];
	uint32_t last_req;
	bool greeted;
	struct sbx_buf out;
	size_t out_head;
	size_t in_len;
	uint8_t in[IN_SIZE];
	uint8_t scratch[SBX_WIRE_PAYLOAD_MAX];
};

/* ---- sending */

static int add_frame(struct sbx_client *client, const struct sbx_frame *f, struct sbx_err *err)
{
	uint8_t header[SBX_WIRE_HEADER];

	sbx_wire_header(header, f);
	if (sbx_buf_add(&client->out, header, sizeof header, err) != 0)
		return -1;
	return f->n ? sbx_buf_add(&client->out, f->p, f->n, err) : 0;
}

/* Sends what the coder wrote to scratch. */
static int add_message(struct sbx_client *client, const struct sbx_coder *c, uint8_t type,
		       uint32_t req, struct sbx_err *err)
{
	if (!sbx_coder_ok(c))
		return sbx_fail(err, SBX_E_LIMIT,
				"a path or a pattern is too long for the sandbox");
	return add_frame(
		client,
		&(struct sbx_frame){
			.type = type, .req = req, .p = client->scratch, .n = (uint32_t)c->at},
		err);
}

static int add_u32(struct sbx_client *client, uint8_t type, uint8_t stream, uint32_t req,
		   uint32_t v, struct sbx_err *err)
{
	uint8_t payload[4];
	struct sbx_coder c = sbx_encoder(payload, sizeof payload);

	sbx_code_u32(&c, &v);
	return add_frame(client,
			 &(struct sbx_frame){
				 .type = type, .stream = stream, .req = req, .p = payload, .n = 4},
			 err);
}

/* Writes what can be written now.  What is written goes from the front, or a queue that is never empty would grow for ever. */
static int flush(struct sbx_client *client, struct sbx_err *err)
{
	while (client->out_head < client->out.len) {
		ssize_t n =
			client->stream->ops->write(client->stream, client->out.p + client->out_head,
						   client->out.len - client->out_head, err);

		if (n == SBX_STREAM_AGAIN)
			break;
		if (n < 0)
			return -1;
		client->out_head += (size_t)n;
	}
	if (client->out_head > client->out.len / 2) {
		sbx_buf_consume(&client->out, client->out_head);
		client->out_head = 0;
	}
	return 0;
}

int sbx_client_open(struct sbx_stream *stream, const struct sbx_wire_setup *setup,
		    struct sbx_client **ret, struct sbx_err *err)
{
	struct sbx_client *client = sbx_new(struct sbx_client);
	struct sbx_coder c = sbx_encoder(client->scratch, sizeof client->scratch);
	struct sbx_wire_setup m = *setup;

	client->stream = stream;
	client->out.max = OUT_MAX;
	m.version = SBX_WIRE_VERSION;
	m.digest = SBX_GUEST_DIGEST;
	sbx_code_setup(&c, &m);
	if (add_message(client, &c, SBX_WIRE_SETUP, 0, err) != 0) {
		sbx_client_free(client);
		return -1;
	}
	*ret = client;
	return 0;
}

void sbx_client_free(struct sbx_client *client)
{
	if (!client)
		return;
	sbx_buf_release(&client->out);
	free(client);
}

short sbx_client_events(const struct sbx_client *client)
{
	return client->out_head < client->out.len ? POLLIN | POLLOUT : POLLIN;
}

bool sbx_client_greeted(const struct sbx_client *client)
{
	return client->greeted;
}

/* ---- requests */

static struct call *find(const struct sbx_client *client, uint32_t req)
{
	for (size_t i = 0; i < CALLS; i++)
		if (req != 0 && client->calls[i].req == req)
			return (struct call *)(uintptr_t)&client->calls[i];
	return NULL;
}

int sbx_client_request(struct sbx_client *client, const struct sbx_call_ops *ops, void *ctx,
		       uint32_t *ret, struct sbx_err *err)
{
	for (size_t i = 0; i < CALLS; i++) {
		struct call *call = &client->calls[i];

		if (call->req != 0)
			continue;
		*call = (struct call){.req = ++client->last_req,
				      .ops = ops,
				      .ctx = ctx,
				      .may_send = SBX_WIRE_WINDOW};
		for (size_t s = 0; s < SBX_WIRE_STREAMS; s++)
			call->may_come[s] = SBX_WIRE_WINDOW;
		*ret = call->req;
		return 0;
	}
	return sbx_fail(err, SBX_E_LIMIT, "too many requests at once in one sandbox");
}

/* Strings in as few frames as they fit in. */
static int add_strings(struct sbx_client *client, uint8_t type, uint32_t req,
		       const struct sbx_strv *sv, struct sbx_err *err)
{
	const char *what = type == SBX_WIRE_ARGV ? "argument" : "environment variable";
	struct sbx_coder c = sbx_encoder(client->scratch, sizeof client->scratch);

	for (size_t i = 0; i < sv->n; i++) {
		const char *s = sv->v[i];

		if (strlen(s) + 8 > sizeof client->scratch)
			return sbx_fail(err, SBX_E_LIMIT,
					"%s %zu is longer than the 128 KiB that Linux allows", what,
					i);
		if (c.at + strlen(s) + 8 > c.end) {
			if (add_message(client, &c, type, req, err) != 0)
				return -1;
			c = sbx_encoder(client->scratch, sizeof client->scratch);
		}
		sbx_code_str(&c, &s);
	}
	return c.at ? add_message(client, &c, type, req, err) : 0;
}

int sbx_client_spawn(struct sbx_client *client, uint32_t req, const struct sbx_wire_spawn *spawn,
		     const struct sbx_strv *argv, const struct sbx_strv *env, struct sbx_err *err)
{
	struct sbx_wire_spawn m = *spawn;
	struct sbx_coder c;

	if (add_strings(client, SBX_WIRE_ARGV, req, argv, err) != 0 ||
	    add_strings(client, SBX_WIRE_ENV, req, env, err) != 0)
		return -1;
	c = sbx_encoder(client->scratch, sizeof client->scratch);
	sbx_code_spawn(&c, &m);
	return add_message(client, &c, SBX_WIRE_SPAWN, req, err);
}

int sbx_client_go(struct sbx_client *client, uint32_t req, struct sbx_err *err)
{
	return add_frame(client, &(struct sbx_frame){.type = SBX_WIRE_GO, .req = req}, err);
}

int sbx_client_kill(struct sbx_client *client, uint32_t req, uint32_t sig, struct sbx_err *err)
{
	return add_u32(client, SBX_WIRE_KILL, 0, req, sig, err);
}

int sbx_client_resize(struct sbx_client *client, uint32_t req, uint32_t rows, uint32_t cols,
		      struct sbx_err *err)
{
	struct sbx_wire_resize m = {.rows = rows, .cols = cols};
	struct sbx_coder c = sbx_encoder(client->scratch, sizeof client->scratch);

	sbx_code_resize(&c, &m);
	return add_message(client, &c, SBX_WIRE_RESIZE, req, err);
}

int sbx_client_put(struct sbx_client *client, uint32_t req, const char *path, uint32_t mode,
		   struct sbx_err *err)
{
	struct sbx_wire_put m = {.path = path, .mode = mode};
	struct sbx_coder c = sbx_encoder(client->scratch, sizeof client->scratch);

	sbx_code_put(&c, &m);
	return add_message(client, &c, SBX_WIRE_PUT, req, err);
}

static int add_get(struct sbx_client *client, uint8_t type, uint32_t req,
		   const struct sbx_wire_get *get, struct sbx_err *err)
{
	struct sbx_wire_get m = *get;
	struct sbx_coder c = sbx_encoder(client->scratch, sizeof client->scratch);

	sbx_code_get(&c, &m);
	return add_message(client, &c, type, req, err);
}

int sbx_client_mark(struct sbx_client *client, uint32_t req, const struct sbx_wire_get *get,
		    struct sbx_err *err)
{
	return add_get(client, SBX_WIRE_MARK, req, get, err);
}

int sbx_client_get(struct sbx_client *client, uint32_t req, const struct sbx_wire_get *get,
		   struct sbx_err *err)
{
	return add_get(client, SBX_WIRE_GET, req, get, err);
}

size_t sbx_client_room(const struct sbx_client *client, uint32_t req)
{
	const struct call *call = find(client, req);

	return call && !call->refused ? call->may_send : 0;
}

int sbx_client_data(struct sbx_client *client, uint32_t req, struct sbx_str bytes,
		    struct sbx_err *err)
{
	struct call *call = find(client, req);

	assert(!call || bytes.n <= call->may_send);
	while (call && bytes.n > 0) {
		size_t n = bytes.n < SBX_WIRE_DATA_MAX ? bytes.n : SBX_WIRE_DATA_MAX;

		if (add_frame(client,
			      &(struct sbx_frame){.type = SBX_WIRE_DATA,
						  .req = req,
						  .p = (const uint8_t *)bytes.p,
						  .n = (uint32_t)n},
			      err) != 0)
			return -1;
		call->may_send -= (uint32_t)n;
		bytes.p += n;
		bytes.n -= n;
	}
	return 0;
}

int sbx_client_eof(struct sbx_client *client, uint32_t req, struct sbx_err *err)
{
	return add_u32(client, SBX_WIRE_EOF, SBX_WIRE_STDIN, req, 0, err);
}

int sbx_client_credit(struct sbx_client *client, uint32_t req, unsigned int stream, size_t n,
		      struct sbx_err *err)
{
	struct call *call = find(client, req);
	uint32_t owed;

	if (!call)
		return 0;
	call->owed[stream] += (uint32_t)n;
	owed = call->owed[stream];
	if (owed < CREDIT_STEP)
		return 0;
	call->owed[stream] = 0;
	call->may_come[stream] += owed;
	return add_u32(client, SBX_WIRE_CREDIT, (uint8_t)stream, req, owed, err);
}

/* ---- what comes */

static int broken(struct sbx_err *err, const char *what)
{
	return sbx_fail(err, SBX_E_BACKEND, "the sandbox broke the protocol: %s", what);
}

static int take_hello(struct sbx_client *client, struct sbx_coder *c, struct sbx_err *err)
{
	struct sbx_wire_hello m;

	sbx_code_hello(c, &m);
	if (!sbx_coder_ok(c) || client->greeted)
		return broken(err, "its greeting");
	if (m.version != SBX_WIRE_VERSION || strcmp(m.digest, SBX_GUEST_DIGEST) != 0)
		return sbx_fail(
			err, SBX_E_BACKEND,
			"the sandbox was made by another version of llmsbx: create it anew");
	client->greeted = true;
	return 0;
}

static int take_data(struct call *call, const struct sbx_frame *f, struct sbx_err *err)
{
	if (!call->ops->data || f->stream == SBX_WIRE_STDIN || f->n == 0 ||
	    f->n > SBX_WIRE_DATA_MAX || f->n > call->may_come[f->stream])
		return broken(err, "more data than it was allowed");
	if (call->ops->started && !(call->came & CAME_STARTED))
		return broken(err, "data of a program that does not run");
	call->may_come[f->stream] -= f->n;
	return call->ops->data(call->ctx, f->stream,
			       (struct sbx_str){.p = (const char *)f->p, .n = f->n}, err);
}

static int take_eof(struct call *call, const struct sbx_frame *f, struct sbx_coder *c,
		    struct sbx_err *err)
{
	uint32_t sys = 0;

	sbx_code_u32(c, &sys);
	if (!sbx_coder_ok(c))
		return broken(err, "an end of file");
	if (f->stream == SBX_WIRE_STDIN)
		call->refused = true;
	return call->ops->eof ? call->ops->eof(call->ctx, f->stream, sys, err) : 0;
}

static int take_credit(struct call *call, const struct sbx_frame *f, struct sbx_coder *c,
		       struct sbx_err *err)
{
	uint32_t n = 0;

	sbx_code_u32(c, &n);
	if (!sbx_coder_ok(c) || f->stream != SBX_WIRE_STDIN || n > SBX_WIRE_WINDOW - call->may_send)
		return broken(err, "more credit than the window");
	call->may_send += n;
	return 0;
}

/* Whether it comes for the first time, after what has to come before. */
static bool comes(struct call *call, unsigned int what, unsigned int after)
{
	bool in_order = !(call->came & what) && (call->came & after) == after;

	call->came |= what;
	return in_order;
}

static int take_confined(struct call *call, struct sbx_coder *c, struct sbx_err *err)
{
	struct sbx_facts m;

	sbx_code_facts(c, &m);
	if (!sbx_coder_ok(c) || !call->ops->confined || !comes(call, CAME_CONFINED, 0))
		return broken(err, "its measurements");
	return call->ops->confined(call->ctx, &m, err);
}

static int take_started(struct call *call, struct sbx_err *err)
{
	if (!call->ops->started || !comes(call, CAME_STARTED, CAME_CONFINED))
		return broken(err, "a start");
	return call->ops->started(call->ctx, err);
}

static int take_limit(struct call *call, struct sbx_coder *c, struct sbx_err *err)
{
	struct sbx_wire_limit m;

	sbx_code_limit(c, &m);
	if (!sbx_coder_ok(c) || !call->ops->limit || (m.stream != 1 && m.stream != 2) ||
	    !comes(call, m.stream == 1 ? CAME_LIMIT_OUT : CAME_LIMIT_ERR, CAME_STARTED))
		return broken(err, "a limit");
	return call->ops->limit(call->ctx, &m, err);
}

static int take_entry(struct call *call, struct sbx_coder *c, struct sbx_err *err)
{
	struct sbx_wire_entry m;

	sbx_code_entry(c, &m);
	if (!sbx_coder_ok(c) || !call->ops->entry || m.kind < SBX_WIRE_KIND_FILE ||
	    m.kind > SBX_WIRE_KIND_UNREADABLE)
		return broken(err, "an entry");
	return call->ops->entry(call->ctx, &m, err);
}

/* Both close the request before its handler runs, so that the handler may begin the next one. */
static int take_done(struct call *call, struct sbx_coder *c, struct sbx_err *err)
{
	struct call over = *call;
	struct sbx_wire_done m;

	sbx_code_done(c, &m);
	if (!sbx_coder_ok(c) || !call->ops->done)
		return broken(err, "a result");
	call->req = 0;
	return over.ops->done(over.ctx, &m, err);
}

static int take_end(struct call *call, struct sbx_coder *c, struct sbx_err *err)
{
	struct call over = *call;
	struct sbx_wire_end m;

	sbx_code_end(c, &m);
	if (!sbx_coder_ok(c) || !call->ops->end || m.how < SBX_WIRE_EXITED ||
	    m.how > SBX_WIRE_FAILED || m.code > 255)
		return broken(err, "an end");
	call->req = 0;
	return over.ops->end(over.ctx, &m, err);
}

static int take(struct sbx_client *client, const struct sbx_frame *f, struct sbx_err *err)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	struct call *call = find(client, f->req);

	if (f->type == SBX_WIRE_HELLO && f->req == 0)
		return take_hello(client, &c, err);
	if (!client->greeted)
		return broken(err, "no greeting");
	if (!call) /* crossed with its end, or never was */
		return f->req != 0 && f->req <= client->last_req
			       ? 0
			       : broken(err, "an answer that nobody asked for");
	switch (f->type) {
	case SBX_WIRE_DATA:
		return take_data(call, f, err);
	case SBX_WIRE_EOF:
		return take_eof(call, f, &c, err);
	case SBX_WIRE_CREDIT:
		return take_credit(call, f, &c, err);
	case SBX_WIRE_CONFINED:
		return take_confined(call, &c, err);
	case SBX_WIRE_STARTED:
		return take_started(call, err);
	case SBX_WIRE_LIMIT:
		return take_limit(call, &c, err);
	case SBX_WIRE_ENTRY:
		return take_entry(call, &c, err);
	case SBX_WIRE_DONE:
		return take_done(call, &c, err);
	case SBX_WIRE_END:
		return take_end(call, &c, err);
	default:
		return broken(err, "an unknown frame");
	}
}

/* Every whole frame that is there; handlers must not pump. */
static int take_frames(struct sbx_client *client, struct sbx_err *err)
{
	size_t at = 0;
	int r = 0;

	while (r == 0) {
		struct sbx_frame f;
		long used = sbx_wire_parse(client->in + at, client->in_len - at, &f);

		if (used < 0)
			r = broken(err, "a frame that cannot be");
		if (used <= 0)
			break;
		at += (size_t)used;
		r = take(client, &f, err);
	}
	client->in_len -= at;
	memmove(client->in, client->in + at, client->in_len);
	return r;
}

/*
 * What came is dealt with by the caller before it is told of an end or of a write that failed: an END frame that came is the
 * result, whatever became of the guest since.  Both are found again by the next pump.
 */
int sbx_client_pump(struct sbx_client *client, struct sbx_err *err)
{
	struct sbx_err sending = SBX_ERR_INIT;
	bool send_failed = flush(client, &sending) != 0, came = false;

	for (int i = 0; i < PUMP_READS; i++) {
		ssize_t n = client->stream->ops->read(client->stream, client->in + client->in_len,
						      sizeof client->in - client->in_len, err);

		if (n == SBX_STREAM_AGAIN)
			break;
		if (n == 0 && came)
			return 0;
		if (n == 0)
			return sbx_fail(err, SBX_E_LOST, "the sandbox ended unexpectedly");
		if (n < 0)
			return -1;
		came = true;
		client->in_len += (size_t)n;
		if (take_frames(client, err) != 0)
			return -1;
	}
	if (!send_failed)
		send_failed = flush(client, &sending) != 0;
	if (!send_failed || came)
		return 0;
	*err = sending;
	return -1;
}
