#include "lib/sandbox/run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/rand.h"
#include "lib/sandbox/box.h"
#include "lib/sandbox/live.h"

enum { ID_LENGTH = 20 };

int sbx_live_limit(struct sbx_live *live, enum sbx_control ctl, uint64_t value, struct sbx_err *err)
{
	struct sbx_event ev = {.type = SBX_EV_LIMIT,
			       .limit = {.name = sbx_control_name(ctl), .value = value}};

	return sbx_emit(&live->em, &ev, err);
}

int sbx_live_warn(struct sbx_live *live, const char *code, const char *message, struct sbx_err *err)
{
	struct sbx_event ev = {.type = SBX_EV_WARN, .warn = {.code = code, .message = message}};

	return sbx_emit(&live->em, &ev, err);
}

/* ---- acquire */

/* Without a /dev of its own. */
static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full"};

/* The places of the host that a sandbox has where no mount gives it others. */
static int fill_bare(const struct sbx_box_bare *bare, const struct sbx_request *req,
		     struct sbx_wire_setup *m, struct sbx_err *err)
{
	m->uid = bare->uid;
	m->gid = bare->gid;
	m->workdir = m->writable[m->n_writable++] = bare->workdir;
	m->writable[m->n_writable++] = bare->tmp;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(devices); i++)
		m->writable[m->n_writable++] = devices[i];
	m->disk_bytes = req->limits.disk_bytes;
	if (m->pids != SBX_UNLIMITED)
		m->pids += bare->pids_beside;
	if (bare->readable.n > SBX_WIRE_LIST_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "host_paths: more than %d match",
				SBX_WIRE_LIST_MAX);
	for (size_t i = 0; i < bare->readable.n; i++)
		m->readable[m->n_readable++] = bare->readable.v[i];
	return 0;
}

/* Folders that stay writable under Landlock: the scratches, the devices, and what was mounted for writing. */
static int fill_setup(const struct sbx_live *live, struct sbx_wire_setup *m, struct sbx_err *err)
{
	const struct sbx_request *req = live->req;
	const char *const scratch[] = {req->workdir, "/tmp",     "/dev",
				       "/dev/shm",   "/dev/pts", "/proc"};

	*m = (struct sbx_wire_setup){
		.uid = req->uid,
		.gid = req->gid,
		.one_id = live->box->one_id,
		.limit_memory = live->box->guest_limits_memory,
		.limit_pids = live->box->guest_limits_pids,
		.memory_bytes = req->limits.memory_bytes,
		.pids = req->limits.pids,
		.nofile = req->limits.nofile,
		.workdir = req->workdir,
		.disk_bytes = UINT64_MAX,
	};
	if (live->box->bare)
		return fill_bare(live->box->bare, req, m, err);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(scratch); i++)
		m->writable[m->n_writable++] = scratch[i];
	if (!req->read_only)
		m->writable[m->n_writable++] = "/";
	for (size_t i = 0; i < req->n_mounts; i++) {
		if (!req->mounts[i].writable)
			continue;
		if (m->n_writable == SBX_WIRE_LIST_MAX)
			return sbx_fail(err, SBX_E_USAGE, "--mount: more than %d writable ones",
					SBX_WIRE_LIST_MAX);
		m->writable[m->n_writable++] = req->mounts[i].dest;
	}
	return 0;
}

static int woken(void *ctx, struct sbx_err *err)
{
	return sbx_live_signals(ctx, err);
}

static int acquire(struct sbx_live *live, struct sbx_err *err)
{
	const struct sbx_run_env *env = live->env;
	const struct sbx_wake wake = {.fd = env->signal_fd, .woken = woken, .ctx = live};
	struct sbx_wire_setup setup;

	if (env->ready)
		live->box = sbx_ready_take(env->ready, live->req, live->plan.lang);
	if (!live->box &&
	    sbx_box_make(env->backend, live->req, live->plan.lang, &wake, &live->box, err) != 0)
		return -1;
	live->disk_polled = live->box->disk_polled;
	/* Its greeting is not waited for: whatever else comes first is refused by the client. */
	if (fill_setup(live, &setup, err) != 0)
		return -1;
	if (sbx_plan_commands(live->req, setup.workdir,
			      live->box->bare ? live->box->bare->tmp : NULL, &live->plan, err) != 0)
		return -1;
	return sbx_client_open(live->box->stream, &setup, &live->client, err);
}

/* ---- release */

