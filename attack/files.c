/* Disks and what comes back from them, alone in a run: the host collects and judges. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack/attack.h"

enum { MIB = 1 << 20, FOLDERS = 16, FOLDER_MAX_MIB = 600, DEEP = 1000, WIDE = 3000, LINKS = 20 };

/* ---- DK01: a file in every folder that can be written, one a file system */

struct filling {
	struct walk walk; /* first: what is seen is given this */
	dev_t seen[FOLDERS];
	int fd[FOLDERS];
	char path[FOLDERS][300];
	unsigned int n;
};

static void see_folder(struct walk *w, const char *path, unsigned char type)
{
	struct filling *f = (struct filling *)(void *)w;
	struct stat st;

	if (type != 4 /* DT_DIR */ || f->n == FOLDERS || access(path, W_OK) < 0 ||
	    stat(path, &st) < 0)
		return;
	for (unsigned int i = 0; i < f->n; i++)
		if (f->seen[i] == st.st_dev)
			return;
	(void)snprintf(f->path[f->n], sizeof(f->path[0]), "%.270s/llmsbx-fill", path);
	f->fd[f->n] = open(f->path[f->n], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (f->fd[f->n] >= 0)
		f->seen[f->n++] = st.st_dev;
}

static void dk01(struct attack *a)
{
	static char block[MIB]; /* what everything is filled with */
	struct filling f = {.walk = {.see = see_folder, .attack = a, .left = 400000}};

	memset(block, 'x', sizeof(block));
	walk_tree(&f.walk, "/", 24);
	for (unsigned int i = 0; i < f.n; i++) {
		unsigned int mib = 0;

		while (mib < FOLDER_MAX_MIB && write(f.fd[i], block, sizeof(block)) > 0)
			mib++;
		must_hold(a, mib < FOLDER_MAX_MIB, "%u MiB in %s, then %s", mib, f.path[i],
			  error_name(errno));
		(void)ftruncate(f.fd[i], 0);
		(void)unlink(f.path[i]);
	}
	if (f.n == 0)
		say(a, UNKNOWN, "no folder can be written");
}

/* ---- DK07: a tree that is hard to walk */

static void make_deep(void)
{
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < DEEP && mkdir("d", 0700) == 0 && chdir("d") == 0; i++)
		(void)write_text("f", "deep", 4, 0600);
	if (here >= 0) {
		(void)fchdir(here);
		close(here);
	}
}

static void dk07(struct attack *a)
{
	char name[300];

	(void)a;
	make_deep();
	memset(name, 'n', 255);
	name[255] = '\0';
	(void)write_text(name, "long", 4, 0600);
	(void)write_text("line\nfeed", "x", 1, 0600);
	(void)write_text("\xff\xfe\x80", "x", 1, 0600);
	(void)mkdir("locked", 0700);
	(void)write_text("locked/f", "x", 1, 0);
	(void)chmod("locked", 0);
	(void)write_text("unreadable", "x", 1, 0600);
	(void)chmod("unreadable", 0);
	(void)mkdir("wide", 0700);
	for (int i = 0; i < WIDE; i++) {
		(void)snprintf(name, sizeof(name), "wide/%d", i);
		(void)write_text(name, "x", 1, 0600);
	}
}

/* ---- DK08, CP11: what blocks or changes while it is read */

static void grow(const char *path)
{
	static char block[64 << 10]; /* a piece of a file that grows until the run is over */
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	memset(block, 'g', sizeof(block));
	(void)!write(fd, block, sizeof(block));
	if (fork() != 0)
		return;
	(void)setsid();
	for (int i = 0; i < 100000; i++) {
		if (write(fd, block, sizeof(block)) < 0 || i % 7 == 6)
			(void)ftruncate(fd, (off_t)sizeof(block) / 2);
	}
	_exit(0);
}

static void dk08(struct attack *a)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)a;
	(void)mkfifo("pipe", 0600);
	(void)!bind(fd, (struct sockaddr *)&un, sizeof(un));
	(void)symlink("loop", "loop");
	(void)symlink("/dev/zero", "zero");
	(void)symlink("/dev/tty", "tty");
	(void)symlink("/proc/self/fd/0", "stdin");
	grow("growing");
	sleep_ms(50);
}

static void dk09(struct attack *a)
{
	static char block[MIB]; /* the file that all links lead to */

	(void)a;
	memset(block, 'x', sizeof(block));
	(void)write_text("original", block, sizeof(block), 0600);
	for (int i = 0; i < LINKS; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "link%d", i);
		(void)symlink("original", name);
	}
}

/* ---- CP: what tries to lead the host astray */

static void cp00(struct attack *a)
{
	(void)a;
	(void)mkdir("sub", 0700);
	(void)write_text("sub/result", "a\0b\n", 4, 0600);
}

static void cp01(struct attack *a)
{
	for (size_t i = 0; i < a->plant->n_flags; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "flag%zu", i);
		(void)symlink(a->plant->flags[i], name);
	}
	(void)symlink("/proc/self/environ", "environ");
	(void)symlink("/etc/passwd", "passwd");
	(void)symlink("../../../../../../../../etc/passwd", "relative");
}

static void cp02(struct attack *a)
{
	(void)a;
	(void)symlink("/", "d");
	(void)mkdir("e", 0700);
	(void)symlink("..", "e/up");
	(void)symlink("/proc/self/root", "e/root");
}

/* A folder and a link to / take turns, also after the program has ended. */
static void cp03(struct attack *a)
{
	pid_t pid;

	(void)a;
	(void)mkdir("real", 0700);
	(void)mkdir("real/etc", 0700);
	(void)write_text("real/etc/hostname", "inside", 6, 0600);
	(void)symlink("/", "link");
	(void)symlink("real", "d");
	pid = fork();
	if (pid != 0) {
		sleep_ms(30);
		return;
	}
	(void)setsid();
	for (int i = 0; i < 2000000; i++) {
		(void)syscall(SYS_renameat2, AT_FDCWD, "real", AT_FDCWD, "link", 2 /* EXCHANGE */);
		if (i % 64 == 0)
			(void)write_text("real/etc/hostname", "inside", 6, 0600);
	}
	_exit(0);
}

static void cp04(struct attack *a)
{
	(void)a;
	(void)write_text("setid", "#!/bin/sh\n", 10, 0755);
	(void)chmod("setid", 06777);
	(void)write_text("open", "x", 1, 0666);
	(void)chmod("open", 0666);
	(void)write_text("first", "x", 1, 0600);
	(void)link("first", "second");
}

/* Programs that lie, where a careless host would look for them. */
static void cp08(struct attack *a)
{
	static const char *const names[] = {"tar",  "sh",     "stat",      "cat",
					    "find", "base64", "sha256sum", "ls"};
	static const char lie[] = "#!/bin/sh\necho lied >>/sandbox/lied\n";

	(void)a;
	for (size_t i = 0; i < LENGTH(names); i++)
		(void)write_text(names[i], lie, sizeof(lie) - 1, 0755);
	(void)write_text("result", "x", 1, 0600);
}

const struct probe alone_files[] = {
	{"DK01", dk01}, {"DK07", dk07}, {"DK08", dk08}, {"DK09", dk09},
	{"CP00", cp00}, {"CP01", cp01}, {"CP02", cp02}, {"CP03", cp03},
	{"CP04", cp04}, {"CP08", cp08}, {"CP11", dk08}, {0},
};
