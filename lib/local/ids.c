#include "lib/local/ids.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"

enum {
	SUBID_MAX = 4 << 20, /* of /etc/subuid: a line a user, on machines with many */
	/* More than can run at once; a slot is two ids. */
	SLOTS_MAX = 32768,
	/* Above what any distribution gives to users, below what is reserved at the end. */
	ROOT_FLOOR = 0x60000000,
	/* In a container that has only some 65536 ids: above its users, below its nobody. */
	SMALL_FLOOR = 0x8000,
	SMALL_SLOTS = 8192,
};

static bool number(struct sbx_str s, uint32_t *ret)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	uint64_t v;

	if (sbx_str_u64(s, UINT32_MAX, "id", &v, &ignored) < 0)
		return false;
	*ret = (uint32_t)v;
	return true;
}

/* name:first:count; what is no such line is passed over, as newuidmap does. */
static bool subid_line(struct sbx_str line, struct sbx_str *owner, struct sbx_id_range *range)
{
	struct sbx_str first, count;

	return sbx_str_split(&line, ':', owner) && sbx_str_split(&line, ':', &first) &&
	       sbx_str_split(&line, ':', &count) && line.n == 0 &&
	       number(sbx_str_trim(first), &range->first) &&
	       number(sbx_str_trim(count), &range->count) &&
	       range->count <= UINT32_MAX - range->first;
}

bool sbx_subid_find(struct sbx_str text, const char *name, uint32_t id, struct sbx_id_range *ret)
{
	struct sbx_str line, owner;
	struct sbx_id_range range;
	char digits[16];

	(void)snprintf(digits, sizeof(digits), "%u", id);
	while (sbx_str_split(&text, '\n', &line)) {
		if (!subid_line(line, &owner, &range) || range.count < 2)
			continue;
		if ((name && sbx_str_eq(owner, name)) || sbx_str_eq(owner, digits)) {
			*ret = range;
			return true;
		}
	}
	return false;
}

/* The next word of a line in columns, as procfs writes them. */
static bool column(struct sbx_str *line, uint32_t *ret)
{
	struct sbx_str word;

	do {
		if (!sbx_str_split(line, ' ', &word))
			return false;
	} while (word.n == 0);
	return number(word, ret);
}

/* Moves *first up until [*first, *first + want) touches no line; false when it runs out of numbers. */
static bool step_over_lines(struct sbx_str text, uint32_t want, uint32_t *first)
{
	struct sbx_str rest = text, line, owner;
	struct sbx_id_range taken;

	while (sbx_str_split(&rest, '\n', &line)) {
		if (!subid_line(line, &owner, &taken) || taken.count == 0)
			continue;
		if (*first > UINT32_MAX - want)
			return false;
		if (taken.first >= *first + want || taken.first + taken.count <= *first)
			continue;
		*first = taken.first + taken.count;
		rest = text; /* the lines are in no order */
	}
	return *first <= UINT32_MAX - want;
}

bool sbx_subid_gap(struct sbx_str text, struct sbx_str map, uint32_t floor, uint32_t want,
		   struct sbx_id_range *ret)
{
	struct sbx_str line;

	while (sbx_str_split(&map, '\n', &line)) {
		uint32_t inside, outside, count, first;

		if (!column(&line, &inside) || !column(&line, &outside) || !column(&line, &count))
			continue;
		first = inside > floor ? inside : floor;
		if (!step_over_lines(text, want, &first) || first - inside > count ||
		    count - (first - inside) < want)
			continue;
		*ret = (struct sbx_id_range){.first = first, .count = want};
		return true;
	}
	return false;
}

/* What a file holds; nothing, where it is not there or not ours to read. */
static struct sbx_str text_of(const char *path, struct sbx_buf *buf)
{
	struct sbx_err ignored = SBX_ERR_INIT;

	if (sbx_read_file(path, buf, &ignored) < 0)
		sbx_buf_reset(buf);
	return (struct sbx_str){.p = sbx_buf_str(buf), .n = buf->len};
}

/*
 * The caller's name: that of the password file, else what he calls himself, since NSS would cost us its libraries and newuidmap asks it
 * again.  NULL: not known.
 */
static char *user_name(uid_t uid)
{
	struct sbx_buf buf = SBX_BUF_INIT(SUBID_MAX);
	struct sbx_str text = text_of("/etc/passwd", &buf), line, name, skip, id;
	const char *said = getenv("USER");
	char *found = NULL;
	uint32_t n;

	while (!found && sbx_str_split(&text, '\n', &line)) {
		if (sbx_str_split(&line, ':', &name) && sbx_str_split(&line, ':', &skip) &&
		    sbx_str_split(&line, ':', &id) && number(id, &n) && n == uid)
			found = sbx_str_dup(name);
	}
	sbx_buf_release(&buf);
	return found || !said ? found : sbx_xstrdup(said);
}

/* Root's range: its own line or ours, else one that is nobody's. */
static bool root_range(const char *subid_path, const char *map_path, struct sbx_id_range *ret)
{
	struct sbx_buf subid = SBX_BUF_INIT(SUBID_MAX), map = SBX_BUF_INIT(65536);
	struct sbx_str lines = text_of(subid_path, &subid), ids = text_of(map_path, &map);
	bool found = sbx_subid_find(lines, "llmsbx", UINT32_MAX, ret) ||
		     sbx_subid_find(lines, "root", 0, ret) ||
		     sbx_subid_gap(lines, ids, ROOT_FLOOR, 2 * SLOTS_MAX, ret) ||
		     sbx_subid_gap(lines, ids, SMALL_FLOOR, 2 * SMALL_SLOTS, ret);

	sbx_buf_release(&subid);
	sbx_buf_release(&map);
	return found;
}

