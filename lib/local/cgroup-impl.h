/* What cgroup.c, sweep.c and the versions share.  Not for others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/str.h"
#include "lib/local/cgroup.h"
#include "lib/local/mountinfo.h"
#include "lib/local/scope.h"
#include "lib/proc/owner.h"

/* Controllers: what a tree has, and what a cgroup was given. */
enum {
	SBX_CG_MEMORY = 1 << 0,
	SBX_CG_CPU = 1 << 1,
	SBX_CG_PIDS = 1 << 2,
	SBX_CG_CPUACCT = 1 << 3,
	SBX_CG_ALL = (1 << 4) - 1,
};

enum { SBX_CG_TREES = 4, SBX_CG_COUNTERS = 7 };

/* A folder in which cgroups can be made: one on v2, one a hierarchy on v1. */
struct sbx_cg_tree {
	char *path; /* owned */
	char *top;  /* owned: where the hierarchy begins, as far as we see it */
	int fd;
	unsigned int has;
};

struct sbx_cg_version;

struct sbx_cgroups {
	const struct sbx_cg_version *version;
	struct sbx_cg_tree trees[SBX_CG_TREES];
	size_t n_trees;
	const char *why; /* without any: why */
	bool may_ask;    /* the user's systemd for a place */
	char why_no_scope[SBX_SCOPE_WHY_MAX + 64];
};

struct sbx_cgroup {
	const struct sbx_cgroups *set;
	char name[SBX_OWNER_NAME_MAX];
	int fd[SBX_CG_TREES]; /* of the cgroup in each tree; -1: not made */
	unsigned int holds;   /* limits that are in force */
	bool outer_cpu;       /* a cgroup around it allows less than was asked for */
	uint64_t pids_max;    /* on v2 */
	int refused;          /* an errno: why something is not held */
	bool swaps;           /* memory is held, but what it swaps out is not counted */
	int counter
		[SBX_CG_COUNTERS]; /* files of counters, opened when first read; -1: not yet, -2: not there */
};

struct sbx_cg_version {
	const char *name;
	bool clone_into;
	const char *kill_file; /* kills all that is in it; NULL: one by one */

	/* Finds the trees.  Leaves n_trees 0 and why where there is none. */
	void (*find)(struct sbx_cgroups *set, struct sbx_str mounts, struct sbx_str own);

	/* Sets the limits of the tree i; what was set is added to holds. */
	void (*limit)(struct sbx_cgroup *cg, size_t i, const struct sbx_box_spec *spec);

	void (*stats)(struct sbx_cgroup *cg, struct sbx_cgroup_stats *ret);
};

extern const struct sbx_cg_version sbx_cg_v1, sbx_cg_v2, sbx_cg_none;

/* Writes a number, or word where it is not NULL, to a file of the cgroup in tree i.  0, or the errno, which is also kept as refused. */
int sbx_cg_write(struct sbx_cgroup *cg, size_t i, const char *file, uint64_t value,
		 const char *word);

/* Memory is limited in tree i: limits the swap as well, which is not there where the kernel does not count it.  Sets what is held. */
void sbx_cg_hold_memory(struct sbx_cgroup *cg, size_t i, const char *swap_file, uint64_t value);

/* The pids limit: the guest is not counted. */
uint64_t sbx_cg_pids(const struct sbx_box_spec *spec);

/* The quota of a period of 100 ms, in microseconds; the kernel takes no less than 1 ms. */
enum { SBX_CG_PERIOD_US = 100000 };
uint64_t sbx_cg_quota(const struct sbx_box_spec *spec);

/* What a file of counters holds, in buf: the which-th of cg's, in the tree of a controller.  Empty where it is not known. */
enum { SBX_CG_TEXT = 1024 };
struct sbx_str sbx_cg_read(struct sbx_cgroup *cg, unsigned int controller, unsigned int which,
			   const char *file, char buf[SBX_CG_TEXT]);

/* The number behind key, or the only one (NULL); false: there is none. */
bool sbx_cg_value(struct sbx_str text, const char *key, uint64_t *ret);

/* Adds a tree, where cgroups can be made in path, of the hierarchy mounted there. */
bool sbx_cg_add_tree(struct sbx_cgroups *set, const struct sbx_mountinfo *mount, char *take_path,
		     unsigned int has);

/* The path of a process's cgroup below a mount of its hierarchy (owned); NULL where the mount does not show it. */
char *sbx_cg_path(const struct sbx_mountinfo *mount, struct sbx_str own);
