/*
 * The program: from its vectors to END.
 *
 * The child confines itself, measures itself and writes that down the sync pipe, then reads one byte from the hold pipe: the
 * host has judged the measurement.  Then it execs; the sync pipe is close-on-exec, so its end without a failure record means
 * that the program runs.
 *
 * The program's end ends everything: whatever is left of its tree is killed, until this process has no child any more, and only
 * then are the pipes read to their end (nobody can write any more, so that what is in them is all there is).
 */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/confine.h"

enum {
	VEC_BYTES = 8 << 20, /* the kernel takes 2 MiB in all by default, 6 with a larger stack */
	VEC_STRINGS = 65536,
	PIPE_SIZE = 256 << 10,
	POLL_NS = 20000000,    /* how often bounds without a cgroup are looked at */
	REKILL_NS = 10000000,  /* a fork may slip through a kill of everything */
	CREDIT_STEP = 64 << 10,
	OUT_OF_MEMORY_SCORE = 1000,
	PROGRAM_UMASK = 077,
};

/* What the child tells: one write, smaller than PIPE_BUF. */
struct sync_record {
	uint32_t failed;
	uint32_t sys;
	char step[32];
	struct sbx_facts facts;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void vec_free(struct vec *vec)
{
	for (uint32_t i = 0; i < vec->n; i++)
		free(vec->v[i]);
	free(vec->v);
	*vec = (struct vec){ 0 };
}

static void vec_add(struct vec *vec, const char *s)
{
	size_t n = strlen(s) + 1;

	if (vec->n + 1 >= vec->cap) {
		vec->cap = vec->cap ? vec->cap * 2 : 64;
		vec->v = realloc(vec->v, vec->cap * sizeof *vec->v);
		if (!vec->v)
			die("out of memory");
	}
	vec->bytes += n;
	if (vec->n >= VEC_STRINGS || vec->bytes > VEC_BYTES)
		die("too many arguments");
	vec->v[vec->n++] = keep(s);
	vec->v[vec->n] = NULL;
}

static void reset(struct prog *p)
{
	close_fd(&p->in);
	if (!p->tty)
		close_fd(&p->out);
	close_fd(&p->err);
	close_fd(&p->sync);
	close_fd(&p->hold);
	vec_free(&p->argv);
	vec_free(&p->env);
	free(p->stdin_buf);
	*p = (struct prog){ .in = -1, .out = -1, .err = -1, .sync = -1, .hold = -1 };
}

void prog_strings(struct guest *g, const struct sbx_frame *f)
{
	struct prog *p = &g->prog;
	struct sbx_coder c = sbx_decoder(f->p, f->n);

	if (p->state == PROG_NONE) {
		reset(p);
		p->state = PROG_COLLECT;
		p->req = f->req;
	}
	if (p->state != PROG_COLLECT || p->req != f->req)
		die("arguments for a program that was started");
	while (!c.bad && c.at < c.end) {
		const char *s;

		sbx_code_str(&c, &s);
		if (!c.bad)
			vec_add(f->type == SBX_WIRE_ARGV ? &p->argv : &p->env, s);
	}
	if (!sbx_coder_ok(&c))
		die("a broken vector");
}

/* ---- the child */

static void tell(int sync, const struct sync_record *r)
{
	(void)!write(sync, r, sizeof *r);
}

static void __attribute__((noreturn)) give_up(int sync, const char *step, int sys)
{
	struct sync_record r = { .failed = 1, .sys = (uint32_t)sys };

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
	*c = (struct confine){ .uid = g->uid,
			       .gid = g->gid,
			       .one_id = g->one_id,
			       .seccomp = true,
			       .landlock = true,
			       .umask = PROGRAM_UMASK,
			       .oom_score_adj = OUT_OF_MEMORY_SCORE };
	bound(c, RLIMIT_CORE, 1); /* 0 would still start a core handler that reads from a pipe */
	bound(c, RLIMIT_NOFILE, g->nofile);
	bound(c, RLIMIT_MEMLOCK, 64 << 10);
	bound(c, RLIMIT_MSGQUEUE, 0);
	bound(c, RLIMIT_NICE, 0);
	bound(c, RLIMIT_RTPRIO, 0);
	bound(c, RLIMIT_SIGPENDING, 1024);
	bound(c, RLIMIT_STACK, 8 << 20);
	/* Always: exact per user namespace since Linux 5.14, and a second wall behind a pids cgroup. */
	if (g->pids != UINT64_MAX)
		bound(c, RLIMIT_NPROC, g->one_id ? g->pids + 1 : g->pids);
	if (g->limit_memory)
		bound(c, RLIMIT_DATA, g->memory_bytes);
	for (uint32_t i = 0; i < g->n_writable && i + 1 < CONFINE_WRITABLE; i++)
		c->writable[i] = g->writable[i];
}

/* execve with a search of the program's own PATH; never a shell for a file without a magic number. */
static int search_exec(struct prog *p)
{
	const char *name = p->argv.v[0], *path = "/usr/local/bin:/usr/bin:/bin";
	size_t n = strlen(name);
	char full[4096];
	int sys = ENOENT;

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
	struct sync_record r = { 0 };
	struct confine_fail fail;
	struct confine c;
	sigset_t none;
	char go;

	/* What process 1 opened is close-on-exec, so the program will hold 0, 1 and 2 only. */
	setsid();
	standard_fds(child, sync, g->prog.tty);
	setfsuid(0);
	setfsgid(0);
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

static bool fail_spawn(struct prog *p, const char *step)
{
	size_t n = strnlen(step, sizeof p->step - 1);

	p->sys = (uint32_t)errno;
	memcpy(p->step, step, n);
	p->step[n] = '\0';
	return false;
}

/* Both ends of a pseudo terminal; opened with the program's fsuid, so that it owns its side. */
static bool open_tty(struct prog *p, const struct sbx_wire_spawn *m, int child[3])
{
	struct winsize size = { .ws_row = (unsigned short)m->rows, .ws_col = (unsigned short)m->cols };
	char name[32] = "/dev/pts/", digits[12];
	int number, unlock = 0, i = 0, at = 9;

	p->in = p->out = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (p->in < 0)
		return fail_spawn(p, "open /dev/ptmx");
	if (ioctl(p->in, TIOCSPTLCK, &unlock) != 0 || ioctl(p->in, TIOCGPTN, &number) != 0)
		return fail_spawn(p, "unlock a pseudo terminal");
	do
		digits[i++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (i > 0)
		name[at++] = digits[--i];
	name[at] = 0;
	child[0] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (child[0] < 0)
		return fail_spawn(p, "open the pseudo terminal");
	child[1] = child[2] = child[0];
	(void)ioctl(p->in, TIOCSWINSZ, &size);
	return true;
}

/* Pipes are made with the program's fsuid: /dev/stdout can then be opened again by it. */
static bool open_pipes(struct prog *p, int child[3])
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) != 0)
		return fail_spawn(p, "pipe");
	p->in = in[1];
	child[0] = in[0];
	if (pipe2(out, O_CLOEXEC) != 0)
		return fail_spawn(p, "pipe");
	p->out = out[0];
	child[1] = out[1];
	if (pipe2(err, O_CLOEXEC) != 0)
		return fail_spawn(p, "pipe");
	p->err = err[0];
	child[2] = err[1];
	(void)fcntl(p->in, F_SETFL, O_NONBLOCK);
	(void)fcntl(p->out, F_SETFL, O_NONBLOCK);
	(void)fcntl(p->err, F_SETFL, O_NONBLOCK);
	(void)fcntl(p->out, F_SETPIPE_SZ, PIPE_SIZE);
	(void)fcntl(p->in, F_SETPIPE_SZ, PIPE_SIZE);
	return true;
}

