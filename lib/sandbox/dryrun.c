/* --dry-run: what a run would be, as one JSON object; nothing is started. */
#include <string.h>

#include "lib/backend/backend.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/json/write.h"
#include "lib/sandbox/box.h"
#include "lib/sandbox/plan.h"
#include "lib/sandbox/run.h"

/* A limit that is lifted is null. */
static void write_limit(struct sbx_jw *jw, const char *key, uint64_t value)
{
	if (value == SBX_UNLIMITED)
		sbx_jw_knull(jw, key);
	else
		sbx_jw_ku64(jw, key, value);
}

static void write_limits(struct sbx_jw *jw, const struct sbx_request *req)
{
	const struct sbx_limits *l = &req->limits;

	sbx_jw_key(jw, "limits");
	sbx_jw_object(jw);
	write_limit(jw, "wall_time_ns", req->timeout_ns);
	write_limit(jw, "cpu_time_ns", req->cpu_time_ns);
	write_limit(jw, "memory_bytes", l->memory_bytes);
	write_limit(jw, "cpu_milli", l->cpu_milli);
	write_limit(jw, "pids", l->pids);
	write_limit(jw, "disk_bytes", l->disk_bytes);
	write_limit(jw, "output_bytes", req->max_output);
	sbx_jw_end(jw);
}

static void write_files(struct sbx_jw *jw, const struct sbx_request *req,
			const struct sbx_plan *plan)
{
	sbx_jw_key(jw, "files");
	sbx_jw_array(jw);
	sbx_jw_cstr(jw, plan->file);
	for (size_t i = 0; i < req->n_files; i++)
		sbx_jw_cstr(jw, req->files[i].dest);
	sbx_jw_end(jw);
}

static void write_mounts(struct sbx_jw *jw, const struct sbx_request *req)
{
	sbx_jw_key(jw, "mounts");
	sbx_jw_array(jw);
	for (size_t i = 0; i < req->n_mounts; i++) {
		sbx_jw_object(jw);
		sbx_jw_kstr(jw, "host", req->mounts[i].host);
		sbx_jw_kstr(jw, "dest", req->mounts[i].dest);
		sbx_jw_kbool(jw, "writable", req->mounts[i].writable);
		sbx_jw_end(jw);
	}
	sbx_jw_end(jw);
}

static void write_plan(struct sbx_jw *jw, const struct sbx_request *req,
		       const struct sbx_plan *plan)
{
	sbx_jw_kstr(jw, "backend", req->backend);
	sbx_jw_kstr(jw, "lang", plan->lang->name);
	sbx_jw_kstr(jw, "workdir", req->workdir);
	write_files(jw, req, plan);
	sbx_jw_key(jw, "compile");
	sbx_jw_array(jw);
	for (size_t i = 0; i < plan->n_compile; i++) {
		sbx_jw_array(jw);
		for (size_t k = 0; k < plan->compile[i].n; k++)
			sbx_jw_cstr(jw, plan->compile[i].v[k]);
		sbx_jw_end(jw);
	}
	sbx_jw_end(jw);
	sbx_jw_kstrv(jw, "run", &plan->run);
	sbx_jw_kstrv(jw, "env", &plan->env);
	write_limits(jw, req);
	sbx_jw_kstr(jw, "network", req->network == SBX_NET_FULL ? "full" : "none");
	write_mounts(jw, req);
	sbx_jw_kstrv(jw, "out", &req->out);
}

int sbx_run_plan(const struct sbx_run_env *env, struct sbx_request *req, struct sbx_buf *out,
		 struct sbx_err *err)
{
	struct sbx_plan plan;
	struct sbx_jw jw;
	int r;

	if (sbx_plan_make(env->backend, env->langs, req, &plan, err) != 0)
		return -1;
	if (sbx_plan_commands(req, req->workdir, NULL, &plan, err) != 0) {
		sbx_plan_release(&plan);
		return -1;
	}
	sbx_jw_init(&jw, out);
	sbx_jw_object(&jw);
	write_plan(&jw, req, &plan);
	sbx_jw_key(&jw, "sandbox");
	sbx_jw_object(&jw);
	r = sbx_box_plan(env->backend, req, plan.lang, &jw, err);
	sbx_jw_end(&jw);
	sbx_jw_end(&jw);
	sbx_plan_release(&plan);
	return r == 0 ? sbx_jw_done(&jw, err) : -1;
}
