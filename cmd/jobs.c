/*
 * Theory of operation.  A line of the input becomes a request, the request a child (jobs-child.c)
 * that writes its events to a pipe.  At most -j children run; as many again have their sandbox
 * ready and wait for their turn.  Events are passed on as whole lines, never interleaved, so no more
 * than the beginning of a line is kept here: when our reader is slow we stop reading the pipes, and
 * each child slows its program down.  With --keep-order only the oldest job's pipe is read; the others
 * wait in theirs.  A job for whose process there is no room waits until another one ends.
 *
 *	free -> ahead (its sandbox is made) -> running -> exited (events are left) -> free
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/jobs.h"
#include "cmd/signals.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/event/event.h"
#include "lib/sandbox/backends.h"
#include "lib/sandbox/job.h"

enum {
	CHUNK = 64 << 10,
	PIPE_SIZE = 1 << 20, /* what may wait of a job whose turn to be printed has not come */
	SLOT_FDS = 3,        /* that a job has here */
	RECORD_SEPARATOR = 0x1e,
	OTHER_FDS = 64, /* ours, and what making a sandbox takes */
	STATUS_SOME_FAILED = 123,
	STATUS_TIME = 124,
	STATUS_OURS = 125,
};

/* --format json: all of a job is one line, which its process has made already. */
#define LINE_MAX_BYTES (SIZE_MAX / 2)

struct slot {
	pid_t pid;       /* 0: free */
	uint64_t number; /* of the job, in the order of the input */
	char *id;
	int out_fd; /* its events; -1 after their end */
	int go_fd;  /* closing it lets it run; -1: it may */
	int pid_fd; /* -1: it has ended, and status is how */
	int status;
	uint64_t lines;      /* passed on */
	bool ended;          /* the last of them is its `end` */
	struct sbx_buf part; /* of a line whose rest has not come: only one slot has such */
};

struct jobs {
	struct sbx_app *app;
	struct sbx_run_opts *opts;
	struct sbx_render render;
	struct sbx_signals signals;
	struct sbx_lines lines;
	struct sbx_seen seen;
	struct sbx_request next; /* a job that was read and has no process yet */
	struct sbx_err next_wrong;
	uint64_t next_queued_ns;
	bool has_next;
	bool stalled; /* there was no room for its process: until another one ends */
	struct slot *slots;
	size_t n_slots, parallel;
	uint64_t started, printed; /* jobs; printed counts only with --keep-order */
	int cancelled_by;
	uint64_t cancelled_ns;
	bool hurried;            /* by a second signal: no reader is waited for */
	bool ours, time, failed; /* what the jobs came to */
	struct pollfd *fds;
	size_t n_fds;
};

/* --- slots -------------------------------------------------------------------------------- */

static size_t count_ahead(const struct jobs *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n_slots; i++)
		n += j->slots[i].pid != 0 && j->slots[i].go_fd >= 0;
	return n;
}

static size_t count_running(const struct jobs *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n_slots; i++)
		n += j->slots[i].pid != 0 && j->slots[i].go_fd < 0 && j->slots[i].pid_fd >= 0;
	return n;
}

static struct slot *free_slot(struct jobs *j)
{
	for (size_t i = 0; i < j->n_slots; i++) {
		if (j->slots[i].pid == 0)
			return &j->slots[i];
	}
	return NULL;
}

static bool any_alive(const struct jobs *j)
{
	for (size_t i = 0; i < j->n_slots; i++) {
		if (j->slots[i].pid != 0)
			return true;
	}
	return false;
}

static bool may_start(struct jobs *j)
{
	return j->cancelled_by == 0 && !j->stalled && count_ahead(j) < j->parallel && free_slot(j);
}

/* --- ends of ours ------------------------------------------------------------------------- */

/* The end of a job that has none of its own, as the seq-th of its events. */
static int put_end(struct jobs *j, const char *id, uint64_t seq, enum sbx_outcome outcome,
		   const struct sbx_err *why, struct sbx_err *err)
{
	struct sbx_emitter em = {
		.sink = j->render.sink, .id = id, .start_ns = j->app->start_ns, .seq = seq};
	struct sbx_event ev = {.type = SBX_EV_END, .end = {.outcome = outcome, .error = why}};

	if (outcome == SBX_OUT_FAILED)
		ev.end.phase = "prepare"; /* as where a job's process says it */
	j->ours = true;
	return sbx_emit(&em, &ev, err);
}

