/* The loop: what came from the host, from children and from pipes, each in its turn. */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MAX = 3 + 4 };

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void *grab(size_t n)
{
	void *p = calloc(1, n);

	if (!p)
		die("out of memory");
	return p;
}

void *regrab(void *p, size_t n)
{
	p = realloc(p, n);
	if (!p)
		die("out of memory");
	return p;
}

char *keep(const char *s)
{
	char *copy = strdup(s);

	if (!copy)
		die("out of memory");
	return copy;
}

/* ---- frames of the host */

/*
 * From here on files are touched with the program's rights only, and what is made belongs to it.  With one id there is nothing
 * to change, and no group can be given up: the program has them as well.
 */
static void take_rights(const struct guest *g)
{
	if (g->one_id)
		return;
	if (setgroups(0, NULL) != 0)
		die("cannot give up its groups");
	setfsgid(g->gid);
	setfsuid(g->uid);
	/* They do not tell whether they did: an invalid id changes nothing and yields the one in force. */
	if ((gid_t)setfsgid((gid_t)-1) != g->gid || (uid_t)setfsuid((uid_t)-1) != g->uid)
		die("cannot take the program's rights");
}

static void take_setup(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	struct sbx_wire_setup m;

	sbx_code_setup(&c, &m);
	if (!sbx_coder_ok(&c) || g->ready || m.version != SBX_WIRE_VERSION ||
	    strcmp(m.digest, g->digest) != 0)
		die("this host speaks another protocol: create the session anew");
	g->ready = true;
	g->uid = m.uid;
	g->gid = m.gid;
	g->one_id = m.one_id;
	g->limit_memory = m.limit_memory;
	g->limit_pids = m.limit_pids;
	g->memory_bytes = m.memory_bytes;
	g->pids = m.pids;
	g->nofile = m.nofile;
	g->n_writable = m.n_writable;
	for (uint32_t i = 0; i < m.n_writable; i++)
		g->writable[i] = keep(m.writable[i]);
	g->n_readable = m.n_readable;
	for (uint32_t i = 0; i < m.n_readable; i++)
		g->readable[i] = keep(m.readable[i]);
	g->disk_bytes = m.disk_bytes;
	take_rights(g);
	g->files.workdir = open(m.workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (g->files.workdir < 0)
		die("no work directory");
}

static void take_data(struct guest *g, const struct sbx_frame *f)
{
	if (f->stream != SBX_WIRE_STDIN || f->n > SBX_WIRE_DATA_MAX)
		die("data that nobody asked for");
	if (f->req == g->files.put_req)
		files_put_data(g, f);
	else if (f->req == g->prog.req && g->prog.state >= PROG_HELD)
		prog_stdin(g, f);
}

static void take_eof(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	uint32_t sys;

	sbx_code_u32(&c, &sys);
	if (!sbx_coder_ok(&c) || f->stream != SBX_WIRE_STDIN)
		die("an end of file that cannot be");
	if (f->req == g->files.put_req)
		files_put_eof(g);
	else if (f->req == g->prog.req && g->prog.state >= PROG_HELD)
		prog_stdin_eof(g);
}

static void take_credit(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	uint32_t *credit = NULL, v;

	sbx_code_u32(&c, &v);
	if (f->req == g->files.get_req && f->stream == SBX_WIRE_STDOUT)
		credit = &g->files.get_credit;
	else if (f->req == g->prog.req &&
		 (f->stream == SBX_WIRE_STDOUT || f->stream == SBX_WIRE_STDERR))
		credit = &g->prog.credit[f->stream];
	if (!sbx_coder_ok(&c) || (credit && v > SBX_WIRE_WINDOW - *credit))
		die("more credit than the window");
	if (credit)
		*credit += v;
}

static void take(struct guest *g, const struct sbx_frame *f)
{
	static void (*const verbs[])(struct guest *, const struct sbx_frame *) = {
		[SBX_WIRE_SETUP] = take_setup,   [SBX_WIRE_ARGV] = prog_strings,
		[SBX_WIRE_ENV] = prog_strings,   [SBX_WIRE_SPAWN] = prog_spawn,
		[SBX_WIRE_GO] = prog_go,         [SBX_WIRE_KILL] = prog_kill,
		[SBX_WIRE_RESIZE] = prog_resize, [SBX_WIRE_PUT] = files_put,
		[SBX_WIRE_MARK] = files_mark,    [SBX_WIRE_GET] = files_get,
		[SBX_WIRE_DATA] = take_data,     [SBX_WIRE_EOF] = take_eof,
		[SBX_WIRE_CREDIT] = take_credit,
	};

	if (f->type >= sizeof verbs / sizeof *verbs || !verbs[f->type] ||
	    (!g->ready && f->type != SBX_WIRE_SETUP) || f->req >= SBX_WIRE_GUEST_ID ||
	    (f->req == 0) != (f->type == SBX_WIRE_SETUP))
		die("a frame that cannot be");
	verbs[f->type](g, f);
}

/* Whether the host is owed anything: one that ends its channel then did not mean to. */
static bool is_busy(const struct guest *g)
{
	return g->prog.state != PROG_NONE || g->files.put_req != 0 || g->files.get_req != 0 ||
	       chan_pending(&g->chan) > 0 || g->chan.in_len > 0;
}

/* One read, then every whole frame in it. */
static void read_channel(struct guest *g)
{
	struct chan *ch = &g->chan;
	size_t at = 0;
	ssize_t n = read(ch->in_fd, ch->in + ch->in_len, CHAN_IN - ch->in_len);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0)
		die(n == 0 && !is_busy(g) ? NULL : "the host is gone");
	ch->in_len += (size_t)n;
	for (;;) {
		struct sbx_frame f;
		long used = sbx_wire_parse(ch->in + at, ch->in_len - at, &f);

		if (used < 0)
			die("a broken frame");
		if (used == 0)
			break;
		take(g, &f);
		at += (size_t)used;
	}
	ch->in_len -= at;
	memmove(ch->in, ch->in + at, ch->in_len);
}

