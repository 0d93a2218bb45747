/* The way to a guest: a local socket, later a hijacked HTTP connection or a WebSocket. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct sbx_err;
struct sbx_stream;

/*
 * A box's one duplex byte stream, on which the protocol is spoken.  Poll fd, which is non-blocking.
 * read: > 0 bytes, 0 at the end, -1 with err; *err untouched and -2 (SBX_STREAM_AGAIN) when it would block.  write the same.
 */
enum { SBX_STREAM_AGAIN = -2 };
struct sbx_stream_ops {
	ssize_t (*read)(struct sbx_stream *st, void *buf, size_t len, struct sbx_err *err);
	ssize_t (*write)(struct sbx_stream *st, const void *buf, size_t len, struct sbx_err *err);
	void (*free)(struct sbx_stream *st);
};
struct sbx_stream {
	const struct sbx_stream_ops *ops;
	int fd; /* non-blocking */
};

/* A stream over one non-blocking socket; takes the descriptor. */
struct sbx_stream *sbx_stream_fd(int take_fd);
void sbx_stream_free(struct sbx_stream *st);
