#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/event/sinks.h"

struct tee {
	struct sbx_sink base;
	struct sbx_sink *first, *second; /* owned */
};

/* When the first cannot write any more, the second still gets the event: its reader must see how the run ends. */
static int put(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err)
{
	struct tee *tee = (struct tee *)sink;
	struct sbx_err second_err = SBX_ERR_INIT;
	int first = tee->first->ops->put(tee->first, ev, err);
	int second = tee->second->ops->put(tee->second, ev, &second_err);

	if (first == 0 && second < 0)
		*err = second_err;
	return first < 0 || second < 0 ? -1 : 0;
}

static void release(struct sbx_sink *sink)
{
	struct tee *tee = (struct tee *)sink;

	sbx_sink_free(tee->first);
	sbx_sink_free(tee->second);
	free(tee);
}

static const struct sbx_sink_ops tee_ops = {.put = put, .free = release};

struct sbx_sink *sbx_sink_tee(struct sbx_sink *first, struct sbx_sink *second)
{
	struct tee *tee = sbx_new(struct tee);

	tee->base.ops = &tee_ops;
	tee->first = first;
	tee->second = second;
	return &tee->base;
}