/* A job that broke off. */
static int put_lost(struct jobs *j, const struct slot *s, struct sbx_err *err)
{
	struct sbx_err why = SBX_ERR_INIT;

	sbx_fail_(&why, SBX_E_LOST, "the process of this job ended in the midst of it");
	return put_end(j, s->id, s->lines, SBX_OUT_LOST, &why, err);
}

/* --- starting ----------------------------------------------------------------------------- */

/* A pipe and its ends would otherwise live on in the other jobs: a job's death would not show. */
static void close_inherited(struct jobs *j)
{
	for (size_t i = 0; i < j->n_slots; i++) {
		if (j->slots[i].pid == 0)
			continue;
		sbx_closep(&j->slots[i].out_fd);
		sbx_closep(&j->slots[i].go_fd);
		sbx_closep(&j->slots[i].pid_fd);
	}
	if (j->lines.in.fd > STDERR_FILENO)
		sbx_close(j->lines.in.fd);
	sbx_lines_release(&j->lines);
	sbx_render_release(&j->render);
}

/*
 * The process of a job, in s.  What fails here is want of room: s is as it was then, and the process
 * has ended.
 */
static int fork_job(struct jobs *j, struct slot *s, struct sbx_job_child *child,
		    struct sbx_err *err)
{
	int out[2], go[2];

	if (pipe2(out, O_CLOEXEC) < 0)
		return sbx_fail_sys(err, errno, "cannot make a pipe for a job");
	if (pipe2(go, O_CLOEXEC) < 0) {
		sbx_fail_sys_(err, errno, "cannot make a pipe for a job");
		sbx_close(out[0]);
		sbx_close(out[1]);
		return -1;
	}
	(void)fcntl(out[1], F_SETPIPE_SZ,
		    PIPE_SIZE); /* more than a user may have: then it stays smaller */
	s->pid = fork();
	if (s->pid == 0) {
		close_inherited(j);
		sbx_close(out[0]);
		sbx_close(go[1]);
		child->out_fd = out[1];
		child->go_fd = go[0];
		sbx_job_child(child);
	}
	sbx_close(out[1]);
	sbx_close(go[0]);
	if (s->pid < 0) {
		s->pid = 0;
		sbx_fail_sys_(err, errno,
			      "cannot start a process for a job (ulimit -u tells how many may be)");
		sbx_close(out[0]);
		sbx_close(go[1]);
		return -1;
	}
	s->out_fd = out[0];
	s->go_fd = go[1];
	s->pid_fd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	if (s->pid_fd >= 0)
		return 0;
	sbx_fail_sys_(err, errno, "cannot watch a job");
	/* It may be making its sandbox: it is told, so that it cleans up. */
	(void)kill(s->pid, SIGTERM);
	sbx_closep(&s->out_fd);
	sbx_closep(&s->go_fd);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
	return -1;
}

/*
 * The request of one line; what is wrong with it is in *wrong, and the job then fails under its id.
 */
static int read_job(struct jobs *j, struct sbx_str line, bool too_long, struct sbx_request *req,
		    struct sbx_err *wrong, struct sbx_err *err)
{
	char what[64];

	if (sbx_request_copy(&j->opts->req, req, err) < 0)
		return -1;
	(void)snprintf(what, sizeof(what), "--jobs: line %llu",
		       (unsigned long long)j->lines.number);
	if (too_long)
		sbx_fail_(wrong, SBX_E_LIMIT, "%s: longer than %d MiB", what,
			  SBX_JOB_LINE_MAX >> 20);
	else if (sbx_job_read(line, what, req, wrong) == 0 && req->id &&
		 !sbx_seen_add(&j->seen, req->id))
		sbx_fail_(wrong, SBX_E_INVALID, "%s: the id '%s' was there before", what, req->id);
	if (!req->id)
		req->id = sbx_run_id();
	return 0;
}

