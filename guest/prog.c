/*
 * The program: from its vectors to END.
 *
 * The program's end ends everything: whatever is left of its tree is killed, until this process has no child any more, and only
 * then are the pipes read to their end: nobody can write any more, so that what is in them is all there is.
 */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	VEC_BYTES = 8 << 20, /* the kernel takes 2 MiB in all by default, 6 with a larger stack */
	VEC_STRINGS = 65536,
	POLL_NS = 20000000,   /* how often bounds without a cgroup are looked at */
	REKILL_NS = 10000000, /* a fork may slip through a kill of everything */
	CREDIT_STEP = 64 << 10,
	/* Reads of one stream in one turn, so that no program keeps us from its deadline and from the host. */
	READS = 8,
};

void close_fd(int *fd)
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
	*vec = (struct vec){0};
}

static void vec_add(struct vec *vec, const char *s)
{
	vec->bytes += strlen(s) + 1;
	if (vec->n >= VEC_STRINGS || vec->bytes > VEC_BYTES) {
		vec->over = true;
		return;
	}
	if (vec->n + 1 >= vec->cap) {
		vec->cap = vec->cap ? vec->cap * 2 : 64;
		vec->v = regrab(vec->v, vec->cap * sizeof *vec->v);
	}
	vec->v[vec->n++] = keep(s);
	vec->v[vec->n] = NULL;
}

void prog_init(struct prog *p)
{
	*p = (struct prog){.in = -1, .out = -1, .err = -1, .sync = -1, .hold = -1};
}

void prog_release(struct prog *p)
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
	prog_init(p);
}

void prog_strings(struct guest *g, const struct sbx_frame *f)
{
	struct prog *p = &g->prog;
	struct sbx_coder c = sbx_decoder(f->p, f->n);

	if (p->state == PROG_NONE) {
		prog_release(p);
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

/* ---- starting and ending */

bool prog_fail(struct prog *p, const char *step, int sys)
{
	size_t n = strnlen(step, sizeof p->step - 1);

	p->how = SBX_WIRE_FAILED;
	p->sys = (uint32_t)sys;
	memcpy(p->step, step, n);
	p->step[n] = '\0';
	return false;
}

static bool no_room(const struct statvfs *fs)
{
	return fs->f_blocks > 0 && (fs->f_bavail == 0 || fs->f_favail == 0);
}

static uint8_t full_ones(const struct guest *g)
{
	unsigned int full = 0;
	struct statvfs fs;

	if (g->bare) /* its file systems are the host's */
		return g->prog.how == SBX_WIRE_DISK ? 1U << SBX_WIRE_WORKDIR : 0;
	if (fstatvfs(g->files.workdir, &fs) == 0 && no_room(&fs))
		full |= 1U << SBX_WIRE_WORKDIR;
	if (statvfs("/tmp", &fs) == 0 && no_room(&fs))
		full |= 1U << SBX_WIRE_TMP;
	if (statvfs("/dev/shm", &fs) == 0 && no_room(&fs))
		full |= 1U << SBX_WIRE_SHM;
	return (uint8_t)full;
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
		.full = full_ones(g),
		.bytes = {p->bytes[0], p->bytes[1]},
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
	prog_release(p);
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
	p->cpu_limit_ns =
		m.cpu_time_ms > UINT64_MAX / 1000000 ? UINT64_MAX : m.cpu_time_ms * 1000000;
	p->deadline_ns = UINT64_MAX;
	p->credit[SBX_WIRE_STDOUT] = p->credit[SBX_WIRE_STDERR] = SBX_WIRE_WINDOW;
	p->stdin_buf = malloc(SBX_WIRE_WINDOW + 1); /* and a terminal's end of file */
	if (!p->stdin_buf)
		die("out of memory");
	if (p->argv.over || p->env.over)
		(void)prog_fail(p, "exec", E2BIG);
	else if (prog_start(g, &m))
		p->state = PROG_HELD;
	if (p->state != PROG_HELD)
		send_end(g);
}

void prog_go(struct guest *g, const struct sbx_frame *f)
{
	struct prog *p = &g->prog;

	if (p->state != PROG_HELD || p->req != f->req)
		return; /* it ended meanwhile */
	p->state = PROG_RUNNING;
	p->start_ns = now_ns();
	p->tick_ns = p->start_ns + POLL_NS;
	if (p->timeout_ns < UINT64_MAX - p->start_ns)
		p->deadline_ns = p->start_ns + p->timeout_ns;
	(void)!write(p->hold, "g", 1);
	close_fd(&p->hold);
}

/* And again a little later. */
static void kill_tree(struct guest *g)
{
	tree_kill(g);
	g->prog.tick_ns = now_ns() + REKILL_NS;
}

/* Why it ends is kept the first time only. */
static void end_tree(struct guest *g, uint8_t how)
{
	if (g->prog.how == 0)
		g->prog.how = how;
	kill_tree(g);
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
		end_tree(g, SBX_WIRE_KILLED);
	else if (kill(-p->pid, (int)sig) != 0) /* not the leader of a group yet */
		(void)kill(p->pid, (int)sig);
}

void prog_resize(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	struct sbx_wire_resize m;

	sbx_code_resize(&c, &m);
	if (!sbx_coder_ok(&c))
		die("a broken resize");
	if (g->prog.req == f->req && g->prog.tty && g->prog.in >= 0) {
		struct winsize size = {.ws_row = (unsigned short)m.rows,
				       .ws_col = (unsigned short)m.cols};

		(void)ioctl(g->prog.in, TIOCSWINSZ, &size);
	}
}

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000000u + (uint64_t)tv.tv_usec * 1000u;
}

void prog_ended(struct guest *g, pid_t pid, int status, const struct rusage *usage)
{
	struct prog *p = &g->prog;
	uint64_t rss = (uint64_t)usage->ru_maxrss * 1024;

	p->cpu_user_ns += timeval_ns(usage->ru_utime);
	p->cpu_sys_ns += timeval_ns(usage->ru_stime);
	if (rss > p->maxrss_bytes)
		p->maxrss_bytes = rss;
	if (pid != p->pid)
		return;
	p->status = status;
	p->end_ns = now_ns();
	p->pid = 0;
	p->state = PROG_DRAIN;
	kill_tree(g);
}

void prog_reap(struct guest *g)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
		prog_ended(g, pid, status, &usage);
}

