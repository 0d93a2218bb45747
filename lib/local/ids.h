/*
 * Which ids of the host a sandbox has.
 *
 * Two per run: the guest's (0 inside) and the program's.  Each run has a pair of its own, so that two programs are nothing to each
 * other even where a namespace does not help (keyrings, limits per user, files on a shared mount).  The pair is a slot of a range:
 * of root's line in /etc/subuid, or of the caller's; a slot is held by a lock on one byte of one file, which vanishes with its holder.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"

struct sbx_err;

struct sbx_id_range {
	uint32_t first, count;
};

enum sbx_ids_kind {
	SBX_IDS_ROOT, /* we write the maps: any ids */
	SBX_IDS_HELPER, /* newuidmap and newgidmap write them: ids of the caller's lines in /etc/subuid and /etc/subgid */
	SBX_IDS_SINGLE, /* the caller's own id and no other */
};

/* What this process can give.  Found once. */
struct sbx_id_pool {
	enum sbx_ids_kind kind;
	uid_t uid; /* the caller's */
	gid_t gid;
	struct sbx_id_range uids, gids;
	uint32_t slots;
	char *lock_path; /* owned; NULL where there is no folder for it: slots by pid then, which may coincide */
	const char *why; /* of SINGLE: what is missing */
};

int sbx_id_pool_init(struct sbx_id_pool *pool, struct sbx_err *err) SBX_MUST_USE;
void sbx_id_pool_release(struct sbx_id_pool *pool);

/* The ids of one sandbox. */
struct sbx_ids {
	enum sbx_ids_kind kind;
	bool one_id;  /* guest and program are one */
	bool callers; /* the program has the caller's own id on the host */
	uid_t in_uid; /* of the program, inside; the guest is 0, with one_id the same as the program */
	gid_t in_gid;
	uid_t guest_uid, uid; /* on the host */
	gid_t guest_gid, gid;
	int lock_fd; /* -1: none */
};

/* as_caller: the program gets the caller's own id where that is not root's, so that it can use the caller's files. */
int sbx_ids_take(const struct sbx_id_pool *pool, uid_t in_uid, gid_t in_gid, bool as_caller,
		 struct sbx_ids *ret, struct sbx_err *err) SBX_MUST_USE;
void sbx_ids_release(struct sbx_ids *ids);

/* For tests: the first line of a subid file that is name's or id's and has two ids or more. */
bool sbx_subid_find(struct sbx_str text, const char *name, uint32_t id, struct sbx_id_range *ret);

/* For tests: want ids, not below floor, that exist in the map (text of /proc/self/uid_map) and stand in nobody's line. */
bool sbx_subid_gap(struct sbx_str text, struct sbx_str map, uint32_t floor, uint32_t want,
		   struct sbx_id_range *ret);
