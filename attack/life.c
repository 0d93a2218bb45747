/* What runs alone because it may end everything, waits for a second run, or outlives its parent. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.h"

enum { BESIDE_MS = 1500 };

/* A file that two runs may share, and that is never written. */
static const char shared_file[] = "/usr/bin/env";
static const char *const scratch[] = {"/tmp", "/dev/shm"};

static void nothing(struct attack *a)
{
	(void)a;
}

/* ---- two at once: A plants, B looks */

static void tell_who(struct attack *a)
{
	char text[1024], *rest = text;
	uint64_t inside, host, count;
	ssize_t n = readlink("/proc/self/ns/net", text, 64);

	if (n > 0) {
		text[n] = '\0';
		tell(a, "netns", "%s", text);
	}
	if (read_text("/proc/self/uid_map", text, sizeof(text)) < 0)
		return;
	while (take_number(&rest, &inside) && take_number(&rest, &host) &&
	       take_number(&rest, &count))
		tell(a, "uid_map", "%llu %llu", (unsigned long long)host,
		     (unsigned long long)count);
}

static void pair_a(struct attack *a)
{
	int fd = open(shared_file, O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < LENGTH(scratch); i++) {
		char path[100];

		(void)snprintf(path, sizeof(path), "%s/%s", scratch[i], a->plant->nonce);
		if (write_text(path, "a", 1, 0666) < 0)
			tell(a, "error", "%s: %s", path, error_name(errno));
	}
	if (fd >= 0)
		(void)flock(fd, LOCK_EX);
	tell_who(a);
	tell(a, "ready", "%s", "");
	sleep_ms(BESIDE_MS);
}

static void look_for_a(struct attack *a)
{
	for (size_t i = 0; i < LENGTH(scratch); i++) {
		char path[100];
		struct stat st;

		(void)snprintf(path, sizeof(path), "%s/%s", scratch[i], a->plant->nonce);
		must_fail(a, path, stat(path, &st));
	}
	a->id = "PR10";
	report(a);
}

static void pair_b(struct attack *a)
{
	int fd = open(shared_file, O_RDONLY | O_CLOEXEC);

	tell_who(a);
	look_for_a(a);
	a->id = "PR09";
	a->verdict = NONE;
	if (fd < 0)
		must_fail(a, shared_file, -1);
	else if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		say(a, REACHED, "a lock on %s is seen", shared_file);
	else
		say(a, CONTAINED, "a lock on %s is not seen", shared_file);
}

/* ---- a read-only mount of the host's at /mnt/host */

static void fs18(struct attack *a)
{
	struct stat st, root;
	char text[16];

	if (read_text("/mnt/host/file", text, sizeof(text)) < 0) {
		say(a, UNKNOWN, "the mount is not there: %s", error_name(errno));
		return;
	}
	must_not_open(a, "/mnt/host/file", O_WRONLY);
	must_not_open(a, "/mnt/host/new", O_WRONLY | O_CREAT);
	must_not_open(a, "/mnt/host/below/new", O_WRONLY | O_CREAT);
	must_fail(a, "chmod", chmod("/mnt/host/file", 0777));
	must_fail(a, "unlink", unlink("/mnt/host/file"));
	must_fail(a, "rename out", rename("/mnt/host/file", "/tmp/file"));
	must_fail(a, "rename below", rename("/mnt/host/file", "/mnt/host/below/file"));
	must_fail(a, "remount", mount(NULL, "/mnt/host", NULL, MS_REMOUNT | MS_BIND, NULL));
	must_hold(a,
		  stat("/mnt/host/../..", &st) == 0 && stat("/", &root) == 0 &&
			  st.st_ino == root.st_ino && st.st_dev == root.st_dev,
		  ".. leads to our own root");
}

/* ---- killing everything */

/* Everything but oneself, and process 1 by number. */
static void pr02(struct attack *a)
{
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			sleep_ms(60000);
			_exit(0);
		}
	}
	(void)kill(-1, SIGKILL);
	(void)kill(1, SIGKILL);
	(void)signal(SIGTERM, SIG_IGN);
	(void)kill(0, SIGTERM);
	(void)kill(-1, SIGTERM);
	while (wait(NULL) > 0)
		;
	say(a, CONTAINED, "who killed everything it could can still say so");
}

static void sleep_on(struct attack *a)
{
	(void)a;
	sleep_ms(BESIDE_MS);
}

/* ---- deadlines */

static void ignore_all(void)
{
	sigset_t all;

	for (int sig = 1; sig < 65; sig++)
		(void)signal(sig, SIG_IGN);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
}

static void tm01(struct attack *a)
{
	(void)a;
	ignore_all();
	sleep_ms(60000);
}

/* Its own session, no parent, stdout held: what is left when the program has ended. */
static void hide(unsigned int ms)
{
	if (fork() != 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, 0);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)setsid();
	if (fork() != 0)
		_exit(0);
	(void)setsid();
	ignore_all();
	sleep_ms(ms);
	_exit(0);
}

static void tm02(struct attack *a)
{
	(void)a;
	hide(60000);
}

static void tm04(struct attack *a)
{
	pid_t pid;

	(void)a;
	if (fork() == 0) {
		(void)raise(SIGSTOP);
		_exit(0);
	}
	/* As vfork does it: the parent waits in the kernel until its child executes or ends. */
	pid = (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	(void)raise(SIGSTOP);
}

static _Noreturn void tm05(struct attack *a)
{
	(void)a;
	for (;;) {
		pid_t pid = fork();

		/* The child goes on, and its parent ends: never the same process for long. */
		if (pid > 0 && getppid() != 1)
			_exit(0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static _Noreturn void tm06(struct attack *a)
{
	(void)a;
	(void)signal(SIGXCPU, SIG_IGN);
	(void)fork();
	for (;;)
		(void)signal(SIGXCPU, SIG_IGN);
}

static _Noreturn void end_124(struct attack *a)
{
	(void)a;
	_exit(124);
}

static _Noreturn void end_137(struct attack *a)
{
	(void)a;
	_exit(137);
}

static _Noreturn void end_143(struct attack *a)
{
	(void)a;
	_exit(143);
}

static _Noreturn void end_159(struct attack *a)
{
	(void)a;
	_exit(159);
}

static void tm08(struct attack *a)
{
	(void)a;
	hide(60000);
	sleep_ms(60000);
}

const struct probe alone_life[] = {
	{"nothing", nothing},
	{"sleep", sleep_on},
	{"pairA", pair_a},
	{"pairB", pair_b},
	{"FS18", fs18},
	{"PR02", pr02},
	{"TM01", tm01},
	{"TM02", tm02},
	{"TM04", tm04},
	{"TM05", tm05},
	{"TM06", tm06},
	{"124", end_124},
	{"137", end_137},
	{"143", end_143},
	{"159", end_159},
	{"TM08", tm08},
	{0},
};
