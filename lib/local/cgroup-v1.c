/*
 * cgroup v1: a hierarchy for each controller, or for several (cpu,cpuacct), each mounted somewhere.  Ours are children of the cgroup
 * that this process is in.  Also on hybrid machines, where v2 is there without these controllers.
 */
#include <errno.h>

#include "lib/backend/spec.h"
#include "lib/base/err.h"
#include "lib/local/cgroup-impl.h"

static const struct {
	const char *name;
	unsigned int bit;
} controllers[] = {
	{"memory", SBX_CG_MEMORY},
	{"cpu", SBX_CG_CPU},
	{"cpuacct", SBX_CG_CPUACCT},
	{"pids", SBX_CG_PIDS},
};

static unsigned int bits_of(struct sbx_str list)
{
	unsigned int bits = 0;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(controllers); i++) {
		if (sbx_list_has(list, controllers[i].name))
			bits |= controllers[i].bit;
	}
	return bits;
}

/* The path of the line "9:cpu,cpuacct:/path" that has one of these controllers. */
static bool own_path(struct sbx_str own, unsigned int bits, struct sbx_str *ret)
{
	struct sbx_str line, number, list;

	while (sbx_str_split(&own, '\n', &line)) {
		if (sbx_str_split(&line, ':', &number) && sbx_str_split(&line, ':', &list) &&
		    (bits_of(list) & bits) != 0) {
			*ret = line;
			return true;
		}
	}
	return false;
}

static void find(struct sbx_cgroups *set, struct sbx_str mounts, struct sbx_str own)
{
	struct sbx_mountinfo mount;
	unsigned int found = 0;
	struct sbx_str path;

	while (sbx_mountinfo_next(&mounts, &mount)) {
		unsigned int bits = 0;

		if (sbx_str_eq(mount.type, "cgroup"))
			bits = bits_of(mount.options);
		if (bits == 0 || (found & bits) != 0 || !own_path(own, bits, &path))
			continue;
		if (sbx_cg_add_tree(set, &mount, sbx_cg_path(&mount, path), bits))
			found |= bits;
		else
			set->why = "they are not ours to make";
	}
}

static void limit_memory(struct sbx_cgroup *cg, size_t i, uint64_t bytes)
{
	if (sbx_cg_write(cg, i, "memory.limit_in_bytes", bytes, NULL) != 0)
		return;
	/* None is sought, also where it is not counted. */
	(void)sbx_cg_write(cg, i, "memory.swappiness", 0, NULL);
	sbx_cg_hold_memory(cg, i, "memory.memsw.limit_in_bytes", bytes);
}

static void limit_cpu(struct sbx_cgroup *cg, size_t i, uint64_t quota)
{
	int num = sbx_cg_write(cg, i, "cpu.cfs_period_us", SBX_CG_PERIOD_US, NULL);

	if (num == 0)
		num = sbx_cg_write(cg, i, "cpu.cfs_quota_us", quota, NULL);
	/* A quota that is more than that of a cgroup around it is refused: that one holds. */
	cg->outer_cpu = num == EINVAL;
	if (num == 0 || cg->outer_cpu)
		cg->holds |= SBX_CG_CPU;
}

static void limit(struct sbx_cgroup *cg, size_t i, const struct sbx_box_spec *spec)
{
	unsigned int has = cg->set->trees[i].has;

	if ((has & SBX_CG_MEMORY) && spec->limits.memory_bytes != SBX_UNLIMITED)
		limit_memory(cg, i, spec->limits.memory_bytes);
	if ((has & SBX_CG_CPU) && spec->limits.cpu_milli != SBX_UNLIMITED)
		limit_cpu(cg, i, sbx_cg_quota(spec));
	if ((has & SBX_CG_PIDS) && spec->limits.pids != SBX_UNLIMITED &&
	    sbx_cg_write(cg, i, "pids.max", sbx_cg_pids(spec), NULL) == 0)
		cg->holds |= SBX_CG_PIDS;
}

static void stats(struct sbx_cgroup *cg, struct sbx_cgroup_stats *ret)
{
	char buf[SBX_CG_TEXT];

	ret->has_cpu = sbx_cg_value(sbx_cg_read(cg, SBX_CG_CPUACCT, 0, "cpuacct.usage_user", buf),
				    NULL, &ret->usage.cpu_user_ns) &&
		       sbx_cg_value(sbx_cg_read(cg, SBX_CG_CPUACCT, 1, "cpuacct.usage_sys", buf),
				    NULL, &ret->usage.cpu_sys_ns);
	ret->usage.has_memory =
		sbx_cg_value(sbx_cg_read(cg, SBX_CG_MEMORY, 2, "memory.max_usage_in_bytes", buf),
			     NULL, &ret->usage.memory_peak_bytes);
	ret->has_oom_kills =
		sbx_cg_value(sbx_cg_read(cg, SBX_CG_MEMORY, 3, "memory.oom_control", buf),
			     "oom_kill", &ret->oom_kills);
	ret->has_pids_refused = sbx_cg_value(sbx_cg_read(cg, SBX_CG_PIDS, 4, "pids.events", buf),
					     "max", &ret->pids_refused);
	ret->has_cpu_throttled = sbx_cg_value(sbx_cg_read(cg, SBX_CG_CPU, 5, "cpu.stat", buf),
					      "nr_throttled", &ret->cpu_throttled);
	ret->usage.has_pids = sbx_cg_value(sbx_cg_read(cg, SBX_CG_PIDS, 6, "pids.peak", buf), NULL,
					   &ret->usage.pids_peak);
}

const struct sbx_cg_version sbx_cg_v1 = {
	.name = "cgroup v1",
	.find = find,
	.limit = limit,
	.stats = stats,
};
