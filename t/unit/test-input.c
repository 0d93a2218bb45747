#include "lib/base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "t/unit/tap.h"

/* What read says, and errno where it fails. */
static long get(const struct sbx_input *in, char *to, size_t n)
{
	ssize_t got = sbx_input_read(in, to, n);

	return got < 0 ? -errno : got;
}

static bool is_ready(const struct sbx_input *in)
{
	struct pollfd p = {.fd = in->fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0 && p.revents != 0;
}

/* Somebody else takes what poll() told of: nothing waits, and nothing is lost or made up.  other writes to what fd reads from. */
static void share(int fd, int other)
{
	struct sbx_input in = sbx_input_open(fd);
	int flags = fcntl(fd, F_GETFL);
	char text[8];

	ok_int(write(other, "ab\n", 3), 3);
	ok(is_ready(&in));
	ok_int(read(fd, text, sizeof(text)), 3);
	ok_int(get(&in, text, sizeof(text)), -EAGAIN);
	ok_int(write(other, "cd\n", 3), 3);
	ok_int(get(&in, text, sizeof(text)), 3);
	ok_mem(text, 3, "cd\n", 3);
	ok_int(fcntl(fd, F_GETFL), flags); /* as the others have it */
	sbx_input_release(&in);
	ok_int(fcntl(fd, F_GETFL), flags);
}

TEST(pipe)
{
	char text[8];
	struct sbx_input in;
	int fds[2];

	ok_int(pipe(fds), 0);
	share(fds[0], fds[1]);
	in = sbx_input_open(fds[0]);
	ok(!is_ready(&in));
	(void)close(fds[1]);
	ok(is_ready(&in));
	ok_int(get(&in, text, sizeof(text)), 0);
	sbx_input_release(&in);
	(void)close(fds[0]);
}

/* Its writer came and went before we looked: its end must show. */
TEST(named_pipe)
{
	char dir[] = "/tmp/sbx-input-XXXXXX", path[64], text[8];
	struct sbx_input in;
	int reader, writer;

	if (!ok(mkdtemp(dir)))
		return;
	(void)snprintf(path, sizeof(path), "%s/pipe", dir);
	ok_int(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	writer = open(path, O_WRONLY | O_CLOEXEC);
	ok_call(sbx_set_nonblock(reader, false, err));
	share(reader, writer);
	ok_int(write(writer, "x", 1), 1);
	(void)close(writer);
	in = sbx_input_open(reader);
	ok(is_ready(&in));
	ok_int(get(&in, text, sizeof(text)), 1);
	ok(is_ready(&in));
	ok_int(get(&in, text, sizeof(text)), 0);
	sbx_input_release(&in);
	(void)close(reader);
	(void)unlink(path);
	(void)rmdir(dir);
}

TEST(socket)
{
	char text[8];
	struct sbx_input in;
	int fds[2];

	ok_int(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	share(fds[0], fds[1]);
	in = sbx_input_open(fds[0]);
	(void)close(fds[1]);
	ok_int(get(&in, text, sizeof(text)), 0);
	sbx_input_release(&in);
	(void)close(fds[0]);
}

TEST(terminal)
{
	int master, slave;

	ok_int(openpty(&master, &slave, NULL, NULL, NULL), 0);
	share(slave, master);
	(void)close(slave);
	(void)close(master);
}

/* From where the descriptor stands, and to its end. */
TEST(file)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct sbx_input in;
	char text[8];

	ok_int(write(fd, "0123456789", 10), 10);
	ok_int(lseek(fd, 4, SEEK_SET), 4);
	in = sbx_input_open(fd);
	ok(is_ready(&in));
	ok_int(get(&in, text, 4), 4);
	ok_mem(text, 4, "4567", 4);
	ok_int(get(&in, text, sizeof(text)), 2);
	ok_int(get(&in, text, sizeof(text)), 0);
	ok_int(lseek(fd, 0, SEEK_CUR), 10); /* whoever reads on begins there */
	sbx_input_release(&in);
	(void)close(fd);
}

TEST(others)
{
	struct sbx_input in;
	char text[4] = "";
	int fds[2];

	fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	in = sbx_input_open(fds[0]);
	ok_int(get(&in, text, sizeof(text)), 0);
	sbx_input_release(&in);
	(void)close(fds[0]);
	in = sbx_input_open(fds[0]);
	ok_int(get(&in, text, sizeof(text)), -EBADF);
	sbx_input_release(&in);
	/* A pipe's writing end is no way to read it. */
	ok_int(pipe(fds), 0);
	ok_int(write(fds[1], "x", 1), 1);
	in = sbx_input_open(fds[1]);
	ok_int(get(&in, text, sizeof(text)), -EBADF);
	sbx_input_release(&in);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

TAP_MAIN(RUN(pipe), RUN(named_pipe), RUN(socket), RUN(terminal), RUN(file), RUN(others))
