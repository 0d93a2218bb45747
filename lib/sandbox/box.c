#include "lib/sandbox/box.h"

#include <string.h>

#include "lib/backend/backend.h"
#include "lib/base/err.h"
#include "lib/proc/owner.h"

static void fill_spec(const struct sbx_request *req, const struct sbx_lang *lang,
		      struct sbx_box_spec *spec)
{
	*spec = (struct sbx_box_spec){
		.workdir = req->workdir,
		.hostname = "sandbox",
		.limits = req->limits,
		.network = req->network,
		.mounts = req->mounts,
		.n_mounts = req->n_mounts,
		.host_paths = &lang->host_paths,
		.uid = req->uid,
		.gid = req->gid,
		.read_only = req->read_only,
		.accept_bare = req->accept_bits & 1U << SBX_CTL_NAMESPACES,
	};
}

int sbx_box_make(struct sbx_backend *be, const struct sbx_request *req, const struct sbx_lang *lang,
		 const struct sbx_wake *wake, struct sbx_box **ret, struct sbx_err *err)
{
	static uint64_t
		count; /* of this process: with its pid and start time a name is never used twice */
	char name[SBX_OWNER_NAME_MAX];
	struct sbx_box_spec spec;

	fill_spec(req, lang, &spec);
	if (sbx_owner_name(name, count++, err) != 0)
		return -1;
	spec.name = name;
	spec.wake = wake;
	return be->ops->create(be, &spec, ret, err);
}

int sbx_box_plan(struct sbx_backend *be, const struct sbx_request *req, const struct sbx_lang *lang,
		 struct sbx_jw *jw, struct sbx_err *err)
{
	struct sbx_box_spec spec;

	fill_spec(req, lang, &spec);
	spec.name = "llmsbx-BOOT-PID-STARTTIME-N";
	return be->ops->plan ? be->ops->plan(be, &spec, jw, err) : 0;
}

/* ---- ahead */

int sbx_ready_make(struct sbx_ready *ready, struct sbx_backend *be, const struct sbx_request *shape,
		   const struct sbx_lang *lang, const struct sbx_wake *wake, struct sbx_err *err)
{
	sbx_ready_release(ready, be);
	if (sbx_request_copy(shape, &ready->shape, err) != 0)
		return -1;
	ready->lang = lang;
	return sbx_box_make(be, &ready->shape, lang, wake, &ready->box, err);
}

static bool same_strings(const struct sbx_strv *a, const struct sbx_strv *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

static bool same_mounts(const struct sbx_request *a, const struct sbx_request *b)
{
	if (a->n_mounts != b->n_mounts)
		return false;
	for (size_t i = 0; i < a->n_mounts; i++)
		if (strcmp(a->mounts[i].host, b->mounts[i].host) != 0 ||
		    strcmp(a->mounts[i].dest, b->mounts[i].dest) != 0 ||
		    a->mounts[i].writable != b->mounts[i].writable)
			return false;
	return true;
}

static bool same_limits(const struct sbx_limits *a, const struct sbx_limits *b)
{
	return a->memory_bytes == b->memory_bytes && a->cpu_milli == b->cpu_milli &&
	       a->pids == b->pids && a->disk_bytes == b->disk_bytes &&
	       a->tmp_bytes == b->tmp_bytes && a->shm_bytes == b->shm_bytes &&
	       a->nofile == b->nofile && a->disk_explicit == b->disk_explicit;
}

struct sbx_box *sbx_ready_take(struct sbx_ready *ready, const struct sbx_request *req,
			       const struct sbx_lang *lang)
{
	const struct sbx_request *shape = &ready->shape;
	struct sbx_box *box = ready->box;

	if (!box || !same_limits(&shape->limits, &req->limits) || !same_mounts(shape, req) ||
	    !same_strings(&ready->lang->host_paths, &lang->host_paths) ||
	    strcmp(shape->workdir, req->workdir) != 0 || shape->network != req->network ||
	    shape->uid != req->uid || shape->gid != req->gid ||
	    shape->read_only != req->read_only || shape->accept_bits != req->accept_bits)
		return NULL;
	ready->box = NULL;
	return box;
}

void sbx_ready_release(struct sbx_ready *ready, struct sbx_backend *be)
{
	struct sbx_err ignored = SBX_ERR_INIT; /* gc ends what could not be ended here */

	if (ready->box)
		(void)be->ops->destroy(be, ready->box, &ignored);
	sbx_request_release(&ready->shape);
	*ready = (struct sbx_ready){0};
}
