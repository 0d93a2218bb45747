/* No cgroup: the guest holds memory and processes as well as it can, and the first process is bound to processors. */
#include "lib/local/cgroup-impl.h"

static void find(struct sbx_cgroups *set, struct sbx_str mounts SBX_UNUSED,
		 struct sbx_str own SBX_UNUSED)
{
	if (!set->why)
		set->why = "there are none";
}

static void limit(struct sbx_cgroup *cg SBX_UNUSED, size_t i SBX_UNUSED,
		  const struct sbx_box_spec *spec SBX_UNUSED)
{
}

static void stats(struct sbx_cgroup *cg SBX_UNUSED, struct sbx_cgroup_stats *ret SBX_UNUSED)
{
}

const struct sbx_cg_version sbx_cg_none = {
	.name = "none",
	.find = find,
	.limit = limit,
	.stats = stats,
};
