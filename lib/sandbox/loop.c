/* One turn of a run: everything it waits for is in one poll, and nothing else in lib/sandbox/ waits. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/limits.h"
#include "lib/event/out.h"
#include "lib/sandbox/live.h"

enum {
	POLL_NS = 20000000, /* how often counters are looked at whose limits nobody else keeps */
	STDIN_PIECE = 64 << 10,
};
#define KILL_GRACE_NS 2000000000u /* for the guest to end the tree and send what was written */

void sbx_live_fuse(struct sbx_live *live, uint64_t span_ns)
{
	live->fuse_ns = sbx_deadline(span_ns);
}

/* ---- ending early */

/* Asks the guest to end the tree, so that what was written so far still comes; the fuse ends the box if it does not. */
static int end_program(struct sbx_live *live, enum sbx_outcome why, struct sbx_err *err)
{
	if (live->kill_sent)
		return 0;
	live->kill_sent = true;
	live->killed_for = (uint8_t)why;
	sbx_live_fuse(live, KILL_GRACE_NS);
	return live->prog ? sbx_client_kill(live->client, live->prog, 0, err) : 0;
}

static int cancel(struct sbx_live *live, int sig, struct sbx_err *err)
{
	uint64_t now = sbx_now_ns();

	if (live->cancelled_by != 0 && now - live->cancelled_ns < SBX_ONE_SIGNAL_NS)
		return 0;
	/* A second signal does not wait for anything. */
	live->hurried = live->cancelled_by != 0;
	if (live->hurried)
		return sbx_fail(err, SBX_E_CANCELLED, "cancelled by a signal");
	live->cancelled_by = sig;
	live->cancelled_ns = now;
	if (live->prog)
		return end_program(live, SBX_OUT_CANCELLED, err);
	return sbx_fail(err, SBX_E_CANCELLED, "cancelled by a signal");
}