static int release(struct sbx_live *live, struct sbx_err *err)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_backend *be = live->env->backend;

	if (!live->box)
		return 0;
	/* The counters of a box that is gone cannot be read any more. */
	live->has_stats = be->ops->stats(be, live->box, &live->stats, &ignored) == 0;
	sbx_client_free(live->client);
	live->client = NULL;
	return be->ops->destroy(be, SBX_TAKE(live->box), err);
}

/* ---- the stages */

static int put_warnings(struct sbx_live *live, struct sbx_err *err)
{
	const struct sbx_strv *w = &live->req->warnings;

	for (size_t i = 0; i + 1 < w->n; i += 2)
		if (sbx_live_warn(live, w->v[i], w->v[i + 1], err) != 0)
			return -1;
	return 0;
}

static bool went_well(const struct sbx_live *live)
{
	return live->end.how == SBX_WIRE_EXITED && live->end.code == 0;
}

static int compile(struct sbx_live *live, struct sbx_err *err)
{
	for (size_t i = 0; i < live->plan.n_compile; i++) {
		if (sbx_live_program(live, &live->plan.compile[i], true, err) != 0)
			return -1;
		if (!went_well(live))
			return 0;
	}
	return 0;
}

/* Runs a stage, and adds the time that it took to *ns. */
static int timed(struct sbx_live *live, const char *phase, uint64_t *ns,
		 int (*stage)(struct sbx_live *, struct sbx_err *), struct sbx_err *err)
{
	uint64_t start = sbx_now_ns();
	int r;

	live->phase = phase;
	r = stage(live, err);
	*ns += sbx_now_ns() - start;
	sbx_log(SBX_LOG_DEBUG, "run", "%s: %s %s after %llu us", live->req->id, phase,
		r == 0 ? "done" : "failed", (unsigned long long)(sbx_now_ns() - start) / 1000);
	return r;
}

static int plan(struct sbx_live *live, struct sbx_err *err)
{
	if (sbx_plan_make(live->env->backend, live->env->langs, live->req, &live->plan, err) != 0)
		return -1;
	return put_warnings(live, err) == 0 ? sbx_live_open_out(live, err) : -1;
}

static int execute(struct sbx_live *live, struct sbx_err *err)
{
	if (live->req->out.n > 0 && sbx_live_mark(live, err) != 0)
		return -1;
	return sbx_live_program(live, &live->plan.run, false, err);
}

static int stages(struct sbx_live *live, struct sbx_err *err)
{
	uint64_t ignored = 0, exec = 0;

	if (timed(live, "prepare", &ignored, plan, err) != 0 ||
	    timed(live, "acquire", &live->timing.acquire, acquire, err) != 0 ||
	    timed(live, "place", &live->timing.acquire, sbx_live_place, err) != 0 ||
	    timed(live, "compile", &live->timing.compile, compile, err) != 0)
		return -1;
	/* The phase that is named is the one that it ended in. */
	if (live->plan.n_compile > 0 && !went_well(live))
		return 0;
	if (timed(live, "run", &exec, execute, err) != 0)
		return -1;
	if (!live->ran)
		return 0;
	live->timing.exec = live->end.exec_ns;
	live->timing.drain = live->end.drain_ns;
	if (live->req->out.n == 0 || live->cancelled_by)
		return 0;
	return timed(live, "collect", &live->timing.drain, sbx_live_collect, err);
}

/* ---- judging the end */

static bool is_ours(enum sbx_outcome outcome)
{
	return outcome == SBX_OUT_FAILED || outcome == SBX_OUT_LOST;
}

static bool out_of_memory(const struct sbx_live *live)
{
	return live->has_stats && live->stats.has_oom_kills && live->stats.oom_kills > 0;
}

/* The program could not be started: the kernel's reason decides between 126 and 127. */
static void judge_failed(struct sbx_live *live)
{
	const struct sbx_wire_end *end = &live->end;
	const char *program = live->argv->n ? live->argv->v[0] : "?";
	struct sbx_err *err = &live->error;
	int sys = (int)end->sys;

	live->outcome = SBX_OUT_FAILED;
	live->ran = false;
	if (strcmp(end->step, "exec") == 0 && (sys == ENOENT || sys == ENOTDIR))
		sbx_fail_(err, SBX_E_NOT_FOUND, "no program '%s' in the sandbox", program);
	else if (strcmp(end->step, "exec") == 0)
		sbx_fail_(err, SBX_E_NOT_EXECUTABLE, "cannot execute '%s' in the sandbox: %s",
			  program, sbx_strerror(sys));
	else if (strcmp(end->step, "chdir") == 0)
		sbx_fail_sys_(err, sys, "--workdir: cannot enter '%s'", live->req->workdir);
	else
		sbx_fail_sys_(err, sys, "the sandbox cannot confine the program: %s", end->step);
}

