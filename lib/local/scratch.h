/*
 * A work directory on disk, for one that is larger than memory should hold.
 *
 * It is CACHE/llmsbx-BOOT-PID-STARTTIME-N/work, where CACHE is $XDG_CACHE_HOME/llmsbx, else ~/.cache/llmsbx, else for root
 * /var/cache/llmsbx.  What programs leave in it has owners that an ordinary caller has no rights on, and is theirs to lay traps
 * with.  So one process for each, the keeper, makes, measures and empties it: where the caller is not root, in a user namespace in
 * which all those ids are mapped.  It does nothing else and ends with its parent.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/attr.h"
#include "lib/event/event.h"

struct sbx_box_spec;
struct sbx_err;
struct sbx_id_pool;
struct sbx_ids;
struct sbx_limits;
struct sbx_strv;

/* Whether a sandbox with these limits has one. */
bool sbx_scratch_wanted(const struct sbx_limits *limits);

/* What is to be mounted: path, which must be this very folder. */
struct sbx_scratch_work {
	const char *path; /* NULL: none */
	dev_t dev;
	ino_t ino;
};

struct sbx_scratch;

/* Makes the folder spec->name, for the program of ids. */
int sbx_scratch_make(const struct sbx_id_pool *pool, const struct sbx_box_spec *spec,
		     const struct sbx_ids *ids, struct sbx_scratch **ret,
		     struct sbx_err *err) SBX_MUST_USE;

/* Borrowed. */
struct sbx_scratch_work sbx_scratch_work(const struct sbx_scratch *scratch);

/* Sets the control `disk`. */
void sbx_scratch_receipt(struct sbx_receipt *receipt);

/* Whether it was found to hold more than its limit: nothing but who asks, every now and then, keeps that. */
bool sbx_scratch_is_over(const struct sbx_scratch *scratch);

/* When no process is left that could write.  Frees scratch, also when it fails; NULL is fine. */
int sbx_scratch_remove(struct sbx_scratch *scratch, struct sbx_err *err) SBX_MUST_USE;

/* Removes those of processes that are gone; a line for each is added to removed (may be NULL). */
int sbx_scratch_sweep(const struct sbx_id_pool *pool, struct sbx_strv *removed,
		      struct sbx_err *err) SBX_MUST_USE;
