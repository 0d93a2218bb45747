#include "lib/event/out.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "t/unit/tap.h"

enum { MIB = 1 << 20 };

/* n bytes of which no two neighbourhoods are alike. */
static char *pattern(size_t n)
{
	char *p = sbx_xcalloc(n, 1);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)(i * 31 + i / 251);
	return p;
}

static uint64_t in_ms(uint64_t ms)
{
	return sbx_deadline(ms * 1000000);
}

static bool is_nonblocking(int fd)
{
	return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

/* Whatever is behind fd: a megabyte is taken without waiting, the flags of fd stay, and the reader gets every byte. */
static void slow_reader(int writer, int reader, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *sent = pattern(MIB);
	SBX_CLEANUP(sbx_freep) char *got = sbx_xcalloc(MIB + 1, 1);
	size_t n = 0;
	struct sbx_out out;

	if (!ok_call(sbx_out_open(&out, writer, 2 * MIB, err)))
		return;
	ok_call(sbx_out_add(&out, sent, 300000, err));
	ok(sbx_out_pending(&out) > 0);
	for (size_t at = 300000; at < MIB; at += 1024)
		ok_call(sbx_out_add(&out, sent + at, at + 1024 < MIB ? 1024 : MIB - at, err));
	ok(!is_nonblocking(writer));
	ok(!sbx_out_gone(&out));
	ok_fail(sbx_out_drain(&out, in_ms(20), err), SBX_E_OUTPUT, "bytes unread");
	while (n < MIB) {
		ssize_t more = read(reader, got + n, 5000);

		if (!ok(more > 0))
			break;
		n += (size_t)more;
		ok_call(sbx_out_flush(&out, err));
	}
	ok_mem(got, n, sent, MIB);
	ok_int(sbx_out_pending(&out), 0);
	ok_call(sbx_out_drain(&out, 0, err));
	sbx_out_release(&out);
	sbx_out_release(&out);
}

TEST(pipe_is_reopened)
{
	int fds[2];
	struct sbx_out out;

	ok(pipe2(fds, O_CLOEXEC) == 0);
	ok_call(sbx_out_open(&out, fds[1], 10, err));
	ok(out.fd != fds[1] && out.own_fd);
	ok_int(fcntl(out.fd, F_GETFD), FD_CLOEXEC);
	sbx_out_release(&out);
	slow_reader(fds[1], fds[0], err);
	close(fds[0]);
	close(fds[1]);
}

TEST(socket)
{
	int fds[2];

	ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
	slow_reader(fds[1], fds[0], err);
	close(fds[0]);
	close(fds[1]);
}

/* Without a description of our own, as with another user's pipe: here for want of a free descriptor. */
TEST(pipe_that_cannot_be_reopened)
{
	struct rlimit old, none;
	struct sbx_out out;
	int fds[2], top;

	ok(pipe2(fds, O_CLOEXEC) == 0);
	top = dup(fds[1]);
	close(top);
	ok(getrlimit(RLIMIT_NOFILE, &old) == 0);
	none = (struct rlimit){.rlim_cur = (rlim_t)top, .rlim_max = old.rlim_max};
	ok(setrlimit(RLIMIT_NOFILE, &none) == 0);
	ok_call(sbx_out_open(&out, fds[1], 10, err));
	ok(out.fd == fds[1] && !out.own_fd);
	sbx_out_release(&out);
	slow_reader(fds[1], fds[0], err);
	ok(setrlimit(RLIMIT_NOFILE, &old) == 0);
	ok(fcntl(fds[1], F_GETFD) >= 0); /* borrowed: not closed */
	close(fds[0]);
	close(fds[1]);
}

TEST(terminal)
{
	struct termios raw;
	int master, slave;

	ok(openpty(&master, &slave, NULL, NULL, NULL) == 0);
	ok(tcgetattr(slave, &raw) == 0);
	cfmakeraw(&raw);
	ok(tcsetattr(slave, TCSANOW, &raw) == 0);
	slow_reader(slave, master, err);
	close(master);
	close(slave);
}

/* A stopped terminal (^S) must not stop the deadline of a run. */
TEST(stopped_terminal)
{
	struct sbx_out out;
	int master, slave;

	ok(openpty(&master, &slave, NULL, NULL, NULL) == 0);
	ok(tcflow(slave, TCOOFF) == 0);
	ok_call(sbx_out_open(&out, slave, MIB, err));
	ok_call(sbx_out_add(&out, "hello", 5, err));
	ok_int(sbx_out_pending(&out), 5);
	ok(tcflow(slave, TCOON) == 0);
	ok_call(sbx_out_drain(&out, in_ms(5000), err));
	sbx_out_release(&out);
	close(master);
	close(slave);
}

TEST(file)
{
	SBX_CLEANUP(sbx_freep) char *sent = pattern(MIB), *got = sbx_xcalloc(MIB + 1, 1);
	int fd = memfd_create("out", MFD_CLOEXEC);
	struct sbx_out out;

	ok_call(sbx_out_open(&out, fd, MIB, err));
	ok(!out.own_fd);
	ok_call(sbx_out_add(&out, sent, MIB, err));
	ok_int(sbx_out_pending(&out), 0);
	ok(out.queue.p == NULL); /* not copied */
	ok_int(pread(fd, got, MIB + 1, 0), MIB);
	ok_mem(got, MIB, sent, MIB);
	sbx_out_release(&out);
	ok(fcntl(fd, F_GETFD) >= 0);
	close(fd);
}

TEST(full_device)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct sbx_out out;

	ok_call(sbx_out_open(&out, fd, 100, err));
	ok_int(sbx_out_add(&out, "x", 1, err), -1);
	ok_int(err->sys, ENOSPC);
	ok_fail(-1, SBX_E_OUTPUT, "cannot write the output: No space left on device");
	sbx_out_release(&out);
	close(fd);
}

