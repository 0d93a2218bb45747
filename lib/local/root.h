/*
 * The file system of a sandbox: an allow-list of the host read-only, little files of our own, scratch in memory.
 *
 * Prepared by the parent, opened and built by the first process.  No folder of the host is used or left.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/attr.h"
#include "lib/base/strv.h"
#include "lib/local/scratch.h"

struct sbx_box_spec;
struct sbx_err;
struct sbx_host;
struct sbx_ids;

enum sbx_bind_kind {
	SBX_BIND_SYSTEM, /* of the host, read-only */
	SBX_BIND_DEVICE,
	SBX_BIND_MOUNT, /* of --mount */
	SBX_BIND_WORK,  /* the work directory on disk */
};

struct sbx_bind {
	enum sbx_bind_kind kind;
	bool folder, writable;
	const char *from, *to; /* borrowed */
	int fd;                /* the detached mount; -1: not opened, or not there */
};

struct sbx_root {
	const struct sbx_box_spec *spec; /* borrowed, like all below */
	const struct sbx_host *host;
	const struct sbx_ids *ids;
	const void *guest; /* the guest program's bytes */
	size_t guest_size;
	struct sbx_scratch_work work; /* without a path: a tmpfs */

	struct sbx_bind *binds; /* owned */
	size_t n_binds;
	struct sbx_strv paths; /* owned: what host_paths matched */

	int proc_refused; /* out: why proc could not be mounted and the host's is seen instead; 0: it could */
};

/*
 * In the parent: checks the work directory and the mounts, expands host_paths, and, where the caller is root, opens what is mounted
 * (nobody else may read everything and map ids of mounts).
 */
int sbx_root_prepare(struct sbx_root *root, struct sbx_err *err) SBX_MUST_USE;
void sbx_root_release(struct sbx_root *root);

/* Opens one, if it is not.  Links are followed; of --mount only a folder or a regular file is taken. */
int sbx_bind_open(struct sbx_bind *bind, struct sbx_err *err) SBX_MUST_USE;

/* In the first process, still with the caller's ids: opens what is left to open.  No allocation from here on. */
int sbx_root_open(struct sbx_root *root, struct sbx_err *err) SBX_MUST_USE;

/* In the first process, as id 0 of its namespace: builds the root and enters it.  What it holds of the host is gone then. */
int sbx_root_build(struct sbx_root *root, struct sbx_err *err) SBX_MUST_USE;

/* The guest program, inside. */
#define SBX_ROOT_GUEST "/.llmsbx/guest"
