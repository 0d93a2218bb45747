/* The first process of a sandbox, from clone to the guest. */
#pragma once

#include <stdbool.h>

#include "lib/base/attr.h"
#include "lib/base/err.h"
#include "lib/local/bare.h"
#include "lib/local/ids.h"
#include "lib/local/root.h"

/* What parent and child say to each other before the guest does.  The parent writes these bytes on the guest's channel: */
enum sbx_child_word {
	SBX_CHILD_MAPPED = 'm', /* the ids are mapped */
	SBX_CHILD_GO = 'g',     /* the process is in its cgroups */
};

/* The child writes one of these on the status pipe before it becomes the guest, and one more if that fails. */
struct sbx_child_status {
	bool ready;
	int proc_refused;   /* of struct sbx_root */
	struct sbx_err err; /* where not ready */
};

/* Made by the parent, used by the child, which may not allocate. */
struct sbx_child {
	struct sbx_root root;
	struct sbx_ids ids;
	int channel_fd, status_fd;   /* the child's ends */
	const struct sbx_bare *bare; /* NULL: in namespaces */
	int parent_fd; /* the other end of the channel: only without a copy here does its end show */
};

/* Everything from clone to exec. */
SBX_NORETURN void sbx_child_run(struct sbx_child *child);
