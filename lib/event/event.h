/*
 * The event stream: one internal type, one contract (llmsbx-events(5)), several sinks.
 *
 * Order: progress and warn may come first; start at most once; exactly one end closes every run and nothing follows it.
 * An event borrows everything it points to for the time of the call.  The emitter numbers and stamps; a sink only encodes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"
#include "lib/event/control.h"

struct sbx_err;

enum sbx_event_type {
	SBX_EV_START,
	SBX_EV_PROGRESS,
	SBX_EV_STDOUT,
	SBX_EV_STDERR,
	SBX_EV_DISPLAY,
	SBX_EV_FILE,
	SBX_EV_DENY,
	SBX_EV_LIMIT,
	SBX_EV_WARN,
	SBX_EV_END,
};

enum sbx_outcome {
#define SBX_OUTCOME(sym, name) SBX_OUT_##sym,
#include "lib/event/outcome.def"
#undef SBX_OUTCOME
	SBX_OUTCOME_COUNT_
};
const char *sbx_outcome_name(enum sbx_outcome outcome);

struct sbx_ev_start {
	const char *lang, *backend, *engine, *image; /* engine and image may be NULL */
	const char *state;                           /* fresh, pooled, resumed */
	int64_t time_ns; /* CLOCK_REALTIME; written as RFC 3339 in UTC */
	const struct sbx_receipt *receipt;
	bool refused; /* not written: the run ends here, and `end` tells of what is lacking */
};
struct sbx_ev_progress {
	const char *phase, *message; /* pull, build, install, compile; message may be NULL */
	uint64_t done, total;        /* 0 0: not known */
};
/* Bytes as they came.  The emitter never cuts inside a character, so that data is either valid UTF-8 or sent as base64. */
struct sbx_ev_output {
	struct sbx_str bytes;
	bool text; /* bytes are valid UTF-8 */
};
struct sbx_ev_display {
	const char *mime, *title; /* title may be NULL */
	struct sbx_str bytes;
	bool text;
	uint32_t width, height; /* 0: not known */
};
struct sbx_ev_file {
	struct sbx_str path; /* relative, any bytes but NUL */
	uint64_t size;
	const char *sha256;   /* NULL where nothing was saved */
	const char *mime;     /* NULL where nothing was saved */
	const char *change;   /* added, modified */
	const char *saved_as; /* NULL where nothing was saved */
	const char *
		skipped; /* why it was not saved (symlink, pipe, device, socket, too_large, ...), or NULL */
};
struct sbx_ev_deny {
	const char *kind, *what, *rule, *hint; /* rule and hint may be NULL */
};
struct sbx_ev_limit {
	const char *name; /* a control's name */
	uint64_t value;   /* in its base unit: bytes, processes, thousandths of a cpu, ns */
};
struct sbx_ev_warn {
	const char *code, *message;
};

struct sbx_timing {
	uint64_t queue, acquire, install, compile, exec, drain, teardown, total; /* ns */
};
struct sbx_usage {
	uint64_t cpu_user_ns, cpu_sys_ns, memory_peak_bytes, pids_peak;
	uint64_t io_read_bytes, io_write_bytes, net_sent_bytes, net_received_bytes;
	bool has_memory, has_pids, has_io, has_net; /* what is not known is null */
};
struct sbx_ev_end {
	enum sbx_outcome outcome;
	bool has_exit_code;
	int exit_code;
	int signal; /* 0: none */
	bool ran;
	const struct sbx_err *error; /* NULL or code OK: none */
	const char *phase, *hint;    /* of the error; may be NULL */
	bool truncated_stdout, truncated_stderr;
	uint64_t bytes_stdout, bytes_stderr; /* all that the program wrote */
	struct sbx_timing timing;
	struct sbx_usage usage;
};

struct sbx_event {
	enum sbx_event_type type;
	const char *id; /* of the run */
	uint64_t seq;
	uint64_t t_ns; /* since the start of llmsbx */
	union {
		struct sbx_ev_start start;
		struct sbx_ev_progress progress;
		struct sbx_ev_output output; /* STDOUT, STDERR */
		struct sbx_ev_display display;
		struct sbx_ev_file file;
		struct sbx_ev_deny deny;
		struct sbx_ev_limit limit;
		struct sbx_ev_warn warn;
		struct sbx_ev_end end;
	};
};

/* "SIGKILL", "SIGRTMIN+3"; the kernel's numbers 1 to 64, "unknown" for others. */
const char *sbx_signal_name(int sig);

/* The exit status that a run's end has for the shell (llmsbx(1), EXIT STATUS). */
int sbx_end_status(const struct sbx_ev_end *end);

/*
 * Where events go.  put encodes into the sink's bounded output queue and never blocks; a sink whose queue is above its
 * high-water mark says so by pending(), and the run then grants its program no more credit until flush() made room.
 */
struct sbx_sink;
struct sbx_sink_ops {
	int (*put)(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err);
	void (*free)(struct sbx_sink *sink);
};
struct sbx_sink {
	const struct sbx_sink_ops *ops;
};

/* Numbers, stamps and puts.  One per run. */
struct sbx_emitter {
	struct sbx_sink *sink; /* borrowed */
	const char *id;        /* borrowed */
	uint64_t start_ns;     /* of llmsbx, CLOCK_MONOTONIC */
	uint64_t seq;
	bool ended;
};
int sbx_emit(struct sbx_emitter *em, struct sbx_event *ev, struct sbx_err *err) SBX_MUST_USE;