static bool start(struct guest *g, const struct sbx_wire_spawn *m)
{
	struct prog *p = &g->prog;
	int child[3] = { -1, -1, -1 }, sync[2] = { -1, -1 }, hold[2] = { -1, -1 };
	bool ok;

	ok = p->tty ? open_tty(p, m, child) : open_pipes(p, child);
	if (ok && (pipe2(sync, O_CLOEXEC) != 0 || pipe2(hold, O_CLOEXEC) != 0))
		ok = fail_spawn(p, "pipe");
	if (ok) {
		p->pid = fork();
		if (p->pid == 0)
			child_main(g, child, sync[1], hold[0], m->cwd);
		if (p->pid < 0)
			ok = fail_spawn(p, "fork");
	}
	p->sync = sync[0];
	p->hold = hold[1];
	close_fd(&sync[1]);
	close_fd(&hold[0]);
	close_fd(&child[0]);
	if (!p->tty) {
		close_fd(&child[1]);
		close_fd(&child[2]);
	}
	return ok;
}

static bool is_full(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 && fs.f_blocks > 0 && (fs.f_bavail == 0 || fs.f_favail == 0);
}

static void send_end(struct guest *g)
{
	struct prog *p = &g->prog;
	struct sbx_coder c = chan_begin(&g->chan);
	uint64_t now = now_ns();
	struct sbx_wire_end end = {
		.how = p->how,
		.sys = p->sys,
		.step = p->step,
		.disk_full = is_full(g->workdir) || is_full("/tmp") || is_full("/dev/shm"),
		.bytes = { p->bytes[0], p->bytes[1] },
		.cpu_user_ns = p->cpu_user_ns,
		.cpu_sys_ns = p->cpu_sys_ns,
		.maxrss_bytes = p->maxrss_bytes,
		.exec_ns = p->start_ns ? p->end_ns - p->start_ns : 0,
		.drain_ns = p->end_ns ? now - p->end_ns : 0,
	};

	if (WIFSIGNALED(p->status))
		end.code = (uint32_t)WTERMSIG(p->status);
	else
		end.code = (uint32_t)WEXITSTATUS(p->status);
	if (end.how == 0)
		end.how = WIFSIGNALED(p->status) ? SBX_WIRE_SIGNALED : SBX_WIRE_EXITED;
	sbx_code_end(&c, &end);
	chan_end(&g->chan, &c, SBX_WIRE_END, p->req);
	reset(p);
}

