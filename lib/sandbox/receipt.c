/* The receipt: what the backend knows, and over it what the guest measured in the program's own process. */
#include <string.h>

#include "lib/sandbox/live.h"

static void hold(struct sbx_live *live, enum sbx_control ctl, bool ok, enum sbx_held otherwise,
		 const char *by, const char *why_not)
{
	sbx_receipt_set(&live->receipt, ctl, ok ? SBX_HELD_ENFORCED : otherwise, "%s",
			ok ? by : why_not);
}

static void measure_identity(struct sbx_live *live, const struct sbx_facts *f)
{
	struct sbx_receipt *receipt = &live->receipt;
	const struct sbx_box_bare *bare = live->box->bare;
	uint32_t uid = bare ? bare->uid : live->req->uid, gid = bare ? bare->gid : live->req->gid;

	if (f->ruid != uid || f->euid != uid || f->suid != uid || f->rgid != gid ||
	    f->egid != gid || f->sgid != gid)
		sbx_receipt_set(receipt, SBX_CTL_USER, SBX_HELD_UNSUPPORTED,
				"the program runs as %u:%u", f->euid, f->egid);
	else if (f->groups > 0 && receipt->control[SBX_CTL_USER].held == SBX_HELD_ENFORCED)
		sbx_receipt_set(receipt, SBX_CTL_USER, SBX_HELD_DEGRADED,
				"%u supplementary groups could not be dropped", f->groups);
	hold(live, SBX_CTL_CAPABILITIES,
	     (f->cap_inh | f->cap_prm | f->cap_eff | f->cap_bnd | f->cap_amb) == 0,
	     (f->cap_prm | f->cap_eff | f->cap_amb) == 0 ? SBX_HELD_DEGRADED : SBX_HELD_UNSUPPORTED,
	     "none in all five sets", "the bounding or inheritable set is not empty");
	hold(live, SBX_CTL_NO_NEW_PRIVS, f->no_new_privs == 1, SBX_HELD_UNSUPPORTED, "prctl",
	     "it could not be set");
}

static void measure_kernel(struct sbx_live *live, const struct sbx_facts *f)
{
	struct sbx_receipt *receipt = &live->receipt;

	hold(live, SBX_CTL_SECCOMP, f->seccomp_mode == 2, SBX_HELD_UNSUPPORTED,
	     "the guest's filter", "this kernel takes no filter");
	if (f->landlock_abi > 0)
		sbx_receipt_set(receipt, SBX_CTL_LANDLOCK, SBX_HELD_ENFORCED, "ABI %u",
				f->landlock_abi);
	else
		sbx_receipt_set(receipt, SBX_CTL_LANDLOCK, SBX_HELD_DEGRADED,
				"this kernel has no Landlock: the mounts alone hold");
	if (receipt->control[SBX_CTL_READONLY_ROOT].held == SBX_HELD_ENFORCED && !f->root_readonly)
		sbx_receipt_set(receipt, SBX_CTL_READONLY_ROOT, SBX_HELD_UNSUPPORTED,
				"the root is writable");
	if (receipt->control[SBX_CTL_NETWORK].held == SBX_HELD_ENFORCED &&
	    live->req->network == SBX_NET_NONE && f->interfaces > 0)
		sbx_receipt_set(receipt, SBX_CTL_NETWORK, SBX_HELD_UNSUPPORTED,
				"%u interfaces beside loopback are there", f->interfaces);
}

static void state_limits(struct sbx_live *live, const struct sbx_facts *f)
{
	struct sbx_receipt *receipt = &live->receipt;
	const struct sbx_request *req = live->req;
	struct sbx_err ignored = {0};

	if (live->box->guest_limits_pids && f->nproc == UINT64_MAX)
		sbx_receipt_set(receipt, SBX_CTL_PIDS, SBX_HELD_UNSUPPORTED,
				"RLIMIT_NPROC could not be set");
	if (live->box->guest_limits_memory && f->data == UINT64_MAX)
		sbx_receipt_set(receipt, SBX_CTL_MEMORY, SBX_HELD_UNSUPPORTED,
				"RLIMIT_DATA could not be set");
	if (req->max_output != SBX_UNLIMITED)
		sbx_receipt_set(receipt, SBX_CTL_OUTPUT, SBX_HELD_ENFORCED, "the guest");
	if (req->timeout_ns != SBX_UNLIMITED)
		sbx_receipt_set(receipt, SBX_CTL_WALL_TIME, SBX_HELD_ENFORCED, "the guest");
	if (req->cpu_time_ns == SBX_UNLIMITED)
		return;
	live->has_stats =
		live->box->be->ops->stats(live->box->be, live->box, &live->stats, &ignored) == 0;
	hold(live, SBX_CTL_CPU_TIME, live->has_stats && live->stats.has_cpu, SBX_HELD_DEGRADED,
	     "cgroup counter", "processes are polled by the guest");
}

void sbx_live_receipt(struct sbx_live *live, const struct sbx_facts *facts)
{
	live->receipt = live->box->receipt;
	measure_identity(live, facts);
	measure_kernel(live, facts);
	state_limits(live, facts);
}
