/* The sinks.  Each writes to an sbx_out that it borrows. */
#pragma once

#include <stdbool.h>

#include "lib/base/attr.h"
#include "lib/event/event.h"

struct sbx_out;

/* JSON Lines: one object a line; with rfc7464 each begins with RS. */
struct sbx_sink *sbx_sink_jsonl(struct sbx_out *out, bool rfc7464);

/*
 * The program's bytes: stdout on out, stderr on errout.  With escape_out/escape_err (the descriptor is a terminal) control
 * sequences are shown as \x1b and the like.  Why a run did not simply exit is one line on errout, `llmsbx: ...`, at its end; so
 * are limits that were met, denials, warnings and files that were not saved; with escape_err also progress and files that were.
 * quiet leaves only the reason of the end.
 */
struct sbx_sink_raw_opts {
	struct sbx_out *out, *errout;
	bool escape_out, escape_err;
	bool quiet;
};
struct sbx_sink *sbx_sink_raw(const struct sbx_sink_raw_opts *opts);

/*
 * One object at the end, a superset of llm-sandbox's: exit_code, stdout, stderr, plots, and all of `end`; files, limits, denies,
 * warnings as arrays, start as an object or null.  stdout is text, with U+FFFD where it is not UTF-8, and then stdout_base64 has
 * the bytes.  Holds at most max_bytes a stream (more is truncated) and raises out's ceiling to hold the object.
 */
struct sbx_sink *sbx_sink_json(struct sbx_out *out, uint64_t max_bytes);

/* Both: first, then second.  Owns both. */
struct sbx_sink *sbx_sink_tee(struct sbx_sink *first, struct sbx_sink *second);

void sbx_sink_free(struct sbx_sink *sink); /* NULL is fine */

/* One event as a JSON object without a line feed, for sinks, workers and tests. */
struct sbx_buf;
int sbx_event_json(const struct sbx_event *ev, struct sbx_buf *out,
		   struct sbx_err *err) SBX_MUST_USE;
