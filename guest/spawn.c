/*
 * The program's process: made, confined, held.
 *
 * The child confines itself, measures itself and writes that down the sync pipe, then reads one byte from the hold pipe: the
 * host has judged the measurement.  Then it execs; the sync pipe is close-on-exec, so its end without a failure record means
 * that the program runs.
 */
#include "guest/guest.h"
#include "guest/libc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "guest/confine.h"

enum {
	PIPE_SIZE = 256 << 10,
	OUT_OF_MEMORY_SCORE = 1000,
	PROGRAM_UMASK = 077,
};

_Static_assert((int)CONFINE_PATHS > (int)SBX_WIRE_LIST_MAX, "no folder of SETUP is left out");

/* ---- the child */

static void tell(int sync, const struct sync_record *r)
{
	(void)!write(sync, r, sizeof *r);
}

static void __attribute__((noreturn)) give_up(int sync, const char *step, int sys)
{
	struct sync_record r = {.failed = 1, .sys = (uint32_t)sys};

	memcpy(r.step, step, strnlen(step, sizeof r.step - 1));
	tell(sync, &r);
	_exit(127);
}

static void bound(struct confine *c, int resource, uint64_t value)
{
	c->rlimit[c->n_rlimits].resource = resource;
	c->rlimit[c->n_rlimits++].value = value;
}

/* The defaults of DESIGN 5: no RLIMIT_FSIZE (the scratch bounds it), no RLIMIT_CPU, no RLIMIT_AS. */
static void fill_confine(const struct guest *g, struct confine *c)
{
	*c = (struct confine){.uid = g->uid,
			      .gid = g->gid,
			      .one_id = g->one_id,
			      .seccomp = true,
			      .landlock = true,
			      .umask = PROGRAM_UMASK,
			      .oom_score_adj = OUT_OF_MEMORY_SCORE};
	bound(c, RLIMIT_CORE, 1); /* 0 would still start a core handler that reads from a pipe */
	bound(c, RLIMIT_NOFILE, g->nofile);
	bound(c, RLIMIT_MEMLOCK, 64 << 10);
	bound(c, RLIMIT_MSGQUEUE, 0);
	bound(c, RLIMIT_NICE, 0);
	bound(c, RLIMIT_RTPRIO, 0);
	bound(c, RLIMIT_SIGPENDING, 1024);
	bound(c, RLIMIT_STACK, 8 << 20);
	/*
	 * Exact per user namespace since Linux 5.14, where the guest of the same id counts too.  Behind a pids cgroup it is a second
	 * wall, a little further out: the cgroup, which counts what it refuses, has to be met first.
	 */
	if (g->pids != UINT64_MAX)
		bound(c, RLIMIT_NPROC, g->pids + g->one_id + (g->limit_pids ? 0 : 2));
	if (g->limit_memory)
		bound(c, RLIMIT_DATA, g->memory_bytes);
	for (uint32_t i = 0; i < g->n_writable; i++)
		c->writable[i] = g->writable[i];
	c->bare = g->bare;
	for (uint32_t i = 0; i < g->n_readable; i++)
		c->readable[i] = g->readable[i];
	if (g->bare)
		bound(c, RLIMIT_FSIZE, g->disk_bytes);
}

/* execve with a search of the program's own PATH; never a shell for a file without a magic number. */
static int search_exec(struct prog *p)
{
	const char *name = p->argv.v[0], *path = "/usr/local/bin:/usr/bin:/bin";
	size_t n = strlen(name);
	char full[4096];
	int sys = ENOENT;

	if (n == 0)
		return ENOENT;
	if (strchr(name, '/')) {
		execve(name, p->argv.v, p->env.v);
		return errno;
	}
	for (uint32_t i = 0; i < p->env.n; i++)
		if (strncmp(p->env.v[i], "PATH=", 5) == 0)
			path = p->env.v[i] + 5;
	while (*path) {
		size_t len = strcspn(path, ":");

		if (len > 0 && len + 1 + n < sizeof full) {
			memcpy(full, path, len);
			full[len] = '/';
			memcpy(full + len + 1, name, n + 1);
			execve(full, p->argv.v, p->env.v);
			if (errno != ENOENT && errno != ENOTDIR)
				sys = errno;
		}
		path += len + (path[len] == ':');
	}
	return sys;
}