void prog_spawn(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	struct sbx_wire_spawn m;
	struct prog *p = &g->prog;

	sbx_code_spawn(&c, &m);
	if (!sbx_coder_ok(&c) || p->state != PROG_COLLECT || p->req != f->req || p->argv.n == 0)
		die("a broken spawn");
	if (!p->env.v)
		p->env.v = grab(sizeof *p->env.v);
	p->tty = m.flags & SBX_WIRE_SPAWN_TTY;
	p->max_output = m.max_output;
	p->kill_output = m.kill_output;
	p->timeout_ns = m.timeout_ms > UINT64_MAX / 1000000 ? UINT64_MAX : m.timeout_ms * 1000000;
	p->cpu_limit_ns = m.cpu_time_ms > UINT64_MAX / 1000000 ? UINT64_MAX : m.cpu_time_ms * 1000000;
	p->deadline_ns = UINT64_MAX;
	p->credit[SBX_WIRE_STDOUT] = p->credit[SBX_WIRE_STDERR] = SBX_WIRE_WINDOW;
	p->stdin_buf = malloc(SBX_WIRE_WINDOW);
	if (!p->stdin_buf)
		die("out of memory");
	if (!start(g, &m)) {
		p->how = SBX_WIRE_FAILED;
		send_end(g);
		return;
	}
	p->state = PROG_HELD;
}