TEST(null_device)
{
	SBX_CLEANUP(sbx_freep) char *sent = pattern(MIB);
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct sbx_out out;

	ok_call(sbx_out_open(&out, fd, MIB, err));
	ok_call(sbx_out_add(&out, sent, MIB, err));
	ok_int(sbx_out_pending(&out), 0);
	ok(!sbx_out_gone(&out));
	sbx_out_release(&out);
	close(fd);
}

/* The reader goes away while bytes wait: seen without a write, and by the write. */
static void reader_leaves(int writer, int reader, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *sent = pattern(MIB);
	struct sbx_out out;

	(void)signal(SIGPIPE, SIG_IGN);
	ok_call(sbx_out_open(&out, writer, MIB, err));
	ok(!sbx_out_gone(&out));
	ok_call(sbx_out_add(&out, sent, MIB, err));
	close(reader);
	ok(sbx_out_gone(&out));
	ok_int(sbx_out_drain(&out, SBX_UNLIMITED, err), -1);
	ok_int(err->sys, EPIPE);
	ok_fail(-1, SBX_E_OUTPUT, "cannot write the output: Broken pipe");
	sbx_out_release(&out);
	close(writer);
}

TEST(reader_leaves_a_pipe)
{
	int fds[2];

	ok(pipe2(fds, O_CLOEXEC) == 0);
	reader_leaves(fds[1], fds[0], err);
}

TEST(reader_leaves_a_socket)
{
	int fds[2];

	ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
	reader_leaves(fds[1], fds[0], err);
}

/* A connection whose reader left bytes of ours unread is reset, which is no other fault. */
TEST(reset_connection)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr *name = (struct sockaddr *)&at;
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int writer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), reader;
	struct sbx_out out;

	ok(bind(listener, name, len) == 0 && listen(listener, 1) == 0);
	ok(getsockname(listener, name, &len) == 0 && connect(writer, name, len) == 0);
	reader = accept(listener, NULL, NULL);
	ok_call(sbx_out_open(&out, writer, 100, err));
	ok_call(sbx_out_add(&out, "unread", 6, err));
	ok(recv(reader, &(char){0}, 1, MSG_PEEK) == 1);
	close(reader);
	ok(sbx_out_gone(&out));
	ok_int(sbx_out_add(&out, "x", 1, err), -1);
	ok_int(err->sys, EPIPE);
	sbx_err_clear(err);
	sbx_out_release(&out);
	close(writer);
	close(listener);
}

