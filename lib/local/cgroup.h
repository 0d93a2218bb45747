/*
 * Limits and counters of the kernel's for a whole sandbox: cgroup v2 where this process may make one, else v1, else none (then the
 * guest does what it can).  What could not be had is no failure; it stands in the receipt.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/attr.h"
#include "lib/base/strv.h"
#include "lib/event/event.h"

struct sbx_box_spec;
struct sbx_cgroup;
struct sbx_cgroups;
struct sbx_err;

/* Where this process may make cgroups.  Found once. */
int sbx_cgroups_open(struct sbx_cgroups **ret, struct sbx_err *err) SBX_MUST_USE;
void sbx_cgroups_close(struct sbx_cgroups *set);

/* "cgroup v2", "cgroup v1" or "none". */
const char *sbx_cgroups_name(const struct sbx_cgroups *set);

/* Makes the cgroup spec->name with the limits of spec; it borrows set. */
int sbx_cgroup_make(struct sbx_cgroups *set, const struct sbx_box_spec *spec,
		    struct sbx_cgroup **ret, struct sbx_err *err) SBX_MUST_USE;

/* The descriptor to clone the first process into, or -1: it must be moved. */
int sbx_cgroup_clone_fd(const struct sbx_cgroup *cg);

/* The kernel refused to clone into it, with this errno: nothing is held by a cgroup. */
void sbx_cgroup_refused(struct sbx_cgroup *cg, int num);

/* Moves a process in, where it was not cloned into it.  v1: waits for an RCU grace period of the kernel, 10 to 16 ms. */
void sbx_cgroup_enter(struct sbx_cgroup *cg, pid_t pid);

/* How memory, cpu and pids are held; *pin: to how many processors the caller must bind the first process for that, 0: to none. */
void sbx_cgroup_receipt(const struct sbx_cgroup *cg, const struct sbx_box_spec *spec,
			struct sbx_receipt *receipt, unsigned int *pin);

struct sbx_cgroup_stats {
	struct sbx_usage usage;
	uint64_t oom_kills, pids_refused, cpu_throttled;
	bool has_cpu, has_oom_kills, has_pids_refused, has_cpu_throttled;
};
void sbx_cgroup_stats(struct sbx_cgroup *cg, struct sbx_cgroup_stats *ret);

/* When no process is left in it.  Frees cg, also when it fails; NULL is fine. */
int sbx_cgroup_remove(struct sbx_cgroup *cg, struct sbx_err *err) SBX_MUST_USE;

/*
 * Removes cgroups of processes that are gone, killing what is in them; a line for each is added to removed (may be NULL).  quick:
 * only where we make ours, and only what surely is such, at the price of one folder's listing; else in the whole hierarchy.
 */
int sbx_cgroups_sweep(struct sbx_cgroups *set, bool quick, struct sbx_strv *removed,
		      struct sbx_err *err) SBX_MUST_USE;
