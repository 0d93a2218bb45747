/*
 * cgroup v2: one hierarchy.  A cgroup with processes in it can give controllers to no child ("no internal processes"; the root of
 * the machine excepted), and this process is in one.  So ours are children of it where that is allowed, else its neighbours, else,
 * for root, children of the hierarchy's root.  Where none of these is ours to change, as after a login, the user's systemd is asked
 * for a scope (scope.c); this process then moves to a leaf of it, and the sandboxes are that leaf's neighbours, those of children of
 * this process too.  The first process is cloned into its cgroup, which costs nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/backend/spec.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/local/cgroup-impl.h"

enum { OWN_MAX = 1 << 16 };

static const struct {
	const char *name, *enable;
	unsigned int bit;
} controllers[] = {
	{"memory", "+memory", SBX_CG_MEMORY},
	{"cpu", "+cpu", SBX_CG_CPU},
	{"pids", "+pids", SBX_CG_PIDS},
};

/* The controllers named in a file of dir. */
static unsigned int bits_in(int dir, const char *file)
{
	char buf[SBX_CG_TEXT];
	struct sbx_str text, word;
	unsigned int bits = 0;
	ssize_t n = -1;
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		n = read(fd, buf, sizeof(buf));
	sbx_close(fd);
	text = sbx_str_trim((struct sbx_str){.p = buf, .n = n > 0 ? (size_t)n : 0});
	while (sbx_str_split(&text, ' ', &word)) {
		for (size_t i = 0; i < SBX_ARRAY_SIZE(controllers); i++) {
			if (sbx_str_eq(word, controllers[i].name))
				bits |= controllers[i].bit;
		}
	}
	return bits;
}

/* What children of path get, after asking for what they do not; 0 where no process can be cloned into one. */
static unsigned int offers(const char *path)
{
	SBX_CLEANUP(sbx_closep) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sbx_err ignored = SBX_ERR_INIT;
	unsigned int has, could;

	/* The kernel asks for this file of the common ancestor of the cgroups from and to. */
	if (dir < 0 || faccessat(dir, ".", W_OK, AT_EACCESS) < 0 ||
	    faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0)
		return 0;
	has = bits_in(dir, "cgroup.subtree_control");
	could = bits_in(dir, "cgroup.controllers") & ~has;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(controllers); i++) {
		/* One by one: a refusal of one is not that of all. */
		if (!(could & controllers[i].bit) ||
		    sbx_write_text_at(dir, "cgroup.subtree_control", controllers[i].enable,
				      &ignored) == 0)
			continue;
		/* There are processes in it.  It would give them cpu and pids, as threads, and take no more processes below. */
		if (ignored.sys == EBUSY)
			return 0;
		sbx_err_clear(&ignored);
	}
	return could == 0 ? has : bits_in(dir, "cgroup.subtree_control");
}

static bool own_path(struct sbx_str own, struct sbx_str *ret)
{
	struct sbx_str line;

	while (sbx_str_split(&own, '\n', &line)) {
		if (sbx_str_has_prefix(line, "0::")) {
			*ret = (struct sbx_str){.p = line.p + 3, .n = line.n - 3};
			return true;
		}
	}
	return false;
}

static int count(unsigned int bits)
{
	return __builtin_popcount(bits);
}

/* Keeps the better of two places; ties go to the first, which is nearer to us. */
static void consider(const char *path, char **best, unsigned int *best_has)
{
	unsigned int has = offers(path);

	if (count(has) <= count(*best_has))
		return;
	free(*best);
	*best = sbx_xstrdup(path);
	*best_has = has;
}

static void find_in(struct sbx_cgroups *set, const struct sbx_mountinfo *mount, struct sbx_str own)
{
	static const struct sbx_str top = {.p = "/", .n = 1};
	SBX_CLEANUP(sbx_freep) char *here = sbx_cg_path(mount, own);
	SBX_CLEANUP(sbx_freep) char *root = sbx_cg_path(mount, top);
	SBX_CLEANUP(sbx_freep) char *best = NULL;
	unsigned int has = 0;

	if (!here || !root)
		return;
	consider(here, &best, &has);
	if (has != (SBX_CG_ALL & ~SBX_CG_CPUACCT) && strcmp(here, root) != 0) {
		SBX_CLEANUP(sbx_freep) char *above = sbx_xstrdup(here);

		*strrchr(above, '/') = '\0';
		consider(above, &best, &has);
		consider(root, &best, &has);
	}
	/* cpu.stat needs no controller. */
	if (best)
		(void)sbx_cg_add_tree(set, mount, SBX_TAKE(best), has | SBX_CG_CPUACCT);
}

/* Whether the machine's memory is v2's: on a hybrid one it is not, and a scope is of no use. */
static bool has_memory(const struct sbx_mountinfo *mount)
{
	SBX_CLEANUP(sbx_freep) char *root = sbx_cg_path(mount, SBX_STR("/"));
	SBX_CLEANUP(sbx_closep) int dir = -1;

	if (root)
		dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir >= 0 && (bits_in(dir, "cgroup.controllers") & SBX_CG_MEMORY);
}

