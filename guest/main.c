#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "guest-digest.h"

enum { POLL_MAX = 3 + 4 };

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The exit of process 1 ends the namespace and with it everything in it.  Descriptor 2 is /dev/null or an engine's log. */
void die(const char *why)
{
	(void)!write(2, "llmsbx-guest: ", 14);
	(void)!write(2, why, strlen(why));
	(void)!write(2, "\n", 1);
	_exit(1);
}

void *grab(size_t n)
{
	void *p = calloc(1, n);

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

static void take_setup(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	struct sbx_wire_setup m;

	sbx_code_setup(&c, &m);
	if (!sbx_coder_ok(&c) || g->ready || m.version != SBX_WIRE_VERSION ||
	    strcmp(m.digest, SBX_GUEST_DIGEST) != 0)
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
	g->workdir = keep(m.workdir);
	g->n_writable = m.n_writable;
	for (uint32_t i = 0; i < m.n_writable; i++)
		g->writable[i] = keep(m.writable[i]);
	/* From here on files are touched with the program's rights only, and what is made belongs to it. */
	setfsgid(g->gid);
	setfsuid(g->uid);
	g->files.workdir = open(g->workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
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
		[SBX_WIRE_SETUP] = take_setup, [SBX_WIRE_ARGV] = prog_strings,
		[SBX_WIRE_ENV] = prog_strings, [SBX_WIRE_SPAWN] = prog_spawn,
		[SBX_WIRE_GO] = prog_go,       [SBX_WIRE_KILL] = prog_kill,
		[SBX_WIRE_RESIZE] = prog_resize, [SBX_WIRE_PUT] = files_put,
		[SBX_WIRE_MARK] = files_mark,	 [SBX_WIRE_GET] = files_get,
		[SBX_WIRE_DATA] = take_data,	 [SBX_WIRE_EOF] = take_eof,
		[SBX_WIRE_CREDIT] = take_credit,
	};

	if (f->type >= sizeof verbs / sizeof *verbs || !verbs[f->type] ||
	    (!g->ready && f->type != SBX_WIRE_SETUP) || f->req >= SBX_WIRE_GUEST_ID ||
	    (f->req == 0) != (f->type == SBX_WIRE_SETUP))
		die("a frame that cannot be");
	verbs[f->type](g, f);
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
		die("the host is gone");
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

/* Only what comes from outside the namespace (ssi_pid 0) may end it; the program's signals are nobody's business. */
static void read_signals(struct guest *g)
{
	struct signalfd_siginfo info;

	while (read(g->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGCHLD && info.ssi_pid == 0)
			die("told to end");
	prog_reap(g);
}

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

static void __attribute__((noreturn)) loop(struct guest *g)
{
	struct pollfd fds[POLL_MAX];
	struct chan *ch = &g->chan;
	bool busy = false;
	unsigned int n;

	for (;;) {
		chan_flush(ch);
		fds[0] = (struct pollfd){ .fd = g->signal_fd, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = ch->in_fd, .events = POLLIN };
		fds[2] = (struct pollfd){ .fd = chan_pending(ch) ? ch->out_fd : -1,
					  .events = POLLOUT };
		n = prog_poll(g, fds + 3);
		if (poll(fds, 3 + n, busy ? 0 : wait_ms(g)) < 0 && errno != EINTR)
			die("poll");
		/* Children first, so that what a dead program left in its pipes is read after its status is known. */
		if (fds[0].revents)
			read_signals(g);
		prog_ready(g, fds + 3, n);
		if (fds[1].revents)
			read_channel(g);
		if (now_ns() >= prog_next_ns(g))
			prog_tick(g);
		busy = files_get_step(g);
	}
}

static int descriptor(const char *s)
{
	int v = 0;

	while (*s >= '0' && *s <= '9' && v < 1000)
		v = v * 10 + (*s++ - '0');
	return v;
}

/* usage: llmsbx-guest [IN OUT], the descriptors of its channel; 0 and 1 where an engine attaches them. */
int main(int argc, char **argv)
{
	static struct guest guest;
	struct guest *g = &guest;
	struct sbx_wire_hello hello = { .version = SBX_WIRE_VERSION, .digest = SBX_GUEST_DIGEST };
	struct sbx_coder c;
	sigset_t all;

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	(void)umask(022);
	g->chan.in_fd = argc > 2 ? descriptor(argv[1]) : 0;
	g->chan.out_fd = argc > 2 ? descriptor(argv[2]) : 1;
	(void)fcntl(g->chan.in_fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(g->chan.out_fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(g->chan.in_fd, F_SETFL, O_NONBLOCK);
	(void)fcntl(g->chan.out_fd, F_SETFL, O_NONBLOCK);
	g->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (g->signal_fd < 0)
		die("signalfd");
	g->prog = (struct prog){ .in = -1, .out = -1, .err = -1, .sync = -1, .hold = -1 };
	g->files.put_fd = g->files.get_fd = -1;
	c = chan_begin(&g->chan);
	sbx_code_hello(&c, &hello);
	chan_end(&g->chan, &c, SBX_WIRE_HELLO, 0);
	loop(g);
}
