#include "lib/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/mem.h"
#include "t/unit/tap.h"

/* A fresh folder; its files are removed with it. */
static char *make_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path = sbx_xasprintf("%s/test-fd.XXXXXX", tmp ? tmp : "/tmp");

	if (!mkdtemp(path))
		abort();
	return path;
}

static void remove_folder(char *folder, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *path = sbx_xasprintf("%s/%s", folder, names[i]);

		(void)remove(path);
		free(path);
	}
	ok_int(rmdir(folder), 0); /* fails if a temporary file was left */
	free(folder);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

TEST(close)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), copy = fd;

	errno = EBADMSG;
	sbx_close(-1);
	sbx_closep(&fd);
	ok_int(errno, EBADMSG);
	ok_int(fd, -1);
	sbx_close(copy); /* closed already: fails, and still leaves errno alone */
	ok_int(errno, EBADMSG);
	ok(!is_open(copy));
}

TEST(read_and_write_in_full)
{
	char bytes[10] = "";
	int fds[2];

	ok_int(pipe2(fds, O_CLOEXEC), 0);
	ok_call(sbx_write_full(fds[1], "hello", 5, err));
	ok_int(sbx_read_full(fds[0], bytes, 3, err), 3);
	ok_str(bytes, "hel");
	sbx_closep(&fds[1]);
	ok_int(sbx_read_full(fds[0], bytes, sizeof(bytes), err), 2);
	ok_int(sbx_read_full(fds[0], bytes, sizeof(bytes), err), 0);
	ok_fail(sbx_write_full(fds[0], "x", 1, err), SBX_E_SYSTEM,
		"cannot write: Bad file descriptor");
	sbx_closep(&fds[0]);
	ok_fail(sbx_read_full(-1, bytes, 1, err), SBX_E_SYSTEM, "cannot read: Bad file descriptor");
}

