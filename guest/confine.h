/*
 * What a program's child does between fork and exec, and what was reached, measured in that very process.
 *
 * Guest code: static, libc only, no allocation after fork, Linux 4.4 with fallbacks (a missing Landlock or pidfd is no error).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/guest/facts.h"

enum { CONFINE_RLIMITS = 16, CONFINE_PATHS = 65 };

struct confine {
	uid_t uid;
	gid_t gid;
	bool one_id; /* guest and program share their id: no setuid is possible or needed, the filter protects the guest */
	bool seccomp, landlock; /* install them */
	bool bare; /* no namespace holds it: Landlock holds reading as well, the filter what else is shared */
	struct {
		int resource;
		uint64_t
			value; /* soft and hard; lowered to the hard limit in force; UINT64_MAX: leave alone */
	} rlimit[CONFINE_RLIMITS];
	unsigned int n_rlimits;
	const char *writable
		[CONFINE_PATHS]; /* folders Landlock leaves writable, NULL-terminated: /sandbox /tmp /dev ... */
	const char *readable[CONFINE_PATHS]; /* where bare: what else may be read and executed */
	unsigned int umask;
	int oom_score_adj; /* written first */
};

/* Names for the step that failed, for the host's message. */
struct confine_fail {
	const char *step; /* "setgroups", "seccomp" */
	int sys;
};

/*
 * Applies it all in this process, in this order: oom score, rlimits, umask, no_new_privs, Landlock, groups and ids, capabilities of
 * all five sets, seccomp last.  0, or -1 with *fail: the caller must then _exit, a half-confined process never runs the program.
 */
int confine_apply(const struct confine *c, struct confine_fail *fail);

/* Reads the facts back from the kernel with plain calls (getresuid, capget, prctl, getrlimit, statvfs, RTM_GETLINK), all of which our own filter allows. */
void confine_measure(const struct confine *c, struct sbx_facts *facts);
