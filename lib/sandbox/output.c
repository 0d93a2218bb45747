/*
 * The program's bytes as events.  Text is never cut inside a character: what may be the beginning of one waits for the next
 * bytes.  What can never be text is sent as base64, so that every byte arrives exactly as it was written.
 */
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/sandbox/live.h"

static int put_piece(struct sbx_live *live, unsigned int stream, struct sbx_str bytes, bool text,
		     struct sbx_err *err)
{
	struct sbx_event ev = { .type = stream == SBX_WIRE_STDOUT ? SBX_EV_STDOUT : SBX_EV_STDERR,
				.output = { .bytes = bytes, .text = text } };

	return bytes.n == 0 ? 0 : sbx_emit(&live->em, &ev, err);
}

static int put_bytes(struct sbx_live *live, unsigned int stream, struct sbx_str s,
		     struct sbx_err *err)
{
	struct sbx_tail *tail = &live->tail[stream - 1];
	size_t partial, n = sbx_utf8_prefix(s.p, s.n, &partial);

	if (put_piece(live, stream, (struct sbx_str){ s.p, n }, true, err) != 0)
		return -1;
	s.p += n;
	s.n -= n;
	if (partial > 0) {
		memcpy(tail->bytes, s.p, partial);
		tail->n = partial;
		return 0;
	}
	return put_piece(live, stream, s, false, err);
}

int sbx_live_output(struct sbx_live *live, unsigned int stream, struct sbx_str bytes, bool at_end,
		    struct sbx_err *err)
{
	struct sbx_tail *tail = &live->tail[stream - 1];
	struct sbx_tail joined = *tail;

	/* A character that was begun is finished first, by a copy of a few bytes. */
	while (joined.n > 0 && bytes.n > 0) {
		size_t partial;

		joined.bytes[joined.n++] = *bytes.p++;
		bytes.n--;
		(void)sbx_utf8_prefix(joined.bytes, joined.n, &partial);
		*tail = joined;
		if (partial > 0)
			continue;
		tail->n = 0;
		if (put_bytes(live, stream, (struct sbx_str){ joined.bytes, joined.n }, err) != 0)
			return -1;
		joined = *tail;
	}
	if (bytes.n > 0 && put_bytes(live, stream, bytes, err) != 0)
		return -1;
	if (!at_end || tail->n == 0)
		return 0;
	joined = *tail;
	tail->n = 0;
	return put_piece(live, stream, (struct sbx_str){ joined.bytes, joined.n }, false, err);
}
