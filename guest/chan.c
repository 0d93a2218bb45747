#include "guest/guest.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

size_t chan_pending(const struct chan *ch)
{
	return ch->out_len - ch->out_head;
}

void chan_flush(struct chan *ch)
{
	while (ch->out_head < ch->out_len) {
		ssize_t n = write(ch->out_fd, ch->out + ch->out_head, ch->out_len - ch->out_head);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			die("the host is gone");
		ch->out_head += (size_t)n;
	}
	ch->out_head = ch->out_len = 0;
}

/* Room for n more bytes.  Waits only when the host does not read at all: it always does, or is gone. */
static uint8_t *room(struct chan *ch, size_t n)
{
	while (CHAN_OUT - ch->out_len < n) {
		if (ch->out_head > 0) {
			memmove(ch->out, ch->out + ch->out_head, chan_pending(ch));
			ch->out_len -= ch->out_head;
			ch->out_head = 0;
			continue;
		}
		struct pollfd fd = {.fd = ch->out_fd, .events = POLLOUT};

		(void)poll(&fd, 1, -1);
		chan_flush(ch);
	}
	return ch->out + ch->out_len;
}

void chan_frame(struct chan *ch, const struct sbx_frame *f)
{
	uint8_t *p = room(ch, SBX_WIRE_HEADER + (size_t)f->n);

	sbx_wire_header(p, f);
	if (f->n)
		memcpy(p + SBX_WIRE_HEADER, f->p, f->n);
	ch->out_len += SBX_WIRE_HEADER + f->n;
}

struct sbx_coder chan_begin(struct chan *ch)
{
	uint8_t *p = room(ch, SBX_WIRE_HEADER + SBX_WIRE_PAYLOAD_MAX);

	return sbx_encoder(p + SBX_WIRE_HEADER, SBX_WIRE_PAYLOAD_MAX);
}

void chan_end(struct chan *ch, struct sbx_coder *c, uint8_t type, uint32_t req)
{
	struct sbx_frame f = {.type = type, .req = req, .n = (uint32_t)c->at};

	if (!sbx_coder_ok(c))
		die("a message of ours is too long");
	sbx_wire_header(ch->out + ch->out_len, &f);
	ch->out_len += SBX_WIRE_HEADER + f.n;
}

void chan_u32(struct chan *ch, uint8_t type, uint8_t stream, uint32_t req, uint32_t v)
{
	uint8_t payload[4];
	struct sbx_coder c = sbx_encoder(payload, sizeof payload);

	sbx_code_u32(&c, &v);
	chan_frame(ch, &(struct sbx_frame){
			       .type = type, .stream = stream, .req = req, .p = payload, .n = 4});
}

uint8_t *chan_data(struct chan *ch)
{
	return room(ch, SBX_WIRE_HEADER + SBX_WIRE_DATA_MAX) + SBX_WIRE_HEADER;
}

void chan_send_data(struct chan *ch, uint8_t stream, uint32_t req, uint32_t n)
{
	sbx_wire_header(
		ch->out + ch->out_len,
		&(struct sbx_frame){.type = SBX_WIRE_DATA, .stream = stream, .req = req, .n = n});
	ch->out_len += SBX_WIRE_HEADER + n;
}
