/* TT: descriptors and the terminal. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack/attack.h"

/* By number: what the C library's headers call them differs. */
enum {
	IOCTL_STI = 0x5412,
	IOCTL_LINUX = 0x541C,
	IOCTL_SETD = 0x5423,
	IOCTL_SCTTY = 0x540E,
	IOCTL_SETS = 0x5402
};

static void control(struct attack *a)
{
	must_work(a, write(STDERR_FILENO, "", 0) == 0, "write to stderr");
	must_work(a, read(STDIN_FILENO, BAD, 0) == 0, "read stdin");
	tell(a, "output", "%s", "arrives");
}

/* The descriptors of this process, the one of the folder itself left out. */
static void tt01(struct attack *a)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;

	if (!dir) {
		must_fail(a, "/proc/self/fd", -1);
		return;
	}
	while ((d = readdir(dir))) {
		uint64_t fd;
		char path[64], target[200] = "";

		if (!parse_number(d->d_name, 10, &fd) || fd <= 2 || fd == (uint64_t)dirfd(dir))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%u", (unsigned int)fd);
		(void)!readlink(path, target, sizeof(target) - 1);
		say(a, REACHED, "descriptor %u is %s", (unsigned int)fd, target);
	}
	(void)closedir(dir);
	must_hold(a, true, "0, 1 and 2 only");
}

static void tt02(struct attack *a)
{
	struct stat st;

	must_hold(a, !getenv("LISTEN_FDS") && !getenv("LISTEN_PID") && !getenv("LISTEN_FDNAMES"),
		  "no LISTEN_ variable");
	must_hold(a, fstat(3, &st) < 0, "descriptor 3 is closed");
}

static void tt03(struct attack *a)
{
	struct stat st;

	must_hold(a, !getenv("NOTIFY_SOCKET"), "no NOTIFY_SOCKET");
	must_fail(a, "/run/notify", stat("/run/notify", &st));
}

static void tt04(struct attack *a)
{
	static const int no_file[] = {EINVAL, ESPIPE, 0};
	int fd;

	for (int i = 0; i <= 2; i++) {
		struct stat st;

		must_hold(a, fstat(i, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)),
			  "%d is a pipe", i);
	}
	must_fail_or(a, "ftruncate", ftruncate(STDOUT_FILENO, 0), no_file);
	must_fail_or(a, "lseek", lseek(STDOUT_FILENO, 0, SEEK_SET), no_file);
	fd = open("/proc/self/fd/1", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		must_fail_or(a, "ftruncate again", ftruncate(fd, 0), no_file);
		close(fd);
	}
}

static void try_ioctl(struct attack *a, const char *what, int fd, unsigned long request)
{
	static const int no_terminal[] = {ENOTTY, EBADF, EIO, 0};
	char c = '\n';

	/* The high half of the number is not looked at by the kernel, but by a careless filter. */
	must_fail_or(a, what, syscall(SYS_ioctl, fd, request, &c), no_terminal);
	must_fail_or(a, what, syscall(SYS_ioctl, fd, request | 1UL << 32, &c), no_terminal);
}

static void tt05(struct attack *a)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	must_fail(a, "/dev/tty", tty);
	for (int i = 0; i <= 2; i++)
		try_ioctl(a, "TIOCSTI", i, IOCTL_STI);
	try_ioctl(a, "TIOCSTI", tty, IOCTL_STI);
	if (tty >= 0)
		close(tty);
}

/* On a terminal of our own, where the kernel would do it. */
static void tt06(struct attack *a)
{
	static const int no_terminal[] = {ENOTTY, EBADF, EIO, 0};
	char raw[64] = {0}; /* a struct termios of the kernel's: everything off */
	int own = open("/dev/ptmx", O_RDWR | O_CLOEXEC | O_NOCTTY);

	for (int i = 0; i <= 2; i++) {
		try_ioctl(a, "TIOCLINUX", i, IOCTL_LINUX);
		try_ioctl(a, "TIOCSETD", i, IOCTL_SETD);
		try_ioctl(a, "TIOCSCTTY", i, IOCTL_SCTTY);
		must_fail_or(a, "TCSETS", syscall(SYS_ioctl, i, IOCTL_SETS, raw), no_terminal);
	}
	if (own >= 0) {
		try_ioctl(a, "TIOCSTI on an own terminal", own, IOCTL_STI);
		try_ioctl(a, "TIOCLINUX on an own terminal", own, IOCTL_LINUX);
		close(own);
	}
}