void prog_go(struct guest *g, const struct sbx_frame *f)
{
	struct prog *p = &g->prog;

	if (p->state != PROG_HELD || p->req != f->req)
		return; /* it ended meanwhile */
	p->state = PROG_RUNNING;
	p->start_ns = now_ns();
	if (p->timeout_ns != UINT64_MAX)
		p->deadline_ns = p->start_ns + p->timeout_ns;
	(void)!write(p->hold, "g", 1);
	close_fd(&p->hold);
}

/* ---- ending */

/* Everything but this process.  Why it ends is kept the first time only. */
static void end_tree(struct prog *p, uint8_t how)
{
	if (p->how == 0)
		p->how = how;
	(void)kill(-1, SIGKILL);
}

void prog_kill(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	struct prog *p = &g->prog;
	uint32_t sig = 0;

	sbx_code_u32(&c, &sig);
	if (!sbx_coder_ok(&c) || sig >= NSIG)
		die("a broken kill");
	if (p->req != f->req || p->state < PROG_HELD || p->state > PROG_RUNNING)
		return;
	if (sig == 0)
		end_tree(p, SBX_WIRE_KILLED);
	else
		(void)kill(-p->pid, (int)sig);
}

void prog_resize(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	struct sbx_wire_resize m;

	sbx_code_resize(&c, &m);
	if (!sbx_coder_ok(&c))
		die("a broken resize");
	if (g->prog.req == f->req && g->prog.tty && g->prog.in >= 0) {
		struct winsize size = { .ws_row = (unsigned short)m.rows,
					.ws_col = (unsigned short)m.cols };

		(void)ioctl(g->prog.in, TIOCSWINSZ, &size);
	}
}

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000000u + (uint64_t)tv.tv_usec * 1000u;
}

void prog_reap(struct guest *g)
{
	struct prog *p = &g->prog;
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		uint64_t rss = (uint64_t)usage.ru_maxrss * 1024;

		p->cpu_user_ns += timeval_ns(usage.ru_utime);
		p->cpu_sys_ns += timeval_ns(usage.ru_stime);
		if (rss > p->maxrss_bytes)
			p->maxrss_bytes = rss;
		if (pid != p->pid)
			continue;
		p->status = status;
		p->end_ns = now_ns();
		p->pid = 0;
		p->state = PROG_DRAIN;
		(void)kill(-1, SIGKILL);
	}
}

static bool has_children(void)
{
	siginfo_t info = { 0 };

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* END, once the tree is gone and the pipes are empty. */
static void finish(struct guest *g)
{
	struct prog *p = &g->prog;

	if (p->state != PROG_DRAIN || p->out >= 0 || p->err >= 0 || p->sync >= 0)
		return;
	prog_reap(g);
	if (!has_children())
		send_end(g);
}

/* ---- bytes */

static void owe_stdin(struct guest *g, size_t n)
{
	struct prog *p = &g->prog;

	p->stdin_owed += (uint32_t)n;
	if (p->stdin_owed < CREDIT_STEP)
		return;
	chan_u32(&g->chan, SBX_WIRE_CREDIT, SBX_WIRE_STDIN, p->req, p->stdin_owed);
	p->stdin_owed = 0;
}

/* The program wants no more: the host may stop reading for it. */
static void refuse_stdin(struct guest *g)
{
	struct prog *p = &g->prog;

	if (!p->tty)
		close_fd(&p->in);
	p->stdin_len = p->stdin_head = 0;
	p->stdin_eof = true;
	chan_u32(&g->chan, SBX_WIRE_EOF, SBX_WIRE_STDIN, p->req, 0);
}

static void feed_stdin(struct guest *g)
{
	struct prog *p = &g->prog;

	while (p->in >= 0 && p->stdin_head < p->stdin_len) {
		ssize_t n = write(p->in, p->stdin_buf + p->stdin_head, p->stdin_len - p->stdin_head);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			refuse_stdin(g);
			return;
		}
		p->stdin_head += (size_t)n;
		owe_stdin(g, (size_t)n);
	}
	p->stdin_head = p->stdin_len = 0;
	if (p->stdin_eof && p->in >= 0 && !p->tty)
		close_fd(&p->in);
}