/* This process goes down to a leaf of the cgroup that it is in now, which then is free to give controllers. */
static int move_to_leaf(const struct sbx_mountinfo *mount, struct sbx_str own, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *here = sbx_cg_path(mount, own);
	SBX_CLEANUP(sbx_freep) char *leaf = sbx_xasprintf("%s/llmsbx", here ? here : "");
	SBX_CLEANUP(sbx_closep) int dir = -1;

	if (mkdir(leaf, 0755) < 0)
		return sbx_fail_sys(err, errno, "cannot make '%s'", leaf);
	dir = open(leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return sbx_fail_sys(err, errno, "cannot open '%s'", leaf);
	return sbx_write_text_at(dir, "cgroup.procs", "0", err);
}

/* A scope of systemd's, and a place in it. */
static void find_in_scope(struct sbx_cgroups *set, const struct sbx_mountinfo *mount)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(OWN_MAX);
	struct sbx_err err = SBX_ERR_INIT;
	char why[SBX_SCOPE_WHY_MAX];
	struct sbx_str own = {.n = 0};

	if (!sbx_scope_enter(why)) {
		(void)snprintf(set->why_no_scope, sizeof(set->why_no_scope),
			       "none is delegated; %s", why);
		set->why = set->why_no_scope;
		return;
	}
	if (sbx_read_file("/proc/self/cgroup", &text, &err) == 0 &&
	    own_path(sbx_str_of(sbx_buf_str(&text)), &own) && move_to_leaf(mount, own, &err) == 0)
		find_in(set, mount, own);
	if (set->n_trees == 0)
		set->why = "systemd's scope takes none";
}

static void find(struct sbx_cgroups *set, struct sbx_str mounts, struct sbx_str own)
{
	struct sbx_mountinfo mount;
	struct sbx_str path;

	if (!own_path(own, &path))
		return;
	while (set->n_trees == 0 && sbx_mountinfo_next(&mounts, &mount)) {
		if (!sbx_str_eq(mount.type, "cgroup2"))
			continue;
		find_in(set, &mount, path);
		if (set->n_trees > 0)
			return;
		set->why = "none is delegated";
		if (set->may_ask && has_memory(&mount)) {
			set->may_ask = false;
			find_in_scope(set, &mount);
		}
	}
}

static void limit(struct sbx_cgroup *cg, size_t i, const struct sbx_box_spec *spec)
{
	const struct sbx_limits *limits = &spec->limits;
	unsigned int has = cg->set->trees[i].has;
	char text[64];

	if ((has & SBX_CG_MEMORY) && limits->memory_bytes != SBX_UNLIMITED &&
	    sbx_cg_write(cg, i, "memory.max", limits->memory_bytes, NULL) == 0)
		sbx_cg_hold_memory(cg, i, "memory.swap.max", 0);
	(void)snprintf(text, sizeof(text), "%llu %d", (unsigned long long)sbx_cg_quota(spec),
		       SBX_CG_PERIOD_US);
	if ((has & SBX_CG_CPU) && limits->cpu_milli != SBX_UNLIMITED &&
	    sbx_cg_write(cg, i, "cpu.max", 0, text) == 0)
		cg->holds |= SBX_CG_CPU;
	if ((has & SBX_CG_PIDS) && limits->pids != SBX_UNLIMITED &&
	    sbx_cg_write(cg, i, "pids.max", sbx_cg_pids(spec), NULL) == 0) {
		cg->holds |= SBX_CG_PIDS;
		cg->pids_max = sbx_cg_pids(spec);
	}
}

static void stats(struct sbx_cgroup *cg, struct sbx_cgroup_stats *ret)
{
	struct sbx_usage *usage = &ret->usage;
	char buf[SBX_CG_TEXT];
	struct sbx_str text = sbx_cg_read(cg, SBX_CG_CPUACCT, 0, "cpu.stat", buf);

	ret->has_cpu = sbx_cg_value(text, "user_usec", &usage->cpu_user_ns) &&
		       sbx_cg_value(text, "system_usec", &usage->cpu_sys_ns);
	usage->cpu_user_ns *= 1000;
	usage->cpu_sys_ns *= 1000;
	ret->has_cpu_throttled = sbx_cg_value(text, "nr_throttled", &ret->cpu_throttled);
	usage->has_memory = sbx_cg_value(sbx_cg_read(cg, SBX_CG_MEMORY, 1, "memory.peak", buf),
					 NULL, &usage->memory_peak_bytes);
	ret->has_oom_kills = sbx_cg_value(sbx_cg_read(cg, SBX_CG_MEMORY, 2, "memory.events", buf),
					  "oom_kill", &ret->oom_kills);
	usage->has_pids = sbx_cg_value(sbx_cg_read(cg, SBX_CG_PIDS, 4, "pids.peak", buf), NULL,
				       &usage->pids_peak);
	/*
	 * From Linux 6.12 on this counts how often this cgroup's limit was met; before, how often a fork was refused here, also for
	 * the limit of a cgroup around it, which the peak tells apart where there is one.
	 */
	ret->has_pids_refused = (cg->holds & SBX_CG_PIDS) &&
				sbx_cg_value(sbx_cg_read(cg, SBX_CG_PIDS, 3, "pids.events", buf),
					     "max", &ret->pids_refused);
	if (usage->has_pids && usage->pids_peak < cg->pids_max)
		ret->pids_refused = 0;
}

const struct sbx_cg_version sbx_cg_v2 = {
	.name = "cgroup v2",
	.clone_into = true,
	.kill_file = "cgroup.kill",
	.find = find,
	.limit = limit,
	.stats = stats,
};