/* Larger than a pipe, both ends made non-blocking by somebody else, the reader slow. */
TEST(non_blocking)
{
	enum { SIZE = 300000 };
	struct sbx_buf buf = SBX_BUF_INIT(SIZE);
	int fds[2], status = -1;
	pid_t pid;

	ok_int(pipe2(fds, O_CLOEXEC), 0);
	ok_call(sbx_set_nonblock(fds[0], true, err));
	ok_call(sbx_set_nonblock(fds[1], true, err));
	ok(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	pid = fork();
	if (pid == 0) {
		char *bytes = sbx_xcalloc(SIZE, 1);

		(void)usleep(20000);
		_exit(sbx_write_full(fds[1], bytes, SIZE, err) < 0);
	}
	sbx_closep(&fds[1]);
	ok_call(sbx_read_all(fds[0], "pipe", &buf, err));
	ok_int(buf.len, SIZE);
	ok_int(waitpid(pid, &status, 0), pid);
	ok_int(status, 0);
	ok_call(sbx_set_nonblock(fds[0], false, err));
	ok(!(fcntl(fds[0], F_GETFL) & O_NONBLOCK));
	sbx_closep(&fds[0]);
	sbx_buf_release(&buf);
	ok_fail(sbx_set_nonblock(-1, true, err), SBX_E_SYSTEM, "descriptor -1");
}

TEST(read_all_ceiling)
{
	struct sbx_buf buf = SBX_BUF_INIT(5);
	int fds[2];

	ok_int(pipe2(fds, O_CLOEXEC), 0);
	ok_call(sbx_write_full(fds[1], "123456", 6, err));
	sbx_closep(&fds[1]);
	ok_fail(sbx_read_all(fds[0], "the code", &buf, err), SBX_E_LIMIT,
		"'the code' is larger than 5 bytes");
	sbx_closep(&fds[0]);
	sbx_buf_reset(&buf);
	ok_int(pipe2(fds, O_CLOEXEC), 0);
	ok_call(sbx_write_full(fds[1], "12345", 5, err));
	sbx_closep(&fds[1]);
	ok_call(sbx_read_all(fds[0], "the code", &buf, err));
	ok_str(sbx_buf_str(&buf), "12345");
	sbx_closep(&fds[0]);
	sbx_buf_release(&buf);
}

TEST(read_file)
{
	static const char *const names[] = {"file", "pipe"};
	char *folder = make_folder(), *file = sbx_xasprintf("%s/file", folder);
	char *pipe = sbx_xasprintf("%s/pipe", folder), *below = sbx_xasprintf("%s/x", file);
	struct sbx_buf buf = SBX_BUF_INIT(4096);

	ok_fail(sbx_read_file(file, &buf, err), SBX_E_NOT_FOUND, "No such file or directory");
	ok_call(sbx_replace_file(file, "a\0b", 3, 0640, err));
	ok_call(sbx_read_file(file, &buf, err));
	ok_mem(buf.p, buf.len, "a\0b", 3);
	ok_fail(sbx_read_file(below, &buf, err), SBX_E_NOT_FOUND, "Not a directory");
	ok_fail(sbx_read_file(folder, &buf, err), SBX_E_INVALID, "it is a folder");
	ok_int(mkfifo(pipe, 0600), 0);
	ok_fail(sbx_read_file(pipe, &buf, err), SBX_E_INVALID, "it is not a regular file");
	ok_int(buf.len, 3);
	sbx_buf_reset(&buf);
	ok_call(sbx_read_file("/proc/self/stat", &buf, err)); /* says that it is empty */
	ok(buf.len > 0);
	buf.max = 10;
	sbx_buf_release(&buf);
	ok_fail(sbx_read_file("/proc/self/stat", &buf, err), SBX_E_LIMIT, "larger than 10 bytes");
	sbx_buf_release(&buf);
	free(below);
	free(pipe);
	free(file);
	remove_folder(folder, names, SBX_ARRAY_SIZE(names));
}

TEST(replace_file)
{
	static const char *const names[] = {"file"};
	char *folder = make_folder(), *file = sbx_xasprintf("%s/file", folder);
	struct sbx_buf buf = SBX_BUF_INIT(100);
	mode_t mask = umask(077);
	struct stat st;

	ok_call(sbx_replace_file(file, "first", 5, 0644, err));
	ok_call(sbx_replace_file(file, "2", 1, 0640, err));
	ok_call(sbx_read_file(file, &buf, err));
	ok_str(sbx_buf_str(&buf), "2");
	ok_int(stat(file, &st), 0);
	ok_int(st.st_mode & 07777, 0640);
	/* A folder cannot be replaced, and nothing stays beside it. */
	ok_int(remove(file), 0);
	ok_int(mkdir(file, 0700), 0);
	ok_fail(sbx_replace_file(file, "3", 1, 0600, err), SBX_E_SYSTEM, "cannot replace");
	ok_fail(sbx_replace_file("/nonexistent/x", "3", 1, 0600, err), SBX_E_SYSTEM,
		"beside '/nonexistent/x': No such file");
	(void)umask(mask);
	sbx_buf_release(&buf);
	free(file);
	remove_folder(folder, names, SBX_ARRAY_SIZE(names));
}

TEST(write_text)
{
	static const char *const names[] = {"file"};
	char *folder = make_folder(), *file = sbx_xasprintf("%s/file", folder);
	struct sbx_buf buf = SBX_BUF_INIT(100);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ok_fail(sbx_write_text_at(fd, "file", "max\n", err), SBX_E_SYSTEM,
		"cannot open 'file': No such file");
	ok_call(sbx_replace_file(file, "", 0, 0600, err));
	ok_call(sbx_write_text_at(fd, "file", "max\n", err));
	ok_call(sbx_write_text_at(AT_FDCWD, file, "min\n", err));
	ok_call(sbx_read_file(file, &buf, err));
	ok_str(sbx_buf_str(&buf), "min\n");
	ok_fail(sbx_write_text_at(AT_FDCWD, "/dev/full", "1\n", err), SBX_E_SYSTEM,
		"cannot write '1' to '/dev/full': No space left");
	sbx_closep(&fd);
	sbx_buf_release(&buf);
	free(file);
	remove_folder(folder, names, SBX_ARRAY_SIZE(names));
}

/* In a child, since it loses its standard descriptors; bits of its status tell what was wrong. */
static int fill_in_child(struct sbx_err *err)
{
	int status = 0, wrong = 0;
	pid_t pid = fork();
	char c;

	if (pid == 0) {
		for (int fd = 0; fd < 3; fd++)
			(void)close(fd);
		wrong |= sbx_fill_standard_fds(err) < 0 ? 1 : 0;
		wrong |= read(0, &c, 1) != 0 ? 2 : 0;
		wrong |= write(1, "x", 1) != 1 ? 4 : 0;
		wrong |= write(2, "x", 1) != 1 ? 8 : 0;
		wrong |= is_open(3) ? 16 : 0;
		wrong |= fcntl(1, F_GETFD) != 0 ? 32 : 0;
		_exit(wrong);
	}
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(standard_descriptors)
{
	ok_call(sbx_fill_standard_fds(err));
	ok_int(fill_in_child(err), 0);
}

TAP_MAIN(RUN(close), RUN(read_and_write_in_full), RUN(non_blocking), RUN(read_all_ceiling),
	 RUN(read_file), RUN(replace_file), RUN(write_text), RUN(standard_descriptors))