static bool has_children(void)
{
	siginfo_t info = {0};

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* A terminal tells its end by itself, and not at once how much is in it. */
static void close_empty(const struct prog *p, int *fd)
{
	int left = 0;

	if (!p->tty && *fd >= 0 && ioctl(*fd, FIONREAD, &left) == 0 && left == 0)
		close_fd(fd);
}

/* END, once the tree is gone and the pipes are empty, whoever else may hold their other ends. */
static void finish(struct guest *g)
{
	struct prog *p = &g->prog;

	if (p->state != PROG_DRAIN || p->sync >= 0)
		return;
	prog_reap(g);
	if (has_children())
		return;
	close_empty(p, &p->out);
	close_empty(p, &p->err);
	if (p->out < 0 && p->err < 0)
		send_end(g);
}

/* ---- bytes */

static void owe_stdin(struct guest *g, size_t n)
{
	struct prog *p = &g->prog;

	/* After its end nobody waits for room, and a terminal's end of file was never taken from it. */
	p->stdin_owed += (uint32_t)n;
	if (p->stdin_owed < CREDIT_STEP || p->stdin_eof)
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
		ssize_t n =
			write(p->in, p->stdin_buf + p->stdin_head, p->stdin_len - p->stdin_head);

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
	if (p->tty)
		p->stdin_buf[p->stdin_len++] = 4;
	p->stdin_eof = true;
	feed_stdin(g);
}

/* Counts n bytes that the program wrote; how many of them are still to be sent. */
static uint32_t count_output(struct guest *g, uint8_t stream, size_t n)
{
	struct prog *p = &g->prog;
	uint64_t before = p->bytes[stream - 1];

	p->bytes[stream - 1] = before + n;
	if (before + n > p->kill_output && p->state == PROG_RUNNING)
		end_tree(g, SBX_WIRE_OUTPUT);
	if (before + n <= p->max_output)
		return (uint32_t)n;
	return before < p->max_output ? (uint32_t)(p->max_output - before) : 0;
}

/* Once, behind the last byte that is kept. */
static void tell_limit(struct guest *g, uint8_t stream)
{
	struct prog *p = &g->prog;
	struct sbx_wire_limit limit = {.stream = stream, .value = p->max_output};
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

	/* A terminal echoes what is typed before the program has started, which has to be told of first. */
	if (p->sync >= 0)
		return false;
	if (p->bytes[stream - 1] >= p->max_output)
		return true;
	return p->credit[stream] > 0 && chan_pending(&g->chan) < CHAN_HIGH;
}

static void read_output(struct guest *g, uint8_t stream, int *fd)
{
	struct prog *p = &g->prog;

	for (int i = 0; i < READS && *fd >= 0 && may_read(g, stream); i++) {
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
		kept = count_output(g, stream, (size_t)n);
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
		fds[n++] = (struct pollfd){.fd = p->sync, .events = POLLIN};
	if (p->out >= 0 && may_read(g, SBX_WIRE_STDOUT))
		fds[n++] = (struct pollfd){.fd = p->out, .events = POLLIN};
	if (p->err >= 0 && may_read(g, SBX_WIRE_STDERR))
		fds[n++] = (struct pollfd){.fd = p->err, .events = POLLIN};
	if (p->in >= 0 && p->stdin_head < p->stdin_len)
		fds[n++] = (struct pollfd){.fd = p->in, .events = POLLOUT};
	return n;
}

static void read_sync(struct guest *g)
{
	struct prog *p = &g->prog;
	struct sync_record r;
	ssize_t n = read(p->sync, &r, sizeof r);
	struct sbx_coder c;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n !=
	    (ssize_t)sizeof r) { /* its end: the program runs, or ran, or the child was killed before */
		close_fd(&p->sync);
		if (p->start_ns != 0)
			chan_frame(&g->chan,
				   &(struct sbx_frame){.type = SBX_WIRE_STARTED, .req = p->req});
		return;
	}
	if (r.failed) {
		r.step[sizeof r.step - 1] = '\0';
		(void)prog_fail(p, r.step, (int)r.sys);
		close_fd(&p->sync);
		return;
	}
	c = chan_begin(&g->chan);
	sbx_code_facts(&c, &r.facts);
	chan_end(&g->chan, &c, SBX_WIRE_CONFINED, p->req);
}

void prog_ready(struct guest *g, const struct pollfd *fds, unsigned int n)
{
	struct prog *p = &g->prog;

	/* Before any output, which can only be there if this one is at its end: STARTED comes first. */
	if (p->sync >= 0)
		read_sync(g);
	for (unsigned int i = 0; i < n; i++) {
		if (!fds[i].revents)
			continue;
		if (fds[i].fd == p->in && fds[i].events == POLLOUT)
			feed_stdin(g);
		if (fds[i].fd == p->out && fds[i].events == POLLIN)
			read_output(g, SBX_WIRE_STDOUT, &p->out);
		if (fds[i].fd == p->err)
			read_output(g, SBX_WIRE_STDERR, &p->err);
	}
	finish(g);
}

/* Killed, and not gone yet. */
static bool ending(const struct prog *p)
{
	return p->state == PROG_DRAIN || (p->state >= PROG_HELD && p->how != 0);
}

static bool polls(const struct guest *g)
{
	return g->prog.state == PROG_RUNNING &&
	       (g->bare || g->limit_memory || g->prog.cpu_limit_ns != UINT64_MAX);
}

uint64_t prog_next_ns(const struct guest *g)
{
	const struct prog *p = &g->prog;

	if (ending(p) || (polls(g) && p->tick_ns < p->deadline_ns))
		return p->tick_ns;
	return p->state == PROG_RUNNING ? p->deadline_ns : UINT64_MAX;
}

static void check_bounds(struct guest *g)
{
	struct prog *p = &g->prog;
	struct tree tree;

	tree_measure(g, false, &tree);
	if (g->limit_memory && tree.memory_bytes > g->memory_bytes)
		tree_measure(g, true, &tree);
	if (g->limit_memory && tree.memory_bytes > g->memory_bytes)
		end_tree(g, SBX_WIRE_OOM);
	if (!disk_fits(g))
		end_tree(g, SBX_WIRE_DISK);
	if (tree.cpu_ns + p->cpu_user_ns + p->cpu_sys_ns > p->cpu_limit_ns)
		end_tree(g, SBX_WIRE_CPU_TIMEOUT);
}

void prog_tick(struct guest *g)
{
	struct prog *p = &g->prog;

	if (ending(p)) {
		kill_tree(g);
		finish(g);
	} else if (p->state == PROG_RUNNING && now_ns() >= p->deadline_ns) {
		end_tree(g, SBX_WIRE_TIMEOUT);
	} else if (polls(g)) {
		p->tick_ns = now_ns() + POLL_NS;
		check_bounds(g);
	}
}
