#include <stdint.h>
#include <stdlib.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "lib/event/encode.h"
#include "lib/event/out.h"
#include "lib/event/sinks.h"
#include "lib/json/write.h"

enum {
	/* Of each list; plots are the large ones. A warning counts what does not fit. */
	LIST_MAX = 64 << 20,
};
/* What it is made of is bounded already. */
#define OBJECT_MAX (SIZE_MAX / 4)

enum list { LIST_PLOTS, LIST_FILES, LIST_LIMITS, LIST_DENIES, LIST_WARNINGS, LIST_COUNT_ };

static const char *const list_names[] = {
	[LIST_PLOTS] = "plots",   [LIST_FILES] = "files",       [LIST_LIMITS] = "limits",
	[LIST_DENIES] = "denies", [LIST_WARNINGS] = "warnings",
};

struct collect {
	struct sbx_sink base;
	struct sbx_out *out;       /* borrowed */
	struct sbx_buf streams[2]; /* stdout, stderr */
	bool cut[2];
	struct sbx_buf start;              /* the object, or empty */
	struct sbx_buf lists[LIST_COUNT_]; /* elements, with commas between */
	struct sbx_buf scratch;
	uint64_t dropped;
};

/* Not cut inside a character, or all of it would have to be base64. */
static int put_output(struct collect *co, const struct sbx_event *ev, struct sbx_err *err)
{
	int which = ev->type == SBX_EV_STDERR;
	struct sbx_buf *buf = &co->streams[which];
	struct sbx_str bytes = ev->output.bytes;
	size_t room = buf->max - buf->len, partial;

	if (co->cut[which])
		return 0;
	if (bytes.n > room) {
		co->cut[which] = true;
		bytes.n = ev->output.text ? sbx_utf8_prefix(bytes.p, room, &partial) : room;
	}
	return sbx_buf_add(buf, bytes.p, bytes.n, err);
}

/* Adds what was written to scratch, where there is room for it and the closing bracket. */
static int add_element(struct collect *co, enum list which, struct sbx_jw *jw, struct sbx_err *err)
{
	struct sbx_buf *list = &co->lists[which];

	if (sbx_jw_done(jw, err) < 0) {
		if (err->code != SBX_E_LIMIT)
			return -1;
		sbx_err_clear(err);
		co->dropped++;
		return 0;
	}
	if (co->scratch.len + 2 > list->max - list->len) {
		co->dropped++;
		return 0;
	}
	if (sbx_buf_addc(list, list->len > 0 ? ',' : '[', err) < 0)
		return -1;
	return sbx_buf_add(list, co->scratch.p, co->scratch.len, err);
}

static int put_element(struct collect *co, enum list which, const struct sbx_event *ev,
		       struct sbx_err *err)
{
	struct sbx_jw jw;

	sbx_buf_reset(&co->scratch);
	sbx_jw_init(&jw, &co->scratch);
	sbx_event_write_bare(&jw, ev);
	return add_element(co, which, &jw, err);
}

/* "svg" of "image/svg+xml", "html" of "text/html;charset=utf-8". */
static struct sbx_str format_of(const char *mime)
{
	const char *slash = strchr(mime, '/');
	const char *sub = slash ? slash + 1 : mime;

	return (struct sbx_str){.p = sub, .n = strcspn(sub, "+;")};
}

/* format and content_base64 are llm-sandbox's names. */
static int put_plot(struct collect *co, const struct sbx_event *ev, struct sbx_err *err)
{
	struct sbx_jw jw;

	sbx_buf_reset(&co->scratch);
	sbx_jw_init(&jw, &co->scratch);
	sbx_jw_object(&jw);
	sbx_jw_key(&jw, "format");
	sbx_jw_str(&jw, format_of(ev->display.mime));
	sbx_jw_key(&jw, "content_base64");
	sbx_jw_base64(&jw, ev->display.bytes);
	sbx_event_write_fields(&jw, ev);
	sbx_jw_end(&jw);
	return add_element(co, LIST_PLOTS, &jw, err);
}

static int put_start(struct collect *co, const struct sbx_event *ev, struct sbx_err *err)
{
	struct sbx_jw jw;

	sbx_jw_init(&jw, &co->start);
	sbx_event_write_bare(&jw, ev);
	return sbx_jw_done(&jw, err);
}

