/*
 * A line of --jobs: one JSON object.  `id lang code|file args stdin|stdin_base64 env files`, and every other option of a run under
 * its long name; unknown keys are refused.  `env` is an object of strings, `files` an array of {path, data|base64, mode}.
 */
#pragma once

#include "lib/base/attr.h"
#include "lib/base/str.h"
#include "lib/sandbox/run.h"

struct sbx_err;

/*
 * Lays the job over req, which holds the defaults.  req->id is set when the job gives one, also when the line fails for another
 * reason, so that its end can name it.  where names the line ("line 3 of jobs.jsonl").
 */
int sbx_job_read(struct sbx_str line, const char *where, struct sbx_request *req,
		 struct sbx_err *err) SBX_MUST_USE;
