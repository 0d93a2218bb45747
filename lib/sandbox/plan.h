/* From a request to what is put into a sandbox and started there: the language, the code's file, the commands. */
#pragma once

#include "lib/base/attr.h"
#include "lib/base/buf.h"
#include "lib/base/strv.h"
#include "lib/def/source.h"

struct sbx_backend;
struct sbx_err;
struct sbx_lang;
struct sbx_langs;
struct sbx_request;

struct sbx_plan {
	const struct sbx_lang *lang; /* borrowed from the langs */
	char *file;                  /* where the code goes, relative to the work directory */
	struct sbx_buf code;
	unsigned int mode;
	struct sbx_source_names names;
	size_t variant; /* of the language */

	/* by sbx_plan_commands */
	struct sbx_strv *compile; /* steps */
	size_t n_compile;
	struct sbx_strv run;
	struct sbx_strv env;
};

/*
 * Reads the code, finds the language and the programs it needs.  Takes the code out of req.  May add to req->warnings.
 * SBX_E_NOT_FOUND: no such file, language or interpreter (then naming the package).
 */
int sbx_plan_make(struct sbx_backend *be, struct sbx_langs *langs, struct sbx_request *req,
		  struct sbx_plan *ret, struct sbx_err *err) SBX_MUST_USE;

/* The commands and the environment, for a sandbox whose work directory this is; tmp: where it has no /tmp of its own, else NULL. */
int sbx_plan_commands(const struct sbx_request *req, const char *workdir, const char *tmp,
		      struct sbx_plan *plan, struct sbx_err *err) SBX_MUST_USE;

void sbx_plan_release(struct sbx_plan *plan);
