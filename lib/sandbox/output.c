/*
 * The program's bytes as events.  Text is never cut inside a character: what may be the beginning of one waits for the next
 * bytes.  What can never be text is sent as base64, so that every byte arrives exactly as it was written.
 */
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/sandbox/live.h"

/* So much text ends a piece of data: a stray byte spoils no page of words, and a picture does not become thousands of events. */
enum { TEXT_RUN = 64 };

static int put_piece(struct sbx_live *live, unsigned int stream, struct sbx_str bytes, bool text,
		     struct sbx_err *err)
{
	struct sbx_event ev = {.type = stream == SBX_WIRE_STDOUT ? SBX_EV_STDOUT : SBX_EV_STDERR,
			       .output = {.bytes = bytes, .text = text}};

	return bytes.n == 0 ? 0 : sbx_emit(&live->em, &ev, err);
}

/* How many bytes at the beginning of s, whose first cannot be text, come before TEXT_RUN bytes (or all that is left) that can. */
static size_t data_length(struct sbx_str s)
{
	size_t at = 1;

	while (at < s.n) {
		size_t run = s.n - at < TEXT_RUN ? s.n - at : TEXT_RUN, partial;
		size_t n = sbx_utf8_prefix(s.p + at, run, &partial);

		if (n + partial == run)
			break;
		at += n + 1;
	}
	return at < s.n ? at : s.n;
}

static int put_bytes(struct sbx_live *live, unsigned int stream, struct sbx_str s,
		     struct sbx_err *err)
{
	struct sbx_tail *tail = &live->tail[stream - 1];

	while (s.n > 0) {
		size_t partial, n = sbx_utf8_prefix(s.p, s.n, &partial);

		if (put_piece(live, stream, (struct sbx_str){s.p, n}, true, err) != 0)
			return -1;
		s.p += n;
		s.n -= n;
		if (s.n == partial) {
			memcpy(tail->bytes, s.p, partial);
			tail->n = partial;
			break;
		}
		n = data_length(s);
		if (put_piece(live, stream, (struct sbx_str){s.p, n}, false, err) != 0)
			return -1;
		s.p += n;
		s.n -= n;
	}
	return 0;
}

/* Takes what a character that was begun needs from *bytes; it still waits when they do not suffice. */
static int finish_tail(struct sbx_live *live, unsigned int stream, struct sbx_str *bytes,
		       struct sbx_err *err)
{
	struct sbx_tail *tail = &live->tail[stream - 1];
	struct sbx_str s = {.p = tail->bytes};
	size_t partial = 1, n = 0;

	while (partial > 0 && bytes->n > 0) {
		tail->bytes[tail->n++] = *bytes->p++;
		bytes->n--;
		n = sbx_utf8_prefix(tail->bytes, tail->n, &partial);
	}
	if (partial > 0)
		return 0;
	if (n == 0) { /* the last byte spoiled it, and may begin something itself */
		bytes->p--;
		bytes->n++;
		tail->n--;
	}
	s.n = tail->n;
	tail->n = 0;
	return put_piece(live, stream, s, n > 0, err);
}

int sbx_live_output(struct sbx_live *live, unsigned int stream, struct sbx_str bytes, bool at_end,
		    struct sbx_err *err)
{
	struct sbx_tail *tail = &live->tail[stream - 1];
	struct sbx_str rest = {.p = tail->bytes};

	if (tail->n > 0 && finish_tail(live, stream, &bytes, err) != 0)
		return -1;
	if (put_bytes(live, stream, bytes, err) != 0)
		return -1;
	if (!at_end)
		return 0;
	rest.n = tail->n;
	tail->n = 0;
	return put_piece(live, stream, rest, false, err);
}
