#include "lib/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/mem.h"

/* The first read, and the largest: a page for what is small, which most is, without a mapping made and torn down for it. */
enum { READ_FIRST = 4095, READ_CHUNK = 64 << 10 };

/* How much to read next: as much as is there already, so that there are few reads whatever the size. */
static size_t next_chunk(const struct sbx_buf *buf)
{
	size_t room = buf->max - buf->len, chunk = buf->len;

	if (chunk < READ_FIRST)
		chunk = READ_FIRST;
	if (chunk > READ_CHUNK)
		chunk = READ_CHUNK;
	return room < chunk ? room : chunk;
}

void sbx_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		(void)close(fd); /* EINTR too leaves it closed on Linux: never again */
	errno = saved;
}

void sbx_closep(int *fd)
{
	sbx_close(*fd);
	*fd = -1;
}

/*
 * Whether a failed read or write shall be tried again.  EAGAIN happens on "blocking" descriptors too: the flag belongs to the open
 * file, and whoever shares our stdin or stdout (node does) may have set it.
 */
static bool again(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};
	int saved = errno;

	if (errno == EINTR)
		return true;
	if (errno != EAGAIN)
		return false;
	(void)poll(&p, 1, -1);
	errno = saved;
	return true;
}

static ssize_t read_some(int fd, void *p, size_t n)
{
	ssize_t got;

	do
		got = read(fd, p, n);
	while (got < 0 && again(fd, POLLIN));
	return got;
}

ssize_t sbx_read_full(int fd, void *p, size_t n, struct sbx_err *err)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = read_some(fd, (char *)p + done, n - done);

		if (got < 0)
			return sbx_fail_sys(err, errno, "cannot read");
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int sbx_write_full(int fd, const void *p, size_t n, struct sbx_err *err)
{
	const char *at = p;

	while (n > 0) {
		ssize_t put = write(fd, at, n);

		if (put < 0 && again(fd, POLLOUT))
			continue;
		if (put < 0)
			return sbx_fail_sys(err, errno, "cannot write");
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

int sbx_read_all(int fd, const char *what, struct sbx_buf *buf, struct sbx_err *err)
{
	for (;;) {
		size_t chunk = next_chunk(buf);
		char *p, beyond;
		ssize_t got;

		if (sbx_buf_reserve(buf, chunk, &p, err) < 0)
			return sbx_wrap(err, "cannot read '%s'", what);
		got = chunk > 0 ? read_some(fd, p, chunk) : read_some(fd, &beyond, 1);
		if (got < 0)
			return sbx_fail_sys(err, errno, "cannot read '%s'", what);
		if (got == 0)
			return 0;
		if (chunk == 0)
			return sbx_fail(err, SBX_E_LIMIT, "'%s' is larger than %zu bytes", what,
					buf->max);
		buf->len += (size_t)got;
		buf->p[buf->len] = '\0';
	}
}

int sbx_read_file(const char *path, struct sbx_buf *buf, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int fd = -1;
	struct stat st;

	/* O_NONBLOCK: opening a pipe must not wait for a writer before it can be refused. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		int num = errno;

		(void)sbx_fail(err, SBX_E_NOT_FOUND, "cannot open '%s': %s", path,
			       sbx_strerror(num));
		err->sys = num;
		return -1;
	}
	if (fd < 0)
		return sbx_fail_sys(err, errno, "cannot open '%s'", path);
	if (fstat(fd, &st) < 0)
		return sbx_fail_sys(err, errno, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_INVALID, "cannot read '%s': %s", path,
				S_ISDIR(st.st_mode) ? "it is a folder"
						    : "it is not a regular file");
	return sbx_read_all(fd, path, buf, err);
}

int sbx_write_text_at(int dirfd, const char *path, const char *text, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int fd = -1;
	size_t n = strlen(text);
	ssize_t put;

	fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_sys(err, errno, "cannot open '%s'", path);
	do
		put = write(fd, text, n);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		return sbx_fail_sys(err, errno, "cannot write '%.*s' to '%s'",
				    (int)strcspn(text, "\n"), text, path);
	if ((size_t)put != n)
		return sbx_fail(err, SBX_E_SYSTEM, "cannot write '%.*s' to '%s': cut short",
				(int)strcspn(text, "\n"), text, path);
	return 0;
}

/* Everything of sbx_replace_file that happens in the temporary file. */
static int fill(int fd, const void *p, size_t n, mode_t mode, struct sbx_err *err)
{
	if (sbx_write_full(fd, p, n, err) < 0)
		return -1;
	if (fchmod(fd, mode) < 0)
		return sbx_fail_sys(err, errno, "cannot set its mode");
	/* Before the rename: after a crash the name must not stand for an empty file. */
	if (fsync(fd) < 0)
		return sbx_fail_sys(err, errno, "cannot sync");
	return 0;
}

int sbx_replace_file(const char *path, const void *p, size_t n, mode_t mode, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *tmp = sbx_xasprintf("%s.tmp.XXXXXX", path);
	SBX_CLEANUP(sbx_closep) int fd = -1;

	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_sys(err, errno, "cannot create a file beside '%s'", path);
	if (fill(fd, p, n, mode, err) < 0) {
		(void)unlink(tmp);
		return sbx_wrap(err, "'%s'", path);
	}
	if (rename(tmp, path) < 0) {
		int num = errno;

		(void)unlink(tmp);
		return sbx_fail_sys(err, num, "cannot replace '%s'", path);
	}
	return 0;
}

int sbx_set_nonblock(int fd, bool on, struct sbx_err *err)
{
	int flags = fcntl(fd, F_GETFL), wanted;

	if (flags < 0)
		return sbx_fail_sys(err, errno, "cannot read the flags of descriptor %d", fd);
	wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	if (wanted != flags && fcntl(fd, F_SETFL, wanted) < 0)
		return sbx_fail_sys(err, errno, "cannot set the flags of descriptor %d", fd);
	return 0;
}

int sbx_fill_standard_fds(struct sbx_err *err)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* Inherited by children like any other standard descriptor; the lowest free one is fd. */
		if (open("/dev/null", O_RDWR | O_NOCTTY) != fd)
			return sbx_fail_sys(err, errno, "cannot open '/dev/null'");
	}
	return 0;
}

uint64_t sbx_raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_max;
}
