/*
 * Ending the program's tree.
 *
 * Process 1 of a namespace asks the kernel to end everything else in it, which misses nothing.  Without a namespace the tree is
 * what is below this process: it is the child subreaper (PR_SET_CHILD_SUBREAPER), so that what a process leaves behind becomes its
 * child, however it was forked.  Walking over the tree may miss what is forked meanwhile; it is walked over again until this
 * process has no child.  Where the program has an id of its own, the kernel ends all that has it, in one call.
 */
#include "guest/guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* "/proc/PID/" and a name. */
static void proc_path(char path[static 64], pid_t pid, const char *name)
{
	char digits[12];
	size_t at = strlen("/proc/"), n = 0;

	memcpy(path, "/proc/", at);
	do
		digits[n++] = (char)('0' + pid % 10);
	while ((pid /= 10) > 0);
	while (n > 0)
		path[at++] = digits[--n];
	path[at++] = '/';
	memcpy(path + at, name, strlen(name) + 1);
}

static void add(struct tree_pids *pids, pid_t pid)
{
	if (pids->n == pids->cap) {
		pids->cap = pids->cap ? 2 * pids->cap : 64;
		pids->v = regrab(pids->v, pids->cap * sizeof(*pids->v));
	}
	pids->v[pids->n++] = pid;
}

/* "12 345 ", in as many pieces as it takes. */
static void add_numbers(struct tree_pids *pids, int fd)
{
	char buf[4096];
	pid_t pid = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] >= '0' && buf[i] <= '9') {
				pid = pid * 10 + (buf[i] - '0');
				continue;
			}
			if (pid > 0)
				add(pids, pid);
			pid = 0;
		}
	}
	if (pid > 0)
		add(pids, pid);
}

/* The children of each of its threads. */
static void add_children(struct tree_pids *pids, pid_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	proc_path(path, pid, "task");
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char file[sizeof(entry->d_name) + 16];
		size_t n = strlen(entry->d_name);
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		memcpy(file, entry->d_name, n);
		memcpy(file + n, "/children", strlen("/children") + 1);
		fd = openat(dirfd(dir), file, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		add_numbers(pids, fd);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

void tree_list(struct tree_pids *ret)
{
	*ret = (struct tree_pids){0};
	add_children(ret, getpid());
	for (size_t i = 0; i < ret->n; i++)
		add_children(ret, ret->v[i]);
}

/* The parent of a process; 0 where it is gone.  proc_pid_stat(5): the fourth field, behind the last ')'. */
static pid_t parent_of(pid_t pid)
{
	char path[64], buf[512] = "", *p;
	pid_t parent = 0;
	ssize_t n;
	int fd;

	proc_path(path, pid, "stat");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	p = strrchr(buf, ')');
	for (p = p && strlen(p) > 4 ? p + 4 : buf + sizeof(buf) - 1; *p >= '0' && *p <= '9'; p++)
		parent = parent * 10 + (*p - '0');
	return parent;
}

static bool is_listed(const struct tree_pids *pids, pid_t pid)
{
	for (size_t i = 0; i < pids->n; i++) {
		if (pids->v[i] == pid)
			return true;
	}
	return false;
}

/* A number may be another's by now, of somebody else's: it is held first, then looked at, then killed. */
static void kill_one(const struct tree_pids *pids, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	pid_t parent;

	if (fd < 0)
		return;
	parent = parent_of(pid);
	if (parent == getpid() || is_listed(pids, parent))
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	close(fd);
}

/* Everything of that id: the helper that asks for it is among it. */
static void kill_id(uid_t uid)
{
	pid_t helper = fork();

	if (helper == 0) {
		if (setresuid(uid, uid, uid) == 0)
			(void)kill(-1, SIGKILL);
		_exit(1);
	}
	if (helper > 0)
		(void)waitpid(helper, NULL, 0);
}

void tree_kill(const struct guest *g)
{
	struct tree_pids pids;

	if (!g->bare) {
		/* In any other process that would be the whole machine. */
		if (getpid() == 1)
			(void)kill(-1, SIGKILL);
		return;
	}
	tree_list(&pids);
	for (size_t i = 0; i < pids.n; i++)
		kill_one(&pids, pids.v[i]);
	if (pids.n > 0 && g->ready && g->uid != getuid())
		kill_id(g->uid);
	free(pids.v);
}

void tree_end(const struct guest *g)
{
	static const struct timespec ms = {.tv_nsec = 1000000};

	while (g->bare) {
		tree_kill(g);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
			return;
		(void)nanosleep(&ms, NULL);
	}
}
