/*
 * A run while it lives: what its stages share.  Private to lib/sandbox/.
 *
 * Stages, in order, each a function that returns 0 or -1 with err: plan (plan.c), acquire (a box and its greeting), place
 * (files in), the programs (program.c: compile steps, then the program), collect (collect.c: files out), release (the box
 * ends, its counters are read), report (the one `end`).  A stage that fails leaves the rest out but for release and report.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/backend/backend.h"
#include "lib/base/err.h"
#include "lib/base/input.h"
#include "lib/event/event.h"
#include "lib/guest/client.h"
#include "lib/sandbox/plan.h"
#include "lib/sandbox/run.h"

/* One stream of the program on its way to events: what may be the beginning of a character waits for the rest. */
struct sbx_tail {
	char bytes[4];
	size_t n;
};

/* A file on its way in. */
struct sbx_placing {
	uint32_t req;
	bool over;
	uint32_t sys; /* errno of the guest's, 0: it is there */
};

struct sbx_live {
	const struct sbx_run_env *env;
	struct sbx_request *req;
	struct sbx_emitter em;
	struct sbx_plan plan;
	struct sbx_box *box;       /* owned */
	struct sbx_client *client; /* owned */
	int out_fd;                /* --out-dir, or -1 */
	struct sbx_receipt receipt;
	bool started_event; /* `start` was put */
	struct sbx_placing code;

	/* the program that is being run */
	uint32_t prog;               /* request; 0: none */
	const struct sbx_strv *argv; /* borrowed from plan */
	bool is_compile, running, over;
	uint64_t spawn_ns; /* when it was asked for */
	struct sbx_tail tail[2];
	size_t ungranted[2]; /* bytes put, whose credit waits for a slow reader */
	struct sbx_buf
		compile_words; /* stdout and stderr of a compiler, kept until it is known whether it failed */
	struct sbx_wire_end end; /* of the last program; its step is end_step */
	char end_step[32];
	bool stdin_open;
	struct sbx_input input; /* of stdin_fd */
	size_t stdin_at;        /* of stdin_bytes */

	/* why it ends early */
	int cancelled_by; /* a signal */
	uint64_t cancelled_ns;
	bool hurried;
	bool kill_sent;
	uint8_t killed_for; /* an enum sbx_outcome, when we asked for the kill */
	uint64_t fuse_ns;   /* our own deadline, behind the guest's */
	uint64_t look_ns;   /* when the counters are read next */
	const char *phase;

	/* the result */
	enum sbx_outcome outcome;
	bool ran, limited[2];
	struct sbx_err error;
	struct sbx_timing timing;
	struct sbx_box_stats stats;
	bool has_stats;
	bool disk_polled; /* of struct sbx_box */
};

/* loop.c: one turn: waits for what can happen next and deals with it.  -1: SBX_E_OUTPUT (the events cannot be written), SBX_E_LOST or SBX_E_BACKEND (the box), or what a handler said. */
int sbx_live_turn(struct sbx_live *live, struct sbx_err *err) SBX_MUST_USE;
/* Reads our signals; -1 where one of them ends the run now. */
int sbx_live_signals(struct sbx_live *live, struct sbx_err *err) SBX_MUST_USE;
/* A turn that has to get somewhere: TIMEOUT when the fuse is through. */
void sbx_live_fuse(struct sbx_live *live, uint64_t span_ns);

/* output.c: bytes of the program as events; at_end also what waits in the tail. */
int sbx_live_output(struct sbx_live *live, unsigned int stream, struct sbx_str bytes, bool at_end,
		    struct sbx_err *err) SBX_MUST_USE;

/* program.c */
int sbx_live_program(struct sbx_live *live, const struct sbx_strv *argv, bool is_compile,
		     struct sbx_err *err) SBX_MUST_USE;

/* place.c, collect.c */
int sbx_live_place(struct sbx_live *live, struct sbx_err *err) SBX_MUST_USE;
/* Makes and opens --out-dir: that it cannot be is found out before anything starts. */
int sbx_live_open_out(struct sbx_live *live, struct sbx_err *err) SBX_MUST_USE;
int sbx_live_collect(struct sbx_live *live, struct sbx_err *err) SBX_MUST_USE;
/* What --out asks for; its strings are borrowed from the request. */
struct sbx_wire_get sbx_live_wanted(const struct sbx_live *live);
/* Whether the code is in its place; to be asked before the program is let go. */
int sbx_live_placed(struct sbx_live *live, struct sbx_err *err) SBX_MUST_USE;
/* Remembers what --out names as it is now. */
int sbx_live_mark(struct sbx_live *live, struct sbx_err *err) SBX_MUST_USE;

/* receipt.c: lays what the guest measured over what the backend said. */
void sbx_live_receipt(struct sbx_live *live, const struct sbx_facts *facts);

/* Events by name. */
int sbx_live_limit(struct sbx_live *live, enum sbx_control ctl, uint64_t value,
		   struct sbx_err *err) SBX_MUST_USE;
int sbx_live_warn(struct sbx_live *live, const char *code, const char *message,
		  struct sbx_err *err) SBX_MUST_USE;
