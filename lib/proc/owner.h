/* Names that tell whose something is: llmsbx-BOOT-PID-STARTTIME-N.  Known again after a crash by anybody, without a register. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/attr.h"

struct sbx_err;

enum { SBX_OWNER_NAME_MAX = 80, SBX_OWNER_BOOT = 12 };

/* The n-th name of this process. */
int sbx_owner_name(char name[SBX_OWNER_NAME_MAX], uint64_t n, struct sbx_err *err) SBX_MUST_USE;

struct sbx_owner {
	char boot[SBX_OWNER_BOOT + 1]; /* the first digits of the boot's id */
	pid_t pid;
	uint64_t start; /* clock ticks since boot: with the pid it is never used again */
};

/* false where name is not of that form. */
bool sbx_owner_parse(const char *name, struct sbx_owner *ret);

/* Whether the process lives, as seen from this pid namespace. */
bool sbx_owner_alive(const struct sbx_owner *owner);

/* When pid was started, and its parent; false when there is no such process. */
bool sbx_process_stat(pid_t pid, uint64_t *ret_start, pid_t *ret_parent);