/* Reads the next job, if there is one and none waits. */
static int take_next(struct jobs *j, struct sbx_err *err)
{
	struct sbx_str line;
	bool too_long;

	if (j->has_next || !sbx_lines_next(&j->lines, &line, &too_long))
		return 0;
	j->next_queued_ns = sbx_now_ns();
	sbx_err_clear(&j->next_wrong);
	if (read_job(j, line, too_long, &j->next, &j->next_wrong, err) < 0)
		return -1;
	j->has_next = true;
	return 0;
}

static void drop_next(struct jobs *j)
{
	if (j->has_next)
		sbx_request_release(&j->next);
	j->has_next = false;
}

/* There is no room for its process, and no other job whose end could make some. */
static int fail_next(struct jobs *j, const struct sbx_err *why, struct sbx_err *err)
{
	bool wrong = j->next_wrong.code != SBX_E_OK; /* which needs no process */
	int r = put_end(j, j->next.id, 0, SBX_OUT_FAILED, wrong ? &j->next_wrong : why, err);

	j->started++;
	j->printed++;
	drop_next(j);
	return r;
}

/* Starts it; where there is no room for it now, another one's end makes some. */
static int start_next(struct jobs *j, struct sbx_err *err)
{
	struct sbx_job_child child = {.opts = j->opts,
				      .start_ns = j->app->start_ns,
				      .queued_ns = j->next_queued_ns,
				      .signal_fd = j->signals.fd,
				      .wrong = j->next_wrong,
				      .req = &j->next};
	struct sbx_err why = SBX_ERR_INIT;
	struct slot *s = free_slot(j);

	*s = (struct slot){.number = j->started,
			   .out_fd = -1,
			   .go_fd = -1,
			   .pid_fd = -1,
			   .part = SBX_BUF_INIT(LINE_MAX_BYTES)};
	if (fork_job(j, s, &child, &why) < 0) {
		j->stalled = any_alive(j);
		return j->stalled ? 0 : fail_next(j, &why, err);
	}
	s->id = sbx_xstrdup(j->next.id);
	j->started++;
	drop_next(j);
	return 0;
}

/* Starts what can be started, and lets the oldest that wait run. */
static int start_jobs(struct jobs *j, struct sbx_err *err)
{
	while (may_start(j)) {
		if (take_next(j, err) < 0)
			return -1;
		if (!j->has_next)
			break;
		if (start_next(j, err) < 0)
			return -1;
	}
	for (size_t running = count_running(j); running < j->parallel; running++) {
		struct slot *next = NULL;

		for (size_t i = 0; i < j->n_slots; i++) {
			struct slot *s = &j->slots[i];

			if (s->pid != 0 && s->go_fd >= 0 && (!next || s->number < next->number))
				next = s;
		}
		if (!next)
			break;
		sbx_closep(&next->go_fd);
	}
	return 0;
}

/* --- passing on --------------------------------------------------------------------------- */

/* Whose lines are printed now; NULL: anybody's. */
static const struct slot *owner(const struct jobs *j)
{
	for (size_t i = 0; i < j->n_slots; i++) {
		const struct slot *s = &j->slots[i];

		if (s->pid != 0 &&
		    (j->opts->keep_order ? s->number == j->printed : s->part.len > 0))
			return s;
	}
	return NULL;
}

static bool outs_have_room(const struct jobs *j)
{
	for (size_t i = 0; i < j->render.n_outs; i++) {
		if (sbx_out_pending(&j->render.out[i]) >= SBX_OUT_HIGH)
			return false;
	}
	return true;
}

/* A line is as long as it is: where it does not fit, the ceiling was meant for many. */
static int print(struct jobs *j, struct sbx_str lines, struct sbx_err *err)
{
	for (size_t i = 0; i < j->render.n_outs; i++) {
		struct sbx_out *out = &j->render.out[i];
		size_t need = sbx_out_pending(out) + lines.n;

		if (out->queue.max < need)
			out->queue.max = need;
		if (sbx_out_add(out, lines.p, lines.n, err) < 0)
			return -1;
	}
	return 0;
}

