/*
 * Theory of operation.  As with output (lib/event/out.c), O_NONBLOCK belongs to an open file description that we share, so we ask for
 * one of our own by opening /proc/self/fd/N again.  Only reads go there.  poll() is asked about the descriptor that we were given:
 * a pipe with a name whose writers have gone tells its end to those who had it open then, not to those who open it later.  Where
 * opening is refused (another user's pipe, no /proc) the read itself is asked not to wait, which kernels before 6.5 cannot do for
 * every kind: there a byte that somebody else takes between poll() and read() makes us wait for the next one.
 */
#include "lib/base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/fd.h"

static int reopen(int fd)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

struct sbx_input sbx_input_open(int fd)
{
	struct sbx_input in = {.fd = fd, .read_fd = fd};
	int flags = fcntl(fd, F_GETFL), own = -1;
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return in;
	in.socket = S_ISSOCK(st.st_mode);
	in.file = S_ISREG(st.st_mode);
	/* Opening a pipe's writing end again would give a reading one. */
	if ((flags & O_ACCMODE) != O_WRONLY && (S_ISFIFO(st.st_mode) || isatty(fd)))
		own = reopen(fd);
	in.own = own >= 0;
	if (in.own)
		in.read_fd = own;
	return in;
}

void sbx_input_release(struct sbx_input *in)
{
	if (in->own)
		sbx_close(in->read_fd);
	*in = (struct sbx_input){.fd = -1, .read_fd = -1};
}

ssize_t sbx_input_read(const struct sbx_input *in, void *p, size_t n)
{
	struct iovec v = {.iov_base = p, .iov_len = n};
	ssize_t got;

	if (in->socket)
		return recv(in->read_fd, p, n, MSG_DONTWAIT);
	/* Of a file, "not now" would mean that it is not in memory yet, which poll() does not wait for. */
	if (in->own || in->file)
		return read(in->read_fd, p, n);
	got = preadv2(in->read_fd, &v, 1, -1, RWF_NOWAIT);
	return got < 0 && errno != EAGAIN ? read(in->read_fd, p, n) : got;
}
