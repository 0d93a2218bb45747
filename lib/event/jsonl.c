#include <stdlib.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/event/out.h"
#include "lib/event/sinks.h"

struct jsonl {
	struct sbx_sink base;
	struct sbx_out *out; /* borrowed */
	bool rfc7464;
	struct sbx_buf line;
};

enum { RECORD_SEPARATOR = 0x1e };

static int put(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err)
{
	struct jsonl *js = (struct jsonl *)sink;

	sbx_buf_reset(&js->line);
	if (js->rfc7464 && sbx_buf_addc(&js->line, RECORD_SEPARATOR, err) < 0)
		return -1;
	if (sbx_event_json(ev, &js->line, err) < 0 || sbx_buf_addc(&js->line, '\n', err) < 0)
		return -1;
	return sbx_out_add(js->out, js->line.p, js->line.len, err);
}

static void release(struct sbx_sink *sink)
{
	struct jsonl *js = (struct jsonl *)sink;

	sbx_buf_release(&js->line);
	free(js);
}

static const struct sbx_sink_ops jsonl_ops = {.put = put, .free = release};

struct sbx_sink *sbx_sink_jsonl(struct sbx_out *out, bool rfc7464)
{
	struct jsonl *js = sbx_new(struct jsonl);

	js->base.ops = &jsonl_ops;
	js->out = out;
	js->rfc7464 = rfc7464;
	js->line.max = out->queue.max;
	return &js->base;
}
