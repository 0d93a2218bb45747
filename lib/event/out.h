/*
 * A bounded queue of bytes before one descriptor that other programs may share: never blocks, never sets O_NONBLOCK on a
 * descriptor that is not ours alone.  A pipe is reopened through /proc/self/fd for a description of our own, a socket is
 * written with MSG_DONTWAIT, a file is written directly, anything else (a terminal) in small pieces after poll says so.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/attr.h"
#include "lib/base/buf.h"

struct sbx_err;

struct sbx_out {
	int fd;	     /* -1: closed */
	int kind;    /* of enum in out.c */
	bool own_fd; /* ours to close */
	struct sbx_buf queue;
	size_t head; /* bytes of queue that are written already */
};

/* fd is borrowed unless take is said; the queue holds at most max bytes. */
int sbx_out_open(struct sbx_out *out, int fd, size_t max, struct sbx_err *err) SBX_MUST_USE;
void sbx_out_release(struct sbx_out *out);

/* Queues; tries to write at once when nothing is queued. SBX_E_LIMIT when the queue is full (the caller did not honour pending). */
int sbx_out_add(struct sbx_out *out, const void *p, size_t n, struct sbx_err *err) SBX_MUST_USE;

/* Writes what can be written now.  SBX_E_OUTPUT with the system's words; err->sys is EPIPE when the reader went away. */
int sbx_out_flush(struct sbx_out *out, struct sbx_err *err) SBX_MUST_USE;

/* Bytes that wait.  Poll out->fd for POLLOUT while this is not 0. */
size_t sbx_out_pending(const struct sbx_out *out);

/* Whether the reader has gone (POLLERR without a write), for runs whose program is silent. */
bool sbx_out_gone(const struct sbx_out *out);

/* Writes everything, waiting as long as it takes or until deadline_ns. */
int sbx_out_drain(struct sbx_out *out, uint64_t deadline_ns, struct sbx_err *err) SBX_MUST_USE;
