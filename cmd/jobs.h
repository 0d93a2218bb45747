/*
 * run --jobs: what its three parts hand to each other.  jobs.c has the loop, jobs-input.c reads
 * lines, jobs-child.c is one job in a process of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/run.h"
#include "lib/base/attr.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/input.h"
#include "lib/base/str.h"
#include "lib/sandbox/run.h"

/* --- lines of input ----------------------------------------------------------------------- */

struct sbx_lines {
	struct sbx_input in;
	struct sbx_buf buf;
	size_t head;     /* bytes of buf that were handed out */
	size_t searched; /* bytes behind head in which there is no line feed */
	uint64_t number; /* of the line that was handed out last */
	bool eof;
	bool skipping; /* what comes until the next line feed belongs to a line that was too long */
};

/* fd is borrowed. */
void sbx_lines_init(struct sbx_lines *l, int fd);
void sbx_lines_release(struct sbx_lines *l);

/* Reads once, more when there is: what poll() says is there. */
int sbx_lines_fill(struct sbx_lines *l, struct sbx_err *err) SBX_MUST_USE;

/*
 * The next line that is not blank, borrowed until the next fill; false when more must be read
 * first, or at the end. *ret_long: it was cut.
 */
bool sbx_lines_next(struct sbx_lines *l, struct sbx_str *line, bool *ret_long);

/* The ids that were there: 16 bytes of a digest each. */
struct sbx_seen {
	uint64_t (*v)[2]; /* owned; open addressing, zero is free */
	size_t n, cap;
};
/* false when it was there already. */
bool sbx_seen_add(struct sbx_seen *ids, const char *id);
void sbx_seen_release(struct sbx_seen *ids);

/* --- one job in a child ------------------------------------------------------------------- */

struct sbx_job_child {
	const struct sbx_run_opts *opts;
	uint64_t start_ns, queued_ns;
	struct sbx_request *req; /* with an id */
	struct sbx_err wrong;    /* of the line; OK: it is a job */
	int out_fd;              /* where its events go */
	int go_fd;               /* at its end of file the program may run */
	int signal_fd;
};

/*
 * Its exit status says how it ended: the outcome, and whether the status for the shell was not 0.
 */
enum { SBX_JOB_OUTCOME = 0x1f, SBX_JOB_NOT_ZERO = 0x20, SBX_JOB_BROKEN = 0x40 };
void sbx_job_child(struct sbx_job_child *job) SBX_NORETURN;
