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

/* run --jobs: the exit status, or -1. jobs.c. */
int sbx_jobs(struct sbx_app *app, struct sbx_run_opts *opts, struct sbx_err *err) SBX_MUST_USE;