/* Counts whole lines, and looks whether the last of them is the job's end. */
static void note_lines(const struct jobs *j, struct slot *s, struct sbx_str lines)
{
	const char *before = memrchr(lines.p, '\n', lines.n - 1);
	struct sbx_str last = lines;

	for (size_t i = 0; i < lines.n; i++)
		s->lines += lines.p[i] == '\n';
	if (before)
		last = (struct sbx_str){before + 1, (size_t)(lines.p + lines.n - before) - 1};
	if (*last.p == RECORD_SEPARATOR)
		last = (struct sbx_str){last.p + 1, last.n - 1};
	s->ended = j->opts->render.format == SBX_FORMAT_JSON ||
		   sbx_str_has_prefix(last, "{\"type\":\"end\",");
}

/* The end of a job is the end of its process and of its events. */
static int finish_job(struct jobs *j, struct slot *s, struct sbx_err *err)
{
	enum sbx_outcome outcome;
	int code;

	if (s->pid_fd >= 0 || s->out_fd >= 0)
		return 0;
	code = WIFEXITED(s->status) ? WEXITSTATUS(s->status) : SBX_JOB_BROKEN;
	outcome = (enum sbx_outcome)(code & SBX_JOB_OUTCOME);
	j->ours |= code & SBX_JOB_BROKEN || outcome == SBX_OUT_FAILED || outcome == SBX_OUT_LOST ||
		   outcome == SBX_OUT_INSTALL_FAILED;
	j->time |= outcome == SBX_OUT_TIMEOUT || outcome == SBX_OUT_CPU_TIMEOUT;
	j->failed |= (code & SBX_JOB_NOT_ZERO) != 0;
	if (code & SBX_JOB_BROKEN && !s->ended && put_lost(j, s, err) < 0)
		return -1;
	j->printed++;
	j->stalled = false;
	free(s->id);
	sbx_buf_release(&s->part);
	*s = (struct slot){.pid = 0};
	return 0;
}

/*
 * Whole lines only: of a job whose process is killed in the midst of one, nothing of it is seen.
 */
static int pass_on(struct jobs *j, struct slot *s, struct sbx_err *err)
{
	char chunk[CHUNK];
	ssize_t n = read(s->out_fd, chunk, sizeof(chunk));
	struct sbx_str lines = {chunk, 0};
	const char *last;

	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0) {
		sbx_closep(&s->out_fd);
		sbx_buf_release(&s->part);
		return 0;
	}
	last = memrchr(chunk, '\n', (size_t)n);
	if (!last)
		return sbx_buf_add(&s->part, chunk, (size_t)n, err);
	lines.n = (size_t)(last - chunk) + 1;
	n -= (ssize_t)lines.n;
	if (s->part.len > 0) {
		if (sbx_buf_add(&s->part, lines.p, lines.n, err) < 0)
			return -1;
		lines = (struct sbx_str){s->part.p, s->part.len};
	}
	note_lines(j, s, lines);
	if (print(j, lines, err) < 0)
		return -1;
	/* What --format json puts into one line may be much. */
	if (s->part.len > PIPE_SIZE)
		sbx_buf_release(&s->part);
	sbx_buf_reset(&s->part);
	return sbx_buf_add(&s->part, last + 1, (size_t)n, err);
}

/* --- the loop ----------------------------------------------------------------------------- */

static void signal_jobs(const struct jobs *j, int sig)
{
	for (size_t i = 0; i < j->n_slots; i++) {
		if (j->slots[i].pid != 0 && j->slots[i].pid_fd >= 0)
			(void)kill(j->slots[i].pid, sig);
	}
}

/*
 * A terminal sends its signals to every process of the group; what others sent to us alone is
 * passed on.
 */
static void take_signals(struct jobs *j)
{
	struct signalfd_siginfo info;

	while (read(j->signals.fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGPIPE)
			continue; /* a reader that went away shows as an error of the write */
		if (j->cancelled_by == 0)
			j->cancelled_ns = sbx_now_ns();
		else if (sbx_now_ns() - j->cancelled_ns >= SBX_ONE_SIGNAL_NS)
			j->hurried = true;
		j->cancelled_by = sig;
		if (info.ssi_code != SI_KERNEL)
			signal_jobs(j, sig);
	}
}