void prog_stdin(struct guest *g, const struct sbx_frame *f)
{
	struct prog *p = &g->prog;

	if (p->in < 0 || p->stdin_eof)
		return;
	if (p->stdin_head > 0 && SBX_WIRE_WINDOW - p->stdin_len < f->n) {
		p->stdin_len -= p->stdin_head;
		memmove(p->stdin_buf, p->stdin_buf + p->stdin_head, p->stdin_len);
		p->stdin_head = 0;
	}
	if (SBX_WIRE_WINDOW - p->stdin_len < f->n)
		die("more stdin than its window");
	memcpy(p->stdin_buf + p->stdin_len, f->p, f->n);
	p->stdin_len += f->n;
	feed_stdin(g);
}

/* On a terminal the end of input is the character for it, as a person would type. */
void prog_stdin_eof(struct guest *g)
{
	struct prog *p = &g->prog;

	if (p->in < 0 || p->stdin_eof)
		return;
	if (p->tty && p->stdin_len < SBX_WIRE_WINDOW)
		p->stdin_buf[p->stdin_len++] = 4;
	p->stdin_eof = true;
	feed_stdin(g);
}

/* Counts n bytes that the program wrote; how many of them are still to be sent. */
static uint32_t count_output(struct prog *p, uint8_t stream, size_t n)
{
	uint64_t before = p->bytes[stream - 1];

	p->bytes[stream - 1] = before + n;
	if (before + n > p->kill_output && p->state == PROG_RUNNING)
		end_tree(p, SBX_WIRE_OUTPUT);
	if (before + n <= p->max_output)
		return (uint32_t)n;
	return before < p->max_output ? (uint32_t)(p->max_output - before) : 0;
}

/* Once, behind the last byte that is kept. */
static void tell_limit(struct guest *g, uint8_t stream)
{
	struct prog *p = &g->prog;
	struct sbx_wire_limit limit = { .stream = stream, .value = p->max_output };
	struct sbx_coder c;

	if (p->limited[stream - 1] || p->bytes[stream - 1] <= p->max_output)
		return;
	p->limited[stream - 1] = true;
	c = chan_begin(&g->chan);
	sbx_code_limit(&c, &limit);
	chan_end(&g->chan, &c, SBX_WIRE_LIMIT, p->req);
}

/* Whether the program's stream may be read now: what is beyond the limit needs no credit, since it is dropped. */
static bool may_read(const struct guest *g, uint8_t stream)
{
	const struct prog *p = &g->prog;

	if (p->bytes[stream - 1] >= p->max_output)
		return true;
	return p->credit[stream] > 0 && chan_pending(&g->chan) < CHAN_HIGH;
}

static void read_output(struct guest *g, uint8_t stream, int *fd)
{
	struct prog *p = &g->prog;

	while (*fd >= 0 && may_read(g, stream)) {
		uint8_t *to = chan_data(&g->chan);
		size_t want = SBX_WIRE_DATA_MAX;
		uint32_t kept;
		ssize_t n;

		if (p->bytes[stream - 1] < p->max_output && want > p->credit[stream])
			want = p->credit[stream];
		n = read(*fd, to, want);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) { /* a terminal says EIO when its other side is closed */
			if (p->tty)
				p->in = -1;
			close_fd(fd);
			return;
		}
		kept = count_output(p, stream, (size_t)n);
		if (kept > 0) {
			chan_send_data(&g->chan, stream, p->req, kept);
			p->credit[stream] -= kept;
		}
		tell_limit(g, stream);
		if ((size_t)n < want)
			return;
	}
}

/* ---- the loop's hooks */

