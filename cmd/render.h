/* How a run's events are shown: which sink, on which descriptors. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/attr.h"
#include "lib/event/out.h"
#include "lib/sandbox/run.h"

struct sbx_err;
struct sbx_sink;

enum sbx_format {
	SBX_FORMAT_AUTO, /* raw on a terminal, else jsonl */
	SBX_FORMAT_JSONL,
	SBX_FORMAT_RAW,
	SBX_FORMAT_JSON,
};

struct sbx_render_opts {
	enum sbx_format format;
	bool seq;            /* RS before each object (RFC 7464) */
	bool raw_output;     /* control sequences reach the terminal as they are */
	bool quiet;          /* raw: not a word of ours */
	int events_fd;       /* -1: none */
	uint64_t max_output; /* of a stream: json holds that much */
};

/*
 * Above SBX_OUT_HIGH a run takes nothing more from its program, and what is on the way then is
 * bounded by the guest's credit: a queue is never as full as SBX_RENDER_QUEUE.
 */
enum { SBX_RENDER_OUTS = SBX_RUN_OUTS, SBX_RENDER_QUEUE = 64 << 20 };

struct sbx_render {
	struct sbx_sink *sink; /* owned */
	struct sbx_out out[SBX_RENDER_OUTS];
	int fd[SBX_RENDER_OUTS]; /* the caller's number: one queue for each */
	size_t n_outs;
};

/* "jsonl", "raw", "json"; SBX_E_USAGE for others. */
int sbx_format_parse(const char *text, const char *where, enum sbx_format *ret,
		     struct sbx_err *err) SBX_MUST_USE;

/* AUTO settled by what stdout is. */
enum sbx_format sbx_format_settle(enum sbx_format format);

/* Whether events can be written to fd: open, writable, not 0; SBX_E_USAGE. */
int sbx_events_fd_check(int fd, const char *where, struct sbx_err *err) SBX_MUST_USE;

int sbx_render_open(struct sbx_render *r, const struct sbx_render_opts *opts,
		    struct sbx_err *err) SBX_MUST_USE;

/* The outs as struct sbx_run_env wants them. */
void sbx_render_outs(struct sbx_render *r, struct sbx_out *outs[SBX_RENDER_OUTS + 1]);

/* Writes all that is queued, waiting for a slow reader. */
int sbx_render_drain(struct sbx_render *r, struct sbx_err *err) SBX_MUST_USE;

void sbx_render_release(struct sbx_render *r);