static void standard_fds(const int child[3], int sync, bool tty)
{
	for (int fd = 0; fd < 3; fd++)
		if (dup2(child[fd], fd) < 0)
			give_up(sync, "dup2", errno);
	if (tty && ioctl(0, TIOCSCTTY, 0) != 0)
		give_up(sync, "TIOCSCTTY", errno);
}

static void __attribute__((noreturn))
child_main(struct guest *g, const int child[3], int sync, int hold, const char *cwd)
{
	struct sync_record r = {0};
	struct confine_fail fail;
	struct confine c;
	sigset_t none;
	char go;

	/* What process 1 opened is close-on-exec, so the program will hold 0, 1 and 2 only. */
	setsid();
	standard_fds(child, sync, g->prog.tty);
	setfsuid(geteuid());
	setfsgid(getegid());
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	fill_confine(g, &c);
	if (confine_apply(&c, &fail) != 0)
		give_up(sync, fail.step, fail.sys);
	if (chdir(cwd) != 0)
		give_up(sync, "chdir", errno);
	confine_measure(&c, &r.facts);
	tell(sync, &r);
	if (read(hold, &go, 1) != 1)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	give_up(sync, "exec", search_exec(&g->prog));
}

/* ---- starting */

/* Both ends of a pseudo terminal; opened with the program's fsuid, so that it owns its side. */
static bool open_tty(struct prog *p, const struct sbx_wire_spawn *m, int child[3])
{
	struct winsize size = {.ws_row = (unsigned short)m->rows,
			       .ws_col = (unsigned short)m->cols};
	char name[32] = "/dev/pts/", digits[12];
	int number, unlock = 0, i = 0, at = 9;

	p->in = p->out = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (p->in < 0)
		return prog_fail(p, "open /dev/ptmx", errno);
	if (ioctl(p->in, TIOCSPTLCK, &unlock) != 0 ||
	    ioctl(p->in, (libc_ioctl)TIOCGPTN, &number) != 0)
		return prog_fail(p, "unlock a pseudo terminal", errno);
	do
		digits[i++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (i > 0)
		name[at++] = digits[--i];
	name[at] = 0;
	child[0] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (child[0] < 0)
		return prog_fail(p, "open the pseudo terminal", errno);
	child[1] = child[2] = child[0];
	(void)ioctl(p->in, TIOCSWINSZ, &size);
	return true;
}

/* Pipes are made with the program's fsuid: /dev/stdout can then be opened again by it. */
static bool open_pipes(struct prog *p, int child[3])
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) != 0)
		return prog_fail(p, "pipe", errno);
	p->in = in[1];
	child[0] = in[0];
	if (pipe2(out, O_CLOEXEC) != 0)
		return prog_fail(p, "pipe", errno);
	p->out = out[0];
	child[1] = out[1];
	if (pipe2(err, O_CLOEXEC) != 0)
		return prog_fail(p, "pipe", errno);
	p->err = err[0];
	child[2] = err[1];
	(void)fcntl(p->in, F_SETFL, O_NONBLOCK);
	(void)fcntl(p->out, F_SETFL, O_NONBLOCK);
	(void)fcntl(p->err, F_SETFL, O_NONBLOCK);
	(void)fcntl(p->out, F_SETPIPE_SZ, PIPE_SIZE);
	(void)fcntl(p->in, F_SETPIPE_SZ, PIPE_SIZE);
	return true;
}

bool prog_start(struct guest *g, const struct sbx_wire_spawn *m)
{
	struct prog *p = &g->prog;
	int child[3] = {-1, -1, -1}, sync[2] = {-1, -1}, hold[2] = {-1, -1};
	bool ok;

	ok = p->tty ? open_tty(p, m, child) : open_pipes(p, child);
	if (ok && (pipe2(sync, O_CLOEXEC) != 0 || pipe2(hold, O_CLOEXEC) != 0))
		ok = prog_fail(p, "pipe", errno);
	if (ok) {
		p->pid = fork();
		if (p->pid == 0)
			child_main(g, child, sync[1], hold[0], m->cwd);
		if (p->pid < 0)
			ok = prog_fail(p, "fork", errno);
	}
	p->sync = sync[0];
	p->hold = hold[1];
	if (p->sync >= 0)
		(void)fcntl(p->sync, F_SETFL, O_NONBLOCK);
	close_fd(&sync[1]);
	close_fd(&hold[0]);
	close_fd(&child[0]);
	if (!p->tty) {
		close_fd(&child[1]);
		close_fd(&child[2]);
	}
	return ok;
}