static int resize(struct sbx_live *live, struct sbx_err *err)
{
	struct winsize size;

	if (!live->req->tty || !live->prog || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return 0;
	return sbx_client_resize(live->client, live->prog, size.ws_row, size.ws_col, err);
}

int sbx_live_signals(struct sbx_live *live, struct sbx_err *err)
{
	struct signalfd_siginfo info;

	while (read(live->env->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		int r = 0;

		if (info.ssi_signo == SIGWINCH)
			r = resize(live, err);
		else if (info.ssi_signo != SIGPIPE)
			r = cancel(live, (int)info.ssi_signo, err);
		if (r != 0)
			return -1;
	}
	return 0;
}

/* What goes in may be too large as well, and what comes out is read when nobody writes any more. */
static bool is_counted(const struct sbx_live *live)
{
	if (live->kill_sent || !live->box)
		return false;
	return live->running ? live->disk_polled || live->req->cpu_time_ns != SBX_UNLIMITED
			     : live->disk_polled && !live->ran;
}

static bool cpu_is_over(const struct sbx_live *live)
{
	const struct sbx_usage *u = &live->stats.usage;

	return live->req->cpu_time_ns != SBX_UNLIMITED && live->stats.has_cpu &&
	       u->cpu_user_ns + u->cpu_sys_ns >= live->req->cpu_time_ns;
}

static int check_counters(struct sbx_live *live, struct sbx_err *err)
{
	struct sbx_err ignored = SBX_ERR_INIT;

	if (!is_counted(live) || sbx_now_ns() < live->look_ns)
		return 0;
	live->look_ns = sbx_deadline(POLL_NS);
	live->has_stats =
		live->box->be->ops->stats(live->box->be, live->box, &live->stats, &ignored) == 0;
	if (!live->has_stats)
		return 0;
	if (live->disk_polled && live->stats.disk_over && !live->running)
		return sbx_fail(err, SBX_E_LIMIT,
				"the files do not fit into the sandbox: raise --disk");
	if (live->disk_polled && live->stats.disk_over)
		return end_program(live, SBX_OUT_DISK, err);
	return live->running && cpu_is_over(live) ? end_program(live, SBX_OUT_CPU_TIMEOUT, err) : 0;
}

/* ---- the readers of our events */

static size_t outs_pending(const struct sbx_live *live)
{
	size_t n = 0;

	for (size_t i = 0; live->env->outs[i]; i++)
		n += sbx_out_pending(live->env->outs[i]);
	return n;
}

/* Writes what can be written; a reader that went away cancels the run as SIGPIPE would. */
static int flush_outs(struct sbx_live *live, struct sbx_err *err)
{
	for (size_t i = 0; live->env->outs[i]; i++) {
		struct sbx_out *out = live->env->outs[i];

		if (sbx_out_pending(out) > 0 && sbx_out_flush(out, err) != 0)
			return -1;
		if (sbx_out_gone(out))
			return sbx_fail_sys(err, EPIPE, "cannot write the output");
	}
	return 0;
}

/* Credit that was held back for a slow reader. */
static int grant(struct sbx_live *live, struct sbx_err *err)
{
	if (!live->prog || outs_pending(live) > SBX_OUT_HIGH)
		return 0;
	for (unsigned int s = 0; s < 2; s++) {
		size_t n = live->ungranted[s];

		live->ungranted[s] = 0;
		if (n > 0 && sbx_client_credit(live->client, live->prog, s + 1, n, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- the program's stdin */

static size_t stdin_room(const struct sbx_live *live)
{
	if (!live->stdin_open || !live->prog)
		return 0;
	return sbx_client_room(live->client, live->prog);
}

static int close_stdin(struct sbx_live *live, struct sbx_err *err)
{
	live->stdin_open = false;
	return sbx_client_eof(live->client, live->prog, err);
}

static int feed_bytes(struct sbx_live *live, struct sbx_err *err)
{
	const struct sbx_buf *bytes = &live->req->stdin_bytes;
	size_t room = stdin_room(live), left = bytes->len - live->stdin_at;
	size_t n = left < room ? left : room;

	if (n > 0 && sbx_client_data(live->client, live->prog,
				     (struct sbx_str){bytes->p + live->stdin_at, n}, err) != 0)
		return -1;
	live->stdin_at += n;
	return live->stdin_at == bytes->len ? close_stdin(live, err) : 0;
}

static int feed_fd(struct sbx_live *live, struct sbx_err *err)
{
	char piece[STDIN_PIECE];
	size_t room = stdin_room(live);
	ssize_t n;

	if (room == 0)
		return 0;
	n = sbx_input_read(&live->input, piece, room < sizeof piece ? room : sizeof piece);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	/* A stdin that cannot be read (a terminal of another session) is an empty one. */
	if (n <= 0)
		return close_stdin(live, err);
	return sbx_client_data(live->client, live->prog, (struct sbx_str){piece, (size_t)n}, err);
}

/* ---- the turn */

struct turn {
	struct pollfd fds[4 + SBX_RUN_OUTS]; /* a dummy, the client, signals, stdin */
	nfds_t n;
	nfds_t client, signals, input; /* places in fds; 0: not there, fds[0] is a dummy */
};

static nfds_t want(struct turn *t, int fd, short events)
{
	t->fds[t->n] = (struct pollfd){.fd = fd, .events = events};
	return t->n++;
}

static void gather(struct sbx_live *live, struct turn *t)
{
	*t = (struct turn){.n = 0};
	(void)want(t, -1, 0);
	if (live->client)
		t->client = want(t, live->box->stream->fd, sbx_client_events(live->client));
	if (live->env->signal_fd >= 0)
		t->signals = want(t, live->env->signal_fd, POLLIN);
	if (live->req->stdin_kind == SBX_STDIN_FD && stdin_room(live) > 0)
		t->input = want(t, live->input.fd, POLLIN);
	for (size_t i = 0; live->env->outs[i]; i++)
		(void)want(t, live->env->outs[i]->fd,
			   sbx_out_pending(live->env->outs[i]) ? POLLOUT : 0);
}

static uint64_t next_ns(const struct sbx_live *live)
{
	uint64_t next = live->fuse_ns;

	if (is_counted(live) && live->look_ns < next)
		next = live->look_ns;
	return next;
}

/* The fuse is for a sandbox that does not answer; while a reader of ours is slow, it is we who do not listen. */
static int check_fuse(struct sbx_live *live, struct sbx_err *err)
{
	if (sbx_now_ns() < live->fuse_ns)
		return 0;
	if (outs_pending(live) > SBX_OUT_HIGH) {
		sbx_live_fuse(live, KILL_GRACE_NS);
		return 0;
	}
	return sbx_fail(err, SBX_E_TIMEOUT, "the sandbox does not answer");
}

int sbx_live_turn(struct sbx_live *live, struct sbx_err *err)
{
	struct turn t;

	gather(live, &t);
	if (poll(t.fds, t.n, sbx_poll_ms(next_ns(live))) < 0 && errno != EINTR)
		return sbx_fail_sys(err, errno, "cannot poll");
	if (t.signals && t.fds[t.signals].revents && sbx_live_signals(live, err) != 0)
		return -1;
	if (flush_outs(live, err) != 0)
		return -1;
	if (t.client && t.fds[t.client].revents && sbx_client_pump(live->client, err) != 0)
		return -1;
	if (t.input && t.fds[t.input].revents && feed_fd(live, err) != 0)
		return -1;
	if (live->req->stdin_kind == SBX_STDIN_BYTES && stdin_room(live) > 0 &&
	    feed_bytes(live, err) != 0)
		return -1;
	if (grant(live, err) != 0 || check_counters(live, err) != 0)
		return -1;
	return check_fuse(live, err);
}
