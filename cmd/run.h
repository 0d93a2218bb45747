/* The options of `run`: what its parts hand to each other. */
#pragma once

#include <stdbool.h>

#include "cmd/render.h"
#include "lib/sandbox/run.h"

struct sbx_app;

struct sbx_run_opts {
	struct sbx_request req;
	struct sbx_render_opts render;
	const char *code;       /* -c */
	const char *stdin_path; /* --stdin */
	const char *jobs_path;  /* --jobs */
	int parallel;           /* -j; 0: as many as there are processors */
	bool keep_order;
	bool dry_run;
};

struct sbx_signals;

/*
 * The end of a command that ran something: what is queued is written, waiting for a slow reader,
 * and then the status is returned, or -1, or llmsbx dies of the signal that cancelled it or of its
 * reader's absence.  ran is what sbx_run said.
 */
int sbx_run_finish(struct sbx_render *render, struct sbx_signals *signals, int ran,
		   const struct sbx_result *result, struct sbx_err *err) SBX_MUST_USE;

/* run --jobs: the exit status, or -1. jobs.c. */
int sbx_jobs(struct sbx_app *app, struct sbx_run_opts *opts, struct sbx_err *err) SBX_MUST_USE;