unsigned int prog_poll(struct guest *g, struct pollfd *fds)
{
	struct prog *p = &g->prog;
	unsigned int n = 0;

	if (p->state < PROG_HELD)
		return 0;
	if (p->sync >= 0)
		fds[n++] = (struct pollfd){ .fd = p->sync, .events = POLLIN };
	if (p->out >= 0 && may_read(g, SBX_WIRE_STDOUT))
		fds[n++] = (struct pollfd){ .fd = p->out, .events = POLLIN };
	if (p->err >= 0 && may_read(g, SBX_WIRE_STDERR))
		fds[n++] = (struct pollfd){ .fd = p->err, .events = POLLIN };
	if (p->in >= 0 && p->stdin_head < p->stdin_len)
		fds[n++] = (struct pollfd){ .fd = p->in, .events = POLLOUT };
	return n;
}

static void read_sync(struct guest *g)
{
	struct prog *p = &g->prog;
	struct sync_record r;
	ssize_t n = read(p->sync, &r, sizeof r);

	if (n < 0 && errno == EINTR)
		return;
	if (n != (ssize_t)sizeof r) { /* its end: the program runs, or the child was killed before */
		close_fd(&p->sync);
		if (p->state == PROG_RUNNING)
			chan_frame(&g->chan,
				   &(struct sbx_frame){ .type = SBX_WIRE_STARTED, .req = p->req });
		return;
	}
	if (r.failed) {
		p->how = SBX_WIRE_FAILED;
		p->sys = r.sys;
		memcpy(p->step, r.step, sizeof p->step);
		p->step[sizeof p->step - 1] = 0;
		close_fd(&p->sync);
		return;
	}
	struct sbx_coder c = chan_begin(&g->chan);

	sbx_code_facts(&c, &r.facts);
	chan_end(&g->chan, &c, SBX_WIRE_CONFINED, p->req);
}

void prog_ready(struct guest *g, const struct pollfd *fds, unsigned int n)
{
	struct prog *p = &g->prog;

	for (unsigned int i = 0; i < n; i++) {
		if (!fds[i].revents)
			continue;
		if (fds[i].fd == p->sync)
			read_sync(g);
		if (fds[i].fd == p->in && fds[i].events == POLLOUT)
			feed_stdin(g);
		if (fds[i].fd == p->out && fds[i].events == POLLIN)
			read_output(g, SBX_WIRE_STDOUT, &p->out);
		if (fds[i].fd == p->err)
			read_output(g, SBX_WIRE_STDERR, &p->err);
	}
	finish(g);
}

static bool polls(const struct guest *g)
{
	return g->prog.state == PROG_RUNNING &&
	       (g->limit_memory || g->prog.cpu_limit_ns != UINT64_MAX);
}

uint64_t prog_next_ns(const struct guest *g)
{
	const struct prog *p = &g->prog;

	if (p->state == PROG_DRAIN || (p->state == PROG_RUNNING && p->how != 0))
		return now_ns() + REKILL_NS;
	if (polls(g) && now_ns() + POLL_NS < p->deadline_ns)
		return now_ns() + POLL_NS;
	return p->state == PROG_RUNNING ? p->deadline_ns : UINT64_MAX;
}

void prog_tick(struct guest *g)
{
	struct prog *p = &g->prog;
	struct tree tree;

	if (p->state == PROG_DRAIN || (p->state == PROG_RUNNING && p->how != 0)) {
		(void)kill(-1, SIGKILL);
		prog_reap(g);
		finish(g);
		return;
	}
	if (p->state == PROG_RUNNING && now_ns() >= p->deadline_ns) {
		end_tree(p, SBX_WIRE_TIMEOUT);
		return;
	}
	if (!polls(g))
		return;
	tree_measure(&tree);
	if (g->limit_memory && tree.rss_bytes > g->memory_bytes)
		end_tree(p, SBX_WIRE_OOM);
	if (tree.cpu_ns + p->cpu_user_ns + p->cpu_sys_ns > p->cpu_limit_ns)
		end_tree(p, SBX_WIRE_CPU_TIMEOUT);
}