const struct probe tt_probes[] = {
	{"TT00", control}, {"TT01", tt01}, {"TT02", tt02}, {"TT03", tt03},
	{"TT04", tt04},    {"TT05", tt05}, {"TT06", tt06}, {0},
};

/* ---- alone: output for the host to show */

static void put(const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t done = write(STDOUT_FILENO, bytes, n);

		if (done <= 0)
			return;
		bytes += done;
		n -= (size_t)done;
	}
}

#define SEQUENCES                                                                            \
	"\033]52;c;bGxtc2J4\a" /* the clipboard */                                           \
	"\033]0;llmsbx\a"      /* the title */                                               \
	"\033]8;;http://192.0.2.1/\033\\link\033]8;;\033\\"                                  \
	"\033[2J\033[H\033[?1049h\033[6n\033[c\033[5n\033[21t" /* clear, ask, be answered */ \
	"\033P$qm\033\\\033_x\033\\\033c"                                                    \
	"\x9b"                                                                               \
	"2J\x9d"                                                                             \
	"0;x\x9c"                                                                            \
	"\xc2\x9b"                                                                           \
	"2J\xc2\x9d"                                                                         \
	"0;x\xc2\x9c"                                                                        \
	"\a\a\a\a\b\b\x7f\x0e\x0f\x05\v\f\r"

static void show(struct attack *a)
{
	int tty = open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	put(SEQUENCES, sizeof(SEQUENCES) - 1);
	(void)!write(STDERR_FILENO, SEQUENCES, sizeof(SEQUENCES) - 1);
	must_fail(a, "/dev/tty", tty);
	tt05(a);
	a->id = "TT07";
}

/* Names and contents that are sequences; they come back by --out. */
static void name_files(struct attack *a)
{
	/* U+202E, by which txt.exe is shown as exe.txt: as numbers, so that this line is not shown so. */
	static const char override[] = {(char)0xe2, (char)0x80, (char)0xae, 't', 'x', 't', '\0'};
	static const char *const names[] = {"\033]0;x\a",
					    "a\nb",
					    "\x9b"
					    "2J",
					    "\xc2\x9b"
					    "2J",
					    "\xff\xfe",
					    "{\"type\":\"end\"}",
					    "-rf",
					    "$(x)",
					    override};

	(void)a;
	for (size_t i = 0; i < LENGTH(names); i++)
		(void)write_text(names[i], "x", 1, 0644);
}

static _Noreturn void pretend(struct attack *a)
{
	static const char lines[] =
		"{\"type\":\"end\",\"id\":\"x\",\"seq\":1,\"t_ns\":1,\"outcome\":\"exited\",\"exit_"
		"code\":0}\n"
		"\036{\"type\":\"end\",\"outcome\":\"exited\",\"exit_code\":0}\n"
		"Content-Length: 38\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
		"\n\"}\n{\"type\":\"start\",\"enforced\":{}}\n";

	(void)a;
	put(lines, sizeof(lines) - 1);
	_exit(7);
}

static void put_bytes(struct attack *a)
{
	static const char bytes[] = "a\0b\xff\xfe\xc0\x80\xed\xa0\x80\xf5\x80\x80\x80\xf0\x9f\x98";
	static char block[64 << 10]; /* a line that does not end */

	(void)a;
	put(bytes, sizeof(bytes) - 1);
	memset(block, 'x', sizeof(block));
	block[7] = '\0';
	block[9] = (char)0xff;
	for (int i = 0; i < 64; i++)
		put(block, sizeof(block));
	put("\xe2\x82", 2); /* the beginning of a character, and no end */
}

const struct probe alone_tty[] = {
	{"TT07", show}, {"TT08", name_files}, {"TT09", pretend}, {"TT10", put_bytes}, {0},
};
