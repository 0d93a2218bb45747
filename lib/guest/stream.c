#include "lib/guest/stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"

static ssize_t fd_read(struct sbx_stream *st, void *buf, size_t len, struct sbx_err *err)
{
	ssize_t n;

	do
		n = read(st->fd, buf, len);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	if (errno == EAGAIN)
		return SBX_STREAM_AGAIN;
	/* A peer that ended with bytes of ours unread resets the socket: the end all the same. */
	return errno == ECONNRESET ? 0 : sbx_fail_sys(err, errno, "cannot read from the sandbox");
}

static ssize_t fd_write(struct sbx_stream *st, const void *buf, size_t len, struct sbx_err *err)
{
	ssize_t n;

	do
		n = send(st->fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	if (errno == EAGAIN)
		return SBX_STREAM_AGAIN;
	if (errno == EPIPE || errno == ECONNRESET)
		return sbx_fail(err, SBX_E_LOST, "the sandbox ended unexpectedly");
	return sbx_fail_sys(err, errno, "cannot write to the sandbox");
}

static void fd_free(struct sbx_stream *st)
{
	sbx_close(st->fd);
	free(st);
}

struct sbx_stream *sbx_stream_fd(int take_fd)
{
	static const struct sbx_stream_ops ops = {fd_read, fd_write, fd_free};
	struct sbx_stream *st = sbx_new(struct sbx_stream);

	st->ops = &ops;
	st->fd = take_fd;
	return st;
}

void sbx_stream_free(struct sbx_stream *st)
{
	if (st)
		st->ops->free(st);
}