static struct pollfd *want(struct jobs *j, int fd, short events)
{
	j->fds[j->n_fds] = (struct pollfd){.fd = fd, .events = events};
	return &j->fds[j->n_fds++];
}

static bool wants_input(struct jobs *j)
{
	return !j->lines.eof && may_start(j);
}

static int wait_for_something(struct jobs *j, const struct pollfd **ret_input, struct sbx_err *err)
{
	const struct slot *only = owner(j);
	bool room = outs_have_room(j);

	j->n_fds = 0;
	(void)want(j, j->signals.fd, POLLIN);
	*ret_input = want(j, wants_input(j) ? j->lines.in.fd : -1, POLLIN);
	for (size_t i = 0; i < j->render.n_outs; i++) {
		const struct sbx_out *out = &j->render.out[i];

		(void)want(j, out->fd, sbx_out_pending(out) > 0 ? POLLOUT : 0);
	}
	for (size_t i = 0; i < j->n_slots; i++) {
		const struct slot *s = &j->slots[i];
		bool reads = s->pid != 0 && room && (!only || only == s) &&
			     (only || !j->opts->keep_order);

		(void)want(j, reads ? s->out_fd : -1, POLLIN);
		(void)want(j, s->pid != 0 ? s->pid_fd : -1, POLLIN);
	}
	if (poll(j->fds, j->n_fds, -1) < 0 && errno != EINTR)
		return sbx_fail_sys(err, errno, "cannot wait for the jobs");
	return 0;
}

static int flush_outs(struct jobs *j, struct sbx_err *err)
{
	for (size_t i = 0; i < j->render.n_outs; i++) {
		struct sbx_out *out = &j->render.out[i];

		if (sbx_out_flush(out, err) < 0)
			return -1;
		if (sbx_out_gone(out)) {
			sbx_fail_sys_(err, EPIPE, "cannot write the output");
			err->code = SBX_E_OUTPUT;
			return -1;
		}
	}
	return 0;
}

/* fds: signals, input, outs, then two for each slot. */
static int serve_slots(struct jobs *j, struct sbx_err *err)
{
	const struct pollfd *fd = j->fds + 2 + j->render.n_outs;

	for (size_t i = 0; i < j->n_slots; i++, fd += 2) {
		struct slot *s = &j->slots[i];

		if (s->pid == 0)
			continue;
		/* Another one may have begun a line since poll() was asked. */
		if (fd[0].fd >= 0 && fd[0].revents && (!owner(j) || owner(j) == s) &&
		    pass_on(j, s, err) < 0)
			return -1;
		if (fd[1].fd >= 0 && fd[1].revents && waitpid(s->pid, &s->status, 0) == s->pid)
			sbx_closep(&s->pid_fd);
		if (finish_job(j, s, err) < 0)
			return -1;
	}
	return 0;
}

static int loop(struct jobs *j, struct sbx_err *err)
{
	const struct pollfd *input;

	for (;;) {
		if (start_jobs(j, err) < 0)
			return -1;
		if (!any_alive(j) && (j->lines.eof || j->cancelled_by != 0))
			return 0;
		if (wait_for_something(j, &input, err) < 0)
			return -1;
		if (j->fds[0].revents)
			take_signals(j);
		if (j->hurried)
			return 0;
		if (input->fd >= 0 && input->revents && sbx_lines_fill(&j->lines, err) < 0)
			return -1;
		if (flush_outs(j, err) < 0 || serve_slots(j, err) < 0)
			return -1;
	}
}

/* --- begin and end ------------------------------------------------------------------------ */

/* Jobs that go on when the loop failed: they are told to end, and are waited for. */
static void release(struct jobs *j)
{
	signal_jobs(j, SIGTERM);
	for (size_t i = 0; i < j->n_slots; i++) {
		struct slot *s = &j->slots[i];

		if (s->pid == 0)
			continue;
		sbx_closep(&s->out_fd);
		sbx_closep(&s->go_fd);
		if (s->pid_fd >= 0)
			(void)waitpid(s->pid, &s->status, 0);
		sbx_closep(&s->pid_fd);
		sbx_buf_release(&s->part);
		free(s->id);
	}
	free(j->slots);
	free(j->fds);
	drop_next(j);
	sbx_seen_release(&j->seen);
	sbx_lines_release(&j->lines);
}

