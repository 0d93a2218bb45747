/*
 * Theory of operation.  O_NONBLOCK belongs to an open file description, and that of our stdout may be shared with a shell or a
 * pager, which would break when we set it.  So we ask for a description of our own by opening /proc/self/fd/N again; where that
 * is refused (another user's pipe, no /proc), a write of at most PIPE_BUF bytes after poll() does not block, as a pipe that is
 * writable has room for that much unless somebody else fills it in between.
 */
#include "lib/event/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"

enum kind {
	OUT_DIRECT,  /* a file, /dev/null, /dev/full: never waits for a reader */
	OUT_OWN,     /* our own non-blocking description */
	OUT_SOCKET,  /* non-blocking by the call */
	OUT_CAREFUL, /* shared: poll, then a small piece */
};

/* Whoever reads a socket and ends with bytes unread resets it: gone all the same. */
static int cannot_write(struct sbx_err *err, int num)
{
	sbx_fail_sys_(err, num == ECONNRESET ? EPIPE : num, "cannot write the output");
	err->code = SBX_E_OUTPUT;
	return -1;
}

static int reopen(int fd)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static bool is_memory_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && major(st->st_rdev) == 1;
}

int sbx_out_open(struct sbx_out *out, int fd, size_t max, struct sbx_err *err)
{
	int flags = fcntl(fd, F_GETFL), own = -1;
	int kind = OUT_CAREFUL;
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return cannot_write(err, errno);
	/* Opening a pipe's reading end again would give a writing one. */
	if ((flags & O_ACCMODE) == O_RDONLY)
		return cannot_write(err, EBADF);
	if (S_ISSOCK(st.st_mode))
		kind = OUT_SOCKET;
	else if (S_ISREG(st.st_mode) || is_memory_device(&st))
		kind = OUT_DIRECT;
	else if (S_ISFIFO(st.st_mode) || isatty(fd))
		own = reopen(fd);
	*out = (struct sbx_out){
		.fd = own < 0 ? fd : own,
		.kind = own < 0 ? kind : OUT_OWN,
		.own_fd = own >= 0,
		.queue = SBX_BUF_INIT(max),
	};
	return 0;
}

void sbx_out_release(struct sbx_out *out)
{
	if (out->own_fd)
		sbx_close(out->fd);
	out->own_fd = false;
	out->fd = -1;
	out->head = 0;
	sbx_buf_release(&out->queue);
}

/* An error counts as ready: the write will tell what it is. */
static bool ready(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLOUT};

	return poll(&pfd, 1, 0) > 0;
}

static ssize_t write_once(const struct sbx_out *out, const char *p, size_t n)
{
	ssize_t put;

	do {
		if (out->kind == OUT_SOCKET)
			put = send(out->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			put = write(out->fd, p, n);
	} while (put < 0 && errno == EINTR);
	return put;
}

/* Writes what can be written now of n bytes; *done counts also what was written before a failure. */
static int push(const struct sbx_out *out, const char *p, size_t n, size_t *done,
		struct sbx_err *err)
{
	*done = 0;
	while (*done < n) {
		size_t piece = n - *done;
		ssize_t put;

		if (out->kind == OUT_CAREFUL) {
			if (!ready(out->fd))
				return 0;
			if (piece > PIPE_BUF)
				piece = PIPE_BUF;
		}
		put = write_once(out, p + *done, piece);
		if (put < 0)
			return errno == EAGAIN ? 0 : cannot_write(err, errno);
		*done += (size_t)put;
		/* Full: another attempt would only say so. */
		if ((size_t)put < piece && out->kind != OUT_DIRECT)
			return 0;
	}
	return 0;
}

/* Room for n more bytes at the end of the queue without passing its ceiling. */
static void compact(struct sbx_out *out, size_t n)
{
	size_t pending = sbx_out_pending(out);

	if (out->head >= pending || n > out->queue.max - out->queue.len) {
		sbx_buf_consume(&out->queue, out->head);
		out->head = 0;
	}
}

int sbx_out_add(struct sbx_out *out, const void *p, size_t n, struct sbx_err *err)
{
	size_t pending = sbx_out_pending(out), done = 0;

	if (n > out->queue.max - pending)
		return sbx_fail(err, SBX_E_LIMIT, "more than %zu bytes of output are waiting",
				out->queue.max);
	if (pending == 0 && push(out, p, n, &done, err) < 0)
		return -1;
	if (done == n)
		return 0;
	compact(out, n - done);
	return sbx_buf_add(&out->queue, (const char *)p + done, n - done, err);
}

int sbx_out_flush(struct sbx_out *out, struct sbx_err *err)
{
	size_t pending = sbx_out_pending(out), done;
	int rc;

	if (pending == 0)
		return 0;
	rc = push(out, out->queue.p + out->head, pending, &done, err);
	out->head += done;
	if (done == pending) {
		sbx_buf_reset(&out->queue);
		out->head = 0;
	}
	return rc;
}

size_t sbx_out_pending(const struct sbx_out *out)
{
	return out->queue.len - out->head;
}

bool sbx_out_gone(const struct sbx_out *out)
{
	struct pollfd pfd = {.fd = out->fd, .events = 0};

	return poll(&pfd, 1, 0) > 0 && pfd.revents & (POLLERR | POLLHUP | POLLNVAL);
}

int sbx_out_drain(struct sbx_out *out, uint64_t deadline_ns, struct sbx_err *err)
{
	for (;;) {
		struct pollfd pfd = {.fd = out->fd, .events = POLLOUT};
		int ms;

		if (sbx_out_flush(out, err) < 0)
			return -1;
		if (sbx_out_pending(out) == 0)
			return 0;
		ms = sbx_poll_ms(deadline_ns);
		if (ms == 0)
			return sbx_fail(err, SBX_E_OUTPUT,
					"cannot write the output: its reader left %zu bytes unread",
					sbx_out_pending(out));
		if (poll(&pfd, 1, ms) < 0 && errno != EINTR)
			return cannot_write(err, errno);
	}
}