static int close_lists(struct collect *co, struct sbx_err *err)
{
	struct sbx_buf *list = &co->lists[LIST_WARNINGS];

	list->max = OBJECT_MAX;
	if (co->dropped > 0 &&
	    sbx_buf_addf(list, err,
			 "%s{\"code\":\"dropped\",\"message\":\"%llu more did not fit\"}",
			 list->len > 0 ? "," : "[", (unsigned long long)co->dropped) < 0)
		return -1;
	for (int i = 0; i < LIST_COUNT_; i++) {
		if (co->lists[i].len > 0 && sbx_buf_addc(&co->lists[i], ']', err) < 0)
			return -1;
	}
	return 0;
}

static void write_stream(struct sbx_jw *jw, const char *key, const char *key_base64,
			 const struct sbx_buf *buf)
{
	struct sbx_str bytes = {.p = sbx_buf_str(buf), .n = buf->len};

	sbx_jw_key(jw, key);
	sbx_jw_str(jw, bytes);
	if (sbx_utf8_valid(bytes.p, bytes.n))
		return;
	sbx_jw_key(jw, key_base64);
	sbx_jw_base64(jw, bytes);
}

static void write_raw(struct sbx_jw *jw, const struct sbx_buf *json, const char *when_empty)
{
	sbx_jw_raw(jw, sbx_str_of(json->len > 0 ? sbx_buf_str(json) : when_empty));
}

static void write_object(struct collect *co, struct sbx_jw *jw, const struct sbx_event *end)
{
	sbx_jw_object(jw);
	sbx_event_write_envelope(jw, end);
	sbx_event_write_members(jw, end);
	write_stream(jw, "stdout", "stdout_base64", &co->streams[0]);
	write_stream(jw, "stderr", "stderr_base64", &co->streams[1]);
	for (int i = 0; i < LIST_COUNT_; i++) {
		sbx_jw_key(jw, list_names[i]);
		write_raw(jw, &co->lists[i], "[]");
	}
	sbx_jw_key(jw, "start");
	write_raw(jw, &co->start, "null");
	sbx_jw_end(jw);
}

static void release_parts(struct collect *co)
{
	sbx_buf_release(&co->streams[0]);
	sbx_buf_release(&co->streams[1]);
	for (int i = 0; i < LIST_COUNT_; i++)
		sbx_buf_release(&co->lists[i]);
	sbx_buf_release(&co->start);
	sbx_buf_release(&co->scratch);
}

static int put_end(struct collect *co, const struct sbx_event *ev, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf object = SBX_BUF_INIT(OBJECT_MAX);
	struct sbx_event end = *ev;
	struct sbx_jw jw;
	size_t need;

	end.end.truncated_stdout |= co->cut[0];
	end.end.truncated_stderr |= co->cut[1];
	if (close_lists(co, err) < 0)
		return -1;
	sbx_jw_init(&jw, &object);
	write_object(co, &jw, &end);
	if (sbx_jw_done(&jw, err) < 0 || sbx_buf_addc(&object, '\n', err) < 0)
		return -1;
	release_parts(co);
	need = sbx_out_pending(co->out) + object.len;
	if (co->out->queue.max < need)
		co->out->queue.max = need;
	return sbx_out_add(co->out, object.p, object.len, err);
}

static int put(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err)
{
	struct collect *co = (struct collect *)sink;

	switch (ev->type) {
	case SBX_EV_START:
		return put_start(co, ev, err);
	case SBX_EV_STDOUT:
	case SBX_EV_STDERR:
		return put_output(co, ev, err);
	case SBX_EV_DISPLAY:
		return put_plot(co, ev, err);
	case SBX_EV_FILE:
		return put_element(co, LIST_FILES, ev, err);
	case SBX_EV_LIMIT:
		return put_element(co, LIST_LIMITS, ev, err);
	case SBX_EV_DENY:
		return put_element(co, LIST_DENIES, ev, err);
	case SBX_EV_WARN:
		return put_element(co, LIST_WARNINGS, ev, err);
	case SBX_EV_END:
		return put_end(co, ev, err);
	case SBX_EV_PROGRESS:
		break;
	}
	return 0;
}

static void release(struct sbx_sink *sink)
{
	struct collect *co = (struct collect *)sink;

	release_parts(co);
	free(co);
}

static const struct sbx_sink_ops collect_ops = {.put = put, .free = release};

struct sbx_sink *sbx_sink_json(struct sbx_out *out, uint64_t max_bytes)
{
	struct collect *co = sbx_new(struct collect);
	size_t max = max_bytes < OBJECT_MAX / 16 ? (size_t)max_bytes : OBJECT_MAX / 16;

	co->base.ops = &collect_ops;
	co->out = out;
	co->streams[0].max = co->streams[1].max = max;
	co->start.max = co->scratch.max = LIST_MAX;
	for (int i = 0; i < LIST_COUNT_; i++)
		co->lists[i].max = LIST_MAX;
	return &co->base;
}