static size_t processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

static int open_input(const char *path, int *ret, struct sbx_err *err)
{
	if (strcmp(path, "-") == 0) {
		*ret = STDIN_FILENO;
		return 0;
	}
	*ret = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (*ret < 0)
		return sbx_fail(err, SBX_E_USAGE, "--jobs: cannot open '%s': %s", path,
				sbx_strerror(errno));
	return 0;
}

/* Events of many runs make sense only as events. */
static int settle_format(struct sbx_run_opts *opts, struct sbx_err *err)
{
	struct sbx_render_opts *r = &opts->render;

	if (r->format == SBX_FORMAT_AUTO)
		r->format = SBX_FORMAT_JSONL;
	if (r->format == SBX_FORMAT_RAW)
		return sbx_fail(err, SBX_E_USAGE,
				"--jobs prints events: --format is jsonl or json");
	if (r->format == SBX_FORMAT_JSON && r->events_fd >= 0)
		return sbx_fail(err, SBX_E_USAGE, "--jobs with --events-fd: --format is jsonl");
	r->max_output = opts->req.max_output;
	return 0;
}

static int status_of(const struct jobs *j)
{
	return j->ours ? STATUS_OURS : j->time ? STATUS_TIME : j->failed ? STATUS_SOME_FAILED : 0;
}

/* Too few are found out before the first job, not in their midst. */
static int have_descriptors(const struct jobs *j, struct sbx_err *err)
{
	uint64_t need = SLOT_FDS * j->n_slots + OTHER_FDS, have = sbx_raise_fd_limit();

	if (have >= need)
		return 0;
	return sbx_fail(err, SBX_E_USAGE,
			"--parallel: %zu jobs at once need %llu descriptors, and the limit is %llu "
			"(ulimit -n)",
			j->parallel, (unsigned long long)need, (unsigned long long)have);
}

static int run_jobs(struct jobs *j, int input, struct sbx_err *err)
{
	struct sbx_result result = {.status = 0};
	int ran;

	j->parallel = j->opts->parallel > 0 ? (size_t)j->opts->parallel : processors();
	j->n_slots = j->parallel * (j->opts->keep_order ? 4 : 2);
	j->slots = sbx_xcalloc(j->n_slots, sizeof(*j->slots));
	j->fds = sbx_xcalloc(2 + SBX_RENDER_OUTS + 2 * j->n_slots, sizeof(*j->fds));
	sbx_lines_init(&j->lines, input);
	ran = have_descriptors(j, err) == 0 ? loop(j, err) : -1;
	result.status = status_of(j);
	result.cancelled_by = j->cancelled_by;
	result.hurried = j->hurried;
	release(j);
	return sbx_run_finish(&j->render, &j->signals, ran, &result, err);
}

int sbx_jobs(struct sbx_app *app, struct sbx_run_opts *opts, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_backends_closep) struct sbx_backend *be = NULL;
	struct jobs j = {.app = app, .opts = opts, .signals = {.fd = -1}};
	struct sbx_err ignored = SBX_ERR_INIT;
	int input, r = -1;

	/* A wrong backend is wrong usage, not a thousand failed jobs; each child opens its own. */
	if (settle_format(opts, err) < 0 || sbx_backends_open(opts->req.backend, &be, err) < 0 ||
	    open_input(opts->jobs_path, &input, err) < 0)
		return -1;
	/* What fails here fails again in each job, which tells of it. */
	if (sbx_backends_prepare(be, &ignored) < 0)
		sbx_err_clear(&ignored);
	sbx_backends_closep(&be);
	if (sbx_render_open(&j.render, &opts->render, err) == 0 &&
	    sbx_signals_open(&j.signals, false, err) == 0)
		r = run_jobs(&j, input, err);
	sbx_render_release(&j.render);
	sbx_closep(&j.signals.fd);
	if (input > STDERR_FILENO)
		sbx_close(input);
	return r;
}