static void judge_end(struct sbx_live *live)
{
	static const enum sbx_outcome outcomes[] = {
		[SBX_WIRE_EXITED] = SBX_OUT_EXITED,   [SBX_WIRE_SIGNALED] = SBX_OUT_SIGNALED,
		[SBX_WIRE_TIMEOUT] = SBX_OUT_TIMEOUT, [SBX_WIRE_CPU_TIMEOUT] = SBX_OUT_CPU_TIMEOUT,
		[SBX_WIRE_DISK] = SBX_OUT_DISK,       [SBX_WIRE_OOM] = SBX_OUT_OOM,
		[SBX_WIRE_OUTPUT] = SBX_OUT_OUTPUT,   [SBX_WIRE_KILLED] = SBX_OUT_CANCELLED,
		[SBX_WIRE_FAILED] = SBX_OUT_FAILED,
	};

	live->outcome = outcomes[live->end.how];
	if (live->end.how == SBX_WIRE_FAILED)
		judge_failed(live);
	else if (live->end.how == SBX_WIRE_KILLED)
		live->outcome = live->killed_for;
	else if (live->end.how == SBX_WIRE_SIGNALED && live->end.code == SIGKILL &&
		 out_of_memory(live))
		live->outcome = SBX_OUT_OOM;
	else if (live->is_compile && !went_well(live) &&
		 (live->outcome == SBX_OUT_EXITED || live->outcome == SBX_OUT_SIGNALED))
		live->outcome = SBX_OUT_COMPILE_FAILED;
}

/* A stage failed: what that means depends on whether the program was there already. */
static void judge_error(struct sbx_live *live)
{
	enum sbx_code code = live->error.code;

	if (live->cancelled_by) {
		live->outcome = SBX_OUT_CANCELLED;
		sbx_err_clear(&live->error);
	} else if (live->killed_for && code == SBX_E_TIMEOUT) {
		live->outcome = live->killed_for;
		sbx_err_clear(&live->error);
	} else if (code == SBX_E_LOST && out_of_memory(live)) {
		live->outcome = SBX_OUT_OOM;
		sbx_err_clear(&live->error);
	} else if (code == SBX_E_TIMEOUT && live->ran && !live->over) {
		/* The guest did not keep the program's deadline: ours did. */
		live->outcome = SBX_OUT_TIMEOUT;
		sbx_err_clear(&live->error);
	} else {
		live->outcome = live->started_event && live->ran ? SBX_OUT_LOST : SBX_OUT_FAILED;
	}
}

/* ---- report */

static bool is_full(const struct sbx_live *live, enum sbx_wire_scratch which)
{
	return live->ran && live->end.full & 1U << which;
}

static int put_limits(struct sbx_live *live, struct sbx_err *err)
{
	const struct sbx_limits *limits = &live->req->limits;
	const struct sbx_box_stats *stats = &live->stats;
	const struct {
		bool met;
		enum sbx_control ctl;
		uint64_t value;
	} met[] = {
		{live->outcome == SBX_OUT_TIMEOUT, SBX_CTL_WALL_TIME, live->req->timeout_ns},
		{live->outcome == SBX_OUT_CPU_TIMEOUT, SBX_CTL_CPU_TIME, live->req->cpu_time_ns},
		{live->outcome == SBX_OUT_OOM || out_of_memory(live), SBX_CTL_MEMORY,
		 limits->memory_bytes},
		{live->has_stats && stats->has_pids_refused && stats->pids_refused > 0,
		 SBX_CTL_PIDS, limits->pids},
		{live->has_stats && stats->has_cpu_throttled && stats->cpu_throttled > 0,
		 SBX_CTL_CPU, limits->cpu_milli},
		{is_full(live, SBX_WIRE_SHM), SBX_CTL_DISK, limits->shm_bytes},
		{is_full(live, SBX_WIRE_TMP), SBX_CTL_DISK, limits->tmp_bytes},
		{live->disk_polled ? live->outcome == SBX_OUT_DISK
				   : is_full(live, SBX_WIRE_WORKDIR),
		 SBX_CTL_DISK, limits->disk_bytes},
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(met); i++)
		if (met[i].met && sbx_live_limit(live, met[i].ctl, met[i].value, err) != 0)
			return -1;
	/* Where the limit is not the kernel's it is the host's file system that has no room. */
	if (live->disk_polled && is_full(live, SBX_WIRE_WORKDIR))
		return sbx_live_warn(live, "host_disk_full",
				     "the disk of the cache folder, where the work directory is, "
				     "is full",
				     err);
	return 0;
}

