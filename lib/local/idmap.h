/* Writing the id maps of a user namespace. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/attr.h"
#include "lib/local/ids.h"

struct sbx_err;

/*
 * Maps ids into the namespace of the process pid, which has none yet.  Inside, the guest is 0, also where there is one id: the
 * single id gets its own name in sbx_idmap_rename, for devpts and proc want a 0.
 */
int sbx_idmap_write(const struct sbx_ids *ids, pid_t pid, struct sbx_err *err) SBX_MUST_USE;

/*
 * Maps everything that is a caller's who is not root: himself to 0, and behind that the ids of his lines in /etc/subuid and
 * /etc/subgid.  In there he may do with their files what root may.
 */
int sbx_idmap_write_all(const struct sbx_id_pool *pool, pid_t pid,
			struct sbx_err *err) SBX_MUST_USE;

/* What an id of the host is in there: own is the caller's, range that of his line. */
uint32_t sbx_idmap_all_inside(uint32_t own, struct sbx_id_range range, uint32_t id) SBX_MUST_USE;

/*
 * In the process itself, id 0, when all is mounted: gives up that namespace for one below it, in which its id is that of the
 * program.  Nothing that was mounted belongs to the new one.  /proc must be there.
 */
int sbx_idmap_rename(const struct sbx_ids *ids, struct sbx_err *err) SBX_MUST_USE;

/* A user namespace that holds nothing but a map for mounts: what uid and gid own on disk is the program's of ids.  Returns a descriptor. */
int sbx_idmap_for_mount(const struct sbx_ids *ids, uid_t uid, gid_t gid,
			struct sbx_err *err) SBX_MUST_USE;
