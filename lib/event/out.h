/*
 * A bounded queue of bytes before one descriptor that other programs may share: never blocks, never sets O_NONBLOCK on a
 * descriptor that is not ours alone.  A pipe or a terminal is reopened through /proc/self/fd for a description of our own, a
 * socket is written with MSG_DONTWAIT, a file is written directly, anything else in small pieces after poll says so.
 *
 * SIGPIPE must be blocked or ignored.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/attr.h"
#include "lib/base/buf.h"

struct sbx_err;

struct sbx_out {
	int fd;      /* -1: closed */
	int kind;    /* of enum kind in out.c */
	bool own_fd; /* ours to close */
	struct sbx_buf queue;
	size_t head; /* bytes of queue that are written already */
};

/* fd is borrowed; the queue holds at most max bytes (a guard, to be well above the mark where a run is slowed down). */
int sbx_out_open(struct sbx_out *out, int fd, size_t max, struct sbx_err *err) SBX_MUST_USE;
void sbx_out_release(struct sbx_out *out);

/*
 * Queues; writes at once, without a copy, what can be written when nothing is queued.  SBX_E_LIMIT, with nothing written, when the
 * queue would not hold all of it (the caller did not honour pending).  Else fails as sbx_out_flush does.
 */
int sbx_out_add(struct sbx_out *out, const void *p, size_t n, struct sbx_err *err) SBX_MUST_USE;

/* Writes what can be written now.  SBX_E_OUTPUT with the system's words; err->sys is EPIPE when the reader went away. */
int sbx_out_flush(struct sbx_out *out, struct sbx_err *err) SBX_MUST_USE;

/* Bytes that wait.  Poll out->fd for POLLOUT while this is not 0. */
size_t sbx_out_pending(const struct sbx_out *out);

/* Whether the reader has gone (POLLERR without a write), for runs whose program is silent. */
bool sbx_out_gone(const struct sbx_out *out);

/* Writes everything, waiting as long as it takes or until deadline_ns (SBX_E_OUTPUT then). */
int sbx_out_drain(struct sbx_out *out, uint64_t deadline_ns, struct sbx_err *err) SBX_MUST_USE;