static void fill_usage(const struct sbx_live *live, struct sbx_usage *u)
{
	if (live->has_stats)
		*u = live->stats.usage;
	if (!live->has_stats || !live->stats.has_cpu) {
		u->cpu_user_ns = live->end.cpu_user_ns;
		u->cpu_sys_ns = live->end.cpu_sys_ns;
	}
	if (!u->has_memory && live->end.maxrss_bytes > 0) {
		u->memory_peak_bytes = live->end.maxrss_bytes;
		u->has_memory = true;
	}
}

static const char *hint_of(const struct sbx_live *live)
{
	if (live->outcome == SBX_OUT_SIGNALED && live->end.code == SIGSYS)
		return "the program made a system call that no program here may make";
	if (live->error.code == SBX_E_UNSUPPORTED)
		return "`llmsbx doctor` shows what this machine can enforce";
	return NULL;
}

static int put_end(struct sbx_live *live, struct sbx_result *ret, struct sbx_err *err)
{
	struct sbx_event ev = {.type = SBX_EV_END};
	struct sbx_ev_end *end = &ev.end;
	bool has_end = live->over && live->end.how != 0 && !is_ours(live->outcome);

	end->outcome = live->outcome;
	end->ran = live->ran;
	if (has_end && (live->end.how == SBX_WIRE_EXITED)) {
		end->has_exit_code = true;
		end->exit_code = (int)live->end.code;
	} else if (has_end && live->end.code > 0 && live->end.code < NSIG) {
		end->signal = (int)live->end.code;
	}
	if (live->error.code != SBX_E_OK) {
		end->error = &live->error;
		end->phase = live->phase;
	}
	end->hint = hint_of(live);
	end->truncated_stdout = live->limited[0];
	end->truncated_stderr = live->limited[1];
	if (live->over && !live->is_compile) {
		end->bytes_stdout = live->end.bytes[0];
		end->bytes_stderr = live->end.bytes[1];
	}
	live->timing.total = sbx_now_ns() - live->env->queued_ns;
	end->timing = live->timing;
	fill_usage(live, &end->usage);
	ret->outcome = live->outcome;
	ret->status = sbx_end_status(end);
	ret->cancelled_by = live->cancelled_by;
	ret->hurried = live->hurried;
	return sbx_emit(&live->em, &ev, err);
}

/* Whether err says that nobody can be told anything any more. */
static bool is_unwritable(const struct sbx_err *err)
{
	return err->code == SBX_E_OUTPUT || (err->code == SBX_E_SYSTEM && err->sys == EPIPE);
}

static int report(struct sbx_live *live, int staged, struct sbx_result *ret, struct sbx_err *err)
{
	struct sbx_err releasing = SBX_ERR_INIT;
	uint64_t start = sbx_now_ns();
	int released = release(live, &releasing);

	live->timing.teardown = sbx_now_ns() - start;
	if (staged != 0 && is_unwritable(&live->error)) {
		*err = live->error;
		return -1;
	}
	if (staged != 0)
		judge_error(live);
	else if (live->over)
		judge_end(live);
	if (live->cancelled_by)
		live->outcome = SBX_OUT_CANCELLED;
	if (released != 0 && sbx_live_warn(live, "not_released", releasing.msg, err) != 0)
		return -1;
	if (put_limits(live, err) != 0)
		return -1;
	return put_end(live, ret, err);
}

char *sbx_run_id(void)
{
	char id[ID_LENGTH + 1];

	sbx_random_id(id, ID_LENGTH);
	return sbx_xstrdup(id);
}

int sbx_run(const struct sbx_run_env *env, struct sbx_request *req, struct sbx_result *ret,
	    struct sbx_err *err)
{
	struct sbx_live live = {.env = env,
				.req = req,
				.phase = "prepare",
				.fuse_ns = SBX_UNLIMITED,
				.out_fd = -1,
				.input = {.fd = -1, .read_fd = -1}};
	int staged, r;

	if (!req->id)
		req->id = sbx_run_id();
	live.em = (struct sbx_emitter){.sink = env->sink, .id = req->id, .start_ns = env->start_ns};
	live.timing.queue = sbx_now_ns() - env->queued_ns;
	staged = stages(&live, &live.error);
	r = report(&live, staged, ret, err);
	sbx_closep(&live.out_fd);
	sbx_buf_release(&live.compile_words);
	sbx_plan_release(&live.plan);
	return r;
}
