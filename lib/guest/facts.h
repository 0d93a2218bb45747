/* What a program's process is held by, measured in that very process by the guest and sent to the host as it stands. */
#pragma once

#include <stdint.h>

struct sbx_facts {
	uint64_t cap_inh, cap_prm, cap_eff, cap_bnd, cap_amb;
	uint32_t ruid, euid, suid, rgid, egid, sgid;
	uint32_t groups; /* how many supplementary ones */
	uint32_t no_new_privs, seccomp_mode;
	uint32_t landlock_abi; /* 0: not restricted by Landlock */
	uint32_t umask;
	uint32_t interfaces; /* that are up and not loopback; UINT32_MAX: it cannot be told */
	uint32_t root_readonly;
	uint64_t nproc, nofile, data, core, msgqueue; /* soft limits; UINT64_MAX: none */
};