/* ---- signals */

/*
 * Whether somebody outside the namespace told us to end.  Only kill(2) from there has this code and no sender: what a program
 * queues may name any sender, but not this code, and what the kernel sends for it (the owner of a descriptor, which with one id
 * may be process 1) has another one.
 */
static bool told_to_end(const struct signalfd_siginfo *info)
{
	switch (info->ssi_signo) {
	case SIGTERM:
	case SIGINT:
	case SIGHUP:
	case SIGQUIT:
		return info->ssi_code == SI_USER && info->ssi_pid == 0;
	default:
		return false;
	}
}

static void read_signals(struct guest *g)
{
	struct signalfd_siginfo info;

	while (read(g->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		if (told_to_end(&info))
			die("told to end");
	prog_reap(g);
}

/* ---- one turn */

static int wait_ms(const struct guest *g)
{
	uint64_t next = prog_next_ns(g), now = now_ns(), ms;

	if (next == UINT64_MAX)
		return -1;
	if (next <= now)
		return 0;
	ms = (next - now + 999999) / 1000000;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

void guest_turn(struct guest *g)
{
	struct pollfd fds[POLL_MAX];
	struct chan *ch = &g->chan;
	unsigned int n;

	/* First, since what may be read and sent depends on how much still waits. */
	chan_flush(ch);
	fds[0] = (struct pollfd){.fd = g->signal_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = ch->in_fd, .events = POLLIN};
	fds[2] = (struct pollfd){.fd = chan_pending(ch) ? ch->out_fd : -1, .events = POLLOUT};
	n = prog_poll(g, fds + 3);
	if (poll(fds, 3 + n, files_get_can(g) ? 0 : wait_ms(g)) < 0 && errno != EINTR)
		die("poll");
	/* Children first, so that what a dead program left in its pipes is read after its status is known. */
	if (fds[0].revents)
		read_signals(g);
	prog_ready(g, fds + 3, n);
	if (fds[1].revents)
		read_channel(g);
	if (now_ns() >= prog_next_ns(g))
		prog_tick(g);
	if (files_get_can(g))
		files_get_step(g);
}

void guest_release(struct guest *g)
{
	prog_release(&g->prog);
	files_release(&g->files);
	for (uint32_t i = 0; i < g->n_writable; i++)
		free(g->writable[i]);
	for (uint32_t i = 0; i < g->n_readable; i++)
		free(g->readable[i]);
	close_fd(&g->signal_fd);
}

void guest_init(struct guest *g, int in_fd, int out_fd, const char *digest)
{
	struct sbx_wire_hello hello = {.version = SBX_WIRE_VERSION, .digest = digest};
	struct sbx_coder c;
	sigset_t all;

	g->digest = digest;
	g->chan.in_fd = in_fd;
	g->chan.out_fd = out_fd;
	(void)fcntl(in_fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(out_fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(in_fd, F_SETFL, O_NONBLOCK);
	(void)fcntl(out_fd, F_SETFL, O_NONBLOCK);
	sigfillset(&all);
	g->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (g->signal_fd < 0)
		die("signalfd");
	prog_init(&g->prog);
	g->files.workdir = g->files.put_fd = g->files.get_fd = -1;
	c = chan_begin(&g->chan);
	sbx_code_hello(&c, &hello);
	chan_end(&g->chan, &c, SBX_WIRE_HELLO, 0);
}