TEST(pipe_without_a_reader)
{
	struct sbx_out out;
	int fds[2];

	ok(pipe2(fds, O_CLOEXEC) == 0);
	close(fds[0]);
	(void)signal(SIGPIPE, SIG_IGN);
	ok_call(sbx_out_open(&out, fds[1], 100, err));
	ok(sbx_out_gone(&out));
	ok_int(sbx_out_add(&out, "x", 1, err), -1);
	ok_int(err->sys, EPIPE);
	sbx_err_clear(err);
	sbx_out_release(&out);
	close(fds[1]);
}

TEST(full_queue)
{
	SBX_CLEANUP(sbx_freep) char *sent = pattern(MIB);
	SBX_CLEANUP(sbx_freep) char *got = sbx_xcalloc(MIB + 1, 1);
	struct sbx_out out;
	size_t sent_n = 200000, got_n = 0, room;
	int fds[2];

	ok(pipe2(fds, O_CLOEXEC) == 0);
	ok_call(sbx_out_open(&out, fds[1], 200000, err));
	ok_fail(sbx_out_add(&out, sent, 200001, err), SBX_E_LIMIT, "more than 200000 bytes");
	ok_int(sbx_out_pending(&out), 0);
	ok_call(sbx_out_add(&out, sent, sent_n, err));
	/* Whenever the queue is full to the last byte, what leaves makes exactly that much room. */
	for (int i = 0; i < 50; i++) {
		room = 200000 - sbx_out_pending(&out);
		ok(i == 0 || room > 0);
		ok_call(sbx_out_add(&out, sent + sent_n, room, err));
		sent_n += room;
		ok_fail(sbx_out_add(&out, "x", 1, err), SBX_E_LIMIT, "more than 200000 bytes");
		got_n += (size_t)read(fds[0], got + got_n, 8192);
		ok_call(sbx_out_flush(&out, err));
	}
	while (got_n < sent_n && ok_call(sbx_out_flush(&out, err)))
		got_n += (size_t)read(fds[0], got + got_n, MIB - got_n);
	ok_mem(got, got_n, sent, sent_n);
	sbx_out_release(&out);
	close(fds[0]);
	close(fds[1]);
}

TEST(not_writable)
{
	struct sbx_out out;
	int fds[2], fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ok_fail(sbx_out_open(&out, -1, 10, err), SBX_E_OUTPUT, "Bad file descriptor");
	ok_fail(sbx_out_open(&out, fd, 10, err), SBX_E_OUTPUT, "Bad file descriptor");
	close(fd);
	ok(pipe2(fds, O_CLOEXEC) == 0);
	ok_fail(sbx_out_open(&out, fds[0], 10, err), SBX_E_OUTPUT, "Bad file descriptor");
	close(fds[0]);
	close(fds[1]);
}

/* Everything arrives in order through a queue that is never empty, with the reader in a process of its own. */
TEST(drain)
{
	SBX_CLEANUP(sbx_freep) char *sent = pattern(MIB);
	struct sbx_out out;
	int fds[2], status = -1;
	pid_t pid;

	ok(pipe2(fds, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		char *got = sbx_xcalloc(MIB + 1, 1);
		ssize_t n;

		close(fds[1]);
		n = sbx_read_full(fds[0], got, MIB + 1, err);
		_exit(n == MIB && memcmp(got, sent, MIB) == 0 ? 0 : 1);
	}
	close(fds[0]);
	ok_call(sbx_out_open(&out, fds[1], MIB, err));
	ok_call(sbx_out_add(&out, sent, MIB, err));
	ok_call(sbx_out_drain(&out, in_ms(20000), err));
	ok_int(sbx_out_pending(&out), 0);
	sbx_out_release(&out);
	close(fds[1]);
	ok(waitpid(pid, &status, 0) == pid);
	ok_int(status, 0);
}

TAP_MAIN(RUN(pipe_is_reopened), RUN(socket), RUN(pipe_that_cannot_be_reopened), RUN(terminal),
	 RUN(stopped_terminal), RUN(file), RUN(full_device), RUN(null_device),
	 RUN(reader_leaves_a_pipe), RUN(reader_leaves_a_socket), RUN(reset_connection),
	 RUN(pipe_without_a_reader), RUN(full_queue), RUN(not_writable), RUN(drain))
