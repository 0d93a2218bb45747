/*
 * What a backend must do.  Called only from lib/sandbox/, which has already filled the defaults in, so that an implementation
 * repeats none of it and does not print.
 *
 * Calls block until done or until a deadline of their own.  A call that fails sets *err and leaves nothing behind: no half-made
 * box, no open descriptor, no cgroup.  What a control could not be given is no failure: it goes into the receipt.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/backend/spec.h"
#include "lib/event/event.h"
#include "lib/guest/stream.h"

struct sbx_backend;

/* A sandbox with the guest in it.  Backends embed this as their first member. */
struct sbx_box {
	struct sbx_backend *be;
	struct sbx_stream *stream; /* owned */
	struct sbx_receipt
		receipt; /* what the backend knows; the guest's measurements are laid over it */
	bool one_id;     /* guest and program share their id: the filter must protect the guest */
	bool guest_limits_memory; /* nothing outside bounds it: the guest must, by RLIMIT_DATA and polling */
	bool guest_limits_pids; /* the same, by RLIMIT_NPROC */
	bool disk_polled; /* nothing holds the work directory's limit but who looks at stats */
	uid_t guest_uid;  /* inside */
	const struct sbx_box_bare
		*bare; /* borrowed from the backend's box; NULL: it has namespaces */
	int lost_fd;   /* readable when the box died (a pidfd), or -1 */
};

/* What the box's counters say now.  has_* false: this backend cannot know. */
struct sbx_box_stats {
	struct sbx_usage usage;
	uint64_t oom_kills, pids_refused, cpu_throttled;
	bool has_oom_kills, has_pids_refused, has_cpu_throttled, has_cpu;
	bool disk_over; /* of a box with disk_polled: it holds more than its limit */
};

struct sbx_backend_ops {
	const char *name;

	int (*open)(const char *endpoint, struct sbx_backend **ret, struct sbx_err *err);
	void (*close)(struct sbx_backend *be);

	/* Settles what a process shares with its children, before these open a backend each.  NULL: nothing. */
	int (*prepare)(struct sbx_backend *be, struct sbx_err *err);

	int (*create)(struct sbx_backend *be, const struct sbx_box_spec *spec, struct sbx_box **ret,
		      struct sbx_err *err);
	/* Ends every process in it, waits for that, removes what create made, frees box, also when it fails. */
	int (*destroy)(struct sbx_backend *be, struct sbx_box *box, struct sbx_err *err);

	/* Cheap enough to be called every 20 ms. */
	int (*stats)(struct sbx_backend *be, struct sbx_box *box, struct sbx_box_stats *ret,
		     struct sbx_err *err);

	/* The absolute path of program inside, found in the sandbox's own PATH with dirs before it; SBX_E_NOT_FOUND. NULL where only the guest can know. */
	int (*which)(struct sbx_backend *be, const char *program, const struct sbx_strv *dirs,
		     char **ret, struct sbx_err *err);

	/* Removes what dead llmsbx processes left. Adds one line per thing removed to removed (may be NULL). */
	int (*sweep)(struct sbx_backend *be, struct sbx_strv *removed, struct sbx_err *err);

	/* For --dry-run: what would be done, as members of an open JSON object. */
	int (*plan)(struct sbx_backend *be, const struct sbx_box_spec *spec, struct sbx_jw *jw,
		    struct sbx_err *err);
};

struct sbx_backend {
	const struct sbx_backend_ops *ops;
};

/* NULL-terminated list; registry.c. */
extern const struct sbx_backend_ops *const sbx_backends[];
const struct sbx_backend_ops *sbx_backend_find(const char *name);
