/*
 * Theory of operation.  A job is a process of its own, so that its failure costs one job and N of
 * them need no common loop.  It makes its sandbox while it still waits for its turn: on cgroup v1
 * most of that time is the kernel's, not the processor's.  It is cancelled by the signals that
 * llmsbx passes on, and by the death of llmsbx.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cmd/jobs.h"
#include "lib/base/attr.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/event/sinks.h"
#include "lib/sandbox/backends.h"
#include "lib/sandbox/box.h"

static struct sbx_sink *open_sink(const struct sbx_job_child *job, struct sbx_out *out)
{
	if (job->opts->render.format == SBX_FORMAT_JSON)
		return sbx_sink_json(out, job->req->max_output);
	return sbx_sink_jsonl(out, job->opts->render.seq);
}

/* A job that never got as far as a run: its `end` says why. */
static int put_failed(const struct sbx_job_child *job, struct sbx_sink *sink,
		      const struct sbx_err *why, struct sbx_result *ret, struct sbx_err *err)
{
	struct sbx_emitter em = {.sink = sink, .id = job->req->id, .start_ns = job->start_ns};
	struct sbx_event ev = {
		.type = SBX_EV_END,
		.end = {.outcome = SBX_OUT_FAILED, .error = why, .phase = "prepare"}};

	ev.end.timing.queue = ev.end.timing.total = sbx_now_ns() - job->queued_ns;
	ret->outcome = SBX_OUT_FAILED;
	ret->status = sbx_end_status(&ev.end);
	return sbx_emit(&em, &ev, err);
}

/*
 * The language, as far as it shows without reading a file: a wrong guess costs a sandbox that
 * nobody used.
 */
static const struct sbx_lang *guess_language(struct sbx_langs *langs, const struct sbx_request *req)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	const struct sbx_lang *lang = NULL;
	const char *name = req->lang ? req->lang : req->lang_default;
	struct sbx_str code = {sbx_buf_str(&req->code), req->code.len};

	if (!req->lang && req->has_code &&
	    sbx_langs_find_shebang(langs, code, &lang, &ignored) == 0 && lang)
		return lang;
	if (!req->lang && req->code_path &&
	    sbx_langs_find_suffix(langs, req->code_path, &lang, &ignored) == 0 && lang)
		return lang;
	return name && sbx_langs_find(langs, sbx_str_of(name), &lang, &ignored) == 0 ? lang : NULL;
}

/* Until the turn comes, or a signal: what the run then makes of it is its own affair. */
static void wait_for_turn(const struct sbx_job_child *job)
{
	struct pollfd fds[2] = {{.fd = job->go_fd, .events = POLLIN},
				{.fd = job->signal_fd, .events = POLLIN}};

	while (poll(fds, 2, -1) < 0)
		;
}

/* The signal is left for the run, which tells what it ended. */
static int woken(void *ctx SBX_UNUSED, struct sbx_err *err)
{
	return sbx_fail(err, SBX_E_CANCELLED, "cancelled by a signal");
}

static int run(const struct sbx_job_child *job, struct sbx_sink *sink, struct sbx_out *out,
	       struct sbx_result *ret, struct sbx_err *err)
{
	struct sbx_langs langs = {.n = 0};
	struct sbx_err why = SBX_ERR_INIT, ignored = SBX_ERR_INIT;
	struct sbx_ready ready = {.box = NULL};
	struct sbx_run_env env = {.langs = &langs,
				  .sink = sink,
				  .outs = {out},
				  .signal_fd = job->signal_fd,
				  .start_ns = job->start_ns,
				  .queued_ns = job->queued_ns,
				  .ready = &ready};
	const struct sbx_wake wake = {.fd = job->signal_fd, .woken = woken};
	const struct sbx_lang *lang;
	int r;

	if (sbx_backends_open(job->req->backend, &env.backend, &why) < 0)
		return put_failed(job, sink, &why, ret, err);
	lang = guess_language(&langs, job->req);
	/* What fails here fails again in the run, which tells of it. */
	if (lang && sbx_ready_make(&ready, env.backend, job->req, lang, &wake, &ignored) < 0)
		sbx_ready_release(&ready, env.backend);
	wait_for_turn(job);
	r = sbx_run(&env, job->req, ret, err);
	sbx_ready_release(&ready, env.backend);
	sbx_langs_release(&langs);
	sbx_backends_close(env.backend);
	return r;
}

void sbx_job_child(struct sbx_job_child *job)
{
	struct sbx_err err = SBX_ERR_INIT;
	struct sbx_result result = {.status = 0};
	struct sbx_out out;
	struct sbx_sink *sink;
	int r;

	/*
	 * Whoever kills llmsbx ends its jobs; one that died before this line closed go_fd, and the
	 * output has no reader.
	 */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (sbx_out_open(&out, job->out_fd, SBX_RENDER_QUEUE, &err) < 0)
		_exit(SBX_JOB_BROKEN);
	sink = open_sink(job, &out);
	if (job->wrong.code != SBX_E_OK)
		r = put_failed(job, sink, &job->wrong, &result, &err);
	else
		r = run(job, sink, &out, &result, &err);
	if (r < 0 || sbx_out_drain(&out, SBX_UNLIMITED, &err) < 0)
		_exit(SBX_JOB_BROKEN);
	_exit((int)result.outcome | (result.status != 0 ? SBX_JOB_NOT_ZERO : 0));
}