static bool user_range(const char *subid_path, const char *name, uid_t uid,
		       struct sbx_id_range *ret)
{
	struct sbx_buf subid = SBX_BUF_INIT(SUBID_MAX);
	bool found = sbx_subid_find(text_of(subid_path, &subid), name, uid, ret);

	sbx_buf_release(&subid);
	return found;
}

static void find_ranges(struct sbx_id_pool *pool)
{
	SBX_CLEANUP(sbx_freep) char *name = NULL;

	pool->kind = SBX_IDS_SINGLE;
	if (pool->uid == 0) {
		if (root_range("/etc/subuid", "/proc/self/uid_map", &pool->uids) &&
		    root_range("/etc/subgid", "/proc/self/gid_map", &pool->gids))
			pool->kind = SBX_IDS_ROOT;
		else
			pool->why = "no free ids in this user namespace";
		return;
	}
	if (access("/usr/bin/newuidmap", X_OK) < 0 || access("/usr/bin/newgidmap", X_OK) < 0) {
		pool->why = "newuidmap is not installed (package uidmap)";
		return;
	}
	name = user_name(pool->uid);
	if (user_range("/etc/subuid", name, pool->uid, &pool->uids) &&
	    user_range("/etc/subgid", name, pool->uid, &pool->gids))
		pool->kind = SBX_IDS_HELPER;
	else
		pool->why = "no line for the caller in /etc/subuid and /etc/subgid";
}

int sbx_id_pool_init(struct sbx_id_pool *pool, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *folder = NULL;
	struct sbx_err ignored = SBX_ERR_INIT;
	uint32_t ids;

	*pool = (struct sbx_id_pool){.uid = geteuid(), .gid = getegid()};
	find_ranges(pool);
	if (pool->kind == SBX_IDS_SINGLE && pool->uid == 0)
		return sbx_fail(err, SBX_E_UNSUPPORTED,
				"root's ids cannot be given to a sandbox, and there are no others: "
				"add a line 'root:100000:65536' to /etc/subuid and /etc/subgid");
	if (pool->kind == SBX_IDS_SINGLE)
		return 0;
	ids = pool->uids.count < pool->gids.count ? pool->uids.count : pool->gids.count;
	pool->slots = ids / 2 < SLOTS_MAX ? ids / 2 : SLOTS_MAX;
	if (sbx_runtime_folder(&folder, &ignored) == 0)
		pool->lock_path = sbx_xasprintf("%s/ids.lock", folder);
	return 0;
}

void sbx_id_pool_release(struct sbx_id_pool *pool)
{
	free(pool->lock_path);
	pool->lock_path = NULL;
}

/*
 * Takes the first slot that nobody holds.  Locks of the open file (not of the process): two sandboxes of one process exclude each
 * other as well.  -1 where no lock can be had: that is no failure.
 */
static int lock_slot(const struct sbx_id_pool *pool, uint32_t *ret_slot)
{
	int fd = -1;

	assert(pool->slots > 0); /* a range has two ids at least */
	if (pool->lock_path)
		fd = open(pool->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	for (uint32_t slot = 0; fd >= 0 && slot < pool->slots; slot++) {
		struct flock lock = {
			.l_type = F_WRLCK,
			.l_whence = SEEK_SET,
			.l_start = slot,
			.l_len = 1,
		};

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
			*ret_slot = slot;
			return fd;
		}
		if (errno != EAGAIN && errno != EACCES)
			break;
	}
	sbx_close(fd);
	*ret_slot = (uint32_t)getpid() % pool->slots;
	return -1;
}

int sbx_ids_take(const struct sbx_id_pool *pool, uid_t in_uid, gid_t in_gid, bool as_caller,
		 struct sbx_ids *ret, struct sbx_err *err)
{
	uint32_t slot;

	*ret = (struct sbx_ids){
		.kind = pool->kind,
		.one_id = in_uid == 0 || pool->kind == SBX_IDS_SINGLE,
		.callers = pool->kind == SBX_IDS_SINGLE || (as_caller && pool->uid != 0),
		.in_uid = in_uid,
		.in_gid = in_uid == 0 ? 0 : in_gid,
		.guest_uid = pool->uid,
		.guest_gid = pool->gid,
		.uid = pool->uid,
		.gid = pool->gid,
		.lock_fd = -1,
	};
	if (in_uid == (uid_t)-1 || in_gid == (gid_t)-1)
		return sbx_fail(err, SBX_E_USAGE, "%u is no user or group id", (uid_t)-1);
	if (pool->kind == SBX_IDS_SINGLE)
		return 0;
	ret->lock_fd = lock_slot(pool, &slot);
	ret->guest_uid = pool->uids.first + 2 * slot;
	ret->guest_gid = pool->gids.first + 2 * slot;
	if (!ret->callers) {
		ret->uid = ret->guest_uid + 1;
		ret->gid = ret->guest_gid + 1;
	}
	/* One id: whichever of the two it was to be. */
	if (ret->one_id) {
		ret->guest_uid = ret->uid;
		ret->guest_gid = ret->gid;
	}
	return 0;
}

void sbx_ids_release(struct sbx_ids *ids)
{
	sbx_closep(&ids->lock_fd);
}
