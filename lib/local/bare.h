/*
 * A sandbox where namespaces are forbidden: what it needs of the host instead of a root of its own.
 *
 * A folder llmsbx-BOOT-PID-STARTTIME-N in /tmp with two in it, the work directory and the program's temporary files.  Nobody but the
 * program and its owner enters these; it is removed at the end, and by sweep when its owner is gone.  Everything else is the guest's:
 * Landlock shows the program no other files than those listed here, and its filter refuses what only a namespace would keep apart.
 */
#pragma once

#include "lib/backend/spec.h"
#include "lib/base/attr.h"

struct sbx_err;
struct sbx_ids;
struct sbx_receipt;
struct sbx_root;
struct sbx_strv;

struct sbx_bare {
	struct sbx_box_bare at;
	char *folder;  /* owned; NULL: not made yet */
	int lock_fd;   /* of the folder, held as long as it is used */
	int guest_fd;  /* the guest program, in memory */
	int abi;       /* of Landlock */
	char why[128]; /* why there are no namespaces */
};

/* Whether what is asked for can be had without namespaces at all; then makes the folder.  root: its plan, prepared. */
int sbx_bare_make(struct sbx_bare *bare, const struct sbx_root *root, const char *why,
		  struct sbx_err *err) SBX_MUST_USE;

/* Removes the folder; nothing of the program may run any more.  Frees what bare owns, also when it fails. */
int sbx_bare_remove(struct sbx_bare *bare, struct sbx_err *err) SBX_MUST_USE;

/* What holds instead, of the controls that namespaces and mounts are for. */
void sbx_bare_receipt(const struct sbx_bare *bare, const struct sbx_root *root,
		      struct sbx_receipt *receipt);

/* Removes the folders of processes that are gone; a line for each is added to removed (may be NULL). */
int sbx_bare_sweep(struct sbx_strv *removed, struct sbx_err *err) SBX_MUST_USE;
