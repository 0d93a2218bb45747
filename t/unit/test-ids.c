#include "lib/local/ids.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "t/unit/tap.h"

#define WHOLE "         0          0 4294967295\n"

TEST(a_line_is_found_by_name_or_number)
{
	const struct sbx_str text = SBX_STR("# comment\n\njoe:100000:65536\nann:165536:65536\n"
					    "1007:300000:10\nbad:1\nbad:x:2\nbad:1:2:3\n");
	struct sbx_id_range range = {0};

	ok(sbx_subid_find(text, "ann", 1001, &range));
	ok_int(range.first, 165536);
	ok_int(range.count, 65536);
	ok(sbx_subid_find(text, "kim", 1007, &range));
	ok_int(range.first, 300000);
	ok(sbx_subid_find(text, NULL, 1007, &range));
	ok(!sbx_subid_find(text, "kim", 1008, &range));
	ok(!sbx_subid_find(text, "bad", 1008, &range));
	ok(!sbx_subid_find(text, "an", 1008, &range));
}

TEST(a_line_of_one_id_is_of_no_use)
{
	struct sbx_id_range range = {0};

	ok(!sbx_subid_find(SBX_STR("joe:100000:1\n"), "joe", 1000, &range));
	ok(sbx_subid_find(SBX_STR("joe:100000:1\njoe:200000:2"), "joe", 1000, &range));
	ok_int(range.first, 200000);
	/* Beyond the last number. */
	ok(!sbx_subid_find(SBX_STR("joe:4294967295:2\n"), "joe", 1000, &range));
	ok(!sbx_subid_find(SBX_STR("joe:4294967296:2\n"), "joe", 1000, &range));
}

TEST(a_gap_avoids_every_line)
{
	struct sbx_id_range range = {0};

	ok(sbx_subid_gap(SBX_STR(""), SBX_STR(WHOLE), 1000, 10, &range));
	ok_int(range.first, 1000);
	ok_int(range.count, 10);
	/* In no order, touching, and one that a step lands on. */
	ok(sbx_subid_gap(SBX_STR("a:1020:10\nb:1005:10\nc:1014:6\nd:1041:5\n"), SBX_STR(WHOLE),
			 1000, 10, &range));
	ok_int(range.first, 1030);
	ok(sbx_subid_gap(SBX_STR("a:1020:10\nb:1005:10\nc:1014:6\nd:1039:5\n"), SBX_STR(WHOLE),
			 1000, 10, &range));
	ok_int(range.first, 1044);
	ok(!sbx_subid_gap(SBX_STR("a:1000:4294966290\n"), SBX_STR(WHOLE), 1000, 10, &range));
}

TEST(a_gap_exists_in_this_namespace)
{
	const struct sbx_str container = SBX_STR("0 1000 1\n1 100000 65536\n");
	struct sbx_id_range range = {0};

	ok(!sbx_subid_gap(SBX_STR(""), container, 0x60000000, 10, &range));
	ok(sbx_subid_gap(SBX_STR(""), container, 32768, 16384, &range));
	ok_int(range.first, 32768);
	ok(sbx_subid_gap(SBX_STR(""), container, 65527, 10, &range));
	ok_int(range.first, 65527);
	ok(!sbx_subid_gap(SBX_STR(""), container, 65528, 10, &range));
	ok(!sbx_subid_gap(SBX_STR(""), SBX_STR("0 1000 1\n"), 0, 2, &range));
}

/* A pool of some slots, with its lock in a folder of its own. */
static struct sbx_id_pool make_pool(char *folder, uint32_t slots)
{
	struct sbx_id_pool pool = {
		.kind = SBX_IDS_HELPER,
		.uid = 1000,
		.gid = 1000,
		.uids = {.first = 100000, .count = 2 * slots},
		.gids = {.first = 200000, .count = 2 * slots},
		.slots = slots,
	};

	if (mkdtemp(folder))
		pool.lock_path = sbx_xasprintf("%s/ids.lock", folder);
	return pool;
}

static void end_pool(struct sbx_id_pool *pool, const char *folder)
{
	if (pool->lock_path)
		(void)unlink(pool->lock_path);
	(void)rmdir(folder);
	sbx_id_pool_release(pool);
}

TEST(slots_are_exclusive_and_come_back)
{
	char folder[] = "/tmp/test-ids-XXXXXX";
	struct sbx_id_pool pool = make_pool(folder, 3);
	struct sbx_ids ids[4];

	for (int i = 0; i < 3; i++) {
		ok_call(sbx_ids_take(&pool, 65532, 65533, false, &ids[i], err));
		ok_int(ids[i].guest_uid, 100000 + 2 * i);
		ok_int(ids[i].uid, 100001 + 2 * i);
		ok_int(ids[i].guest_gid, 200000 + 2 * i);
		ok_int(ids[i].gid, 200001 + 2 * i);
		ok_int(ids[i].in_gid, 65533);
		ok(ids[i].lock_fd >= 0);
	}
	sbx_ids_release(&ids[1]);
	ok_call(sbx_ids_take(&pool, 65532, 65532, false, &ids[1], err));
	ok_int(ids[1].guest_uid, 100002);
	/* All taken: no failure, and ids of the range. */
	ok_call(sbx_ids_take(&pool, 65532, 65532, false, &ids[3], err));
	ok_int(ids[3].lock_fd, -1);
	ok(ids[3].guest_uid >= 100000 && ids[3].uid < 100006);
	for (int i = 0; i < 4; i++)
		sbx_ids_release(&ids[i]);
	end_pool(&pool, folder);
}

TEST(a_folder_that_is_not_there_is_no_failure)
{
	char folder[] = "/tmp/test-ids-XXXXXX";
	struct sbx_id_pool pool = make_pool(folder, 3);
	struct sbx_ids ids;

	(void)rmdir(folder);
	ok_call(sbx_ids_take(&pool, 65532, 65532, false, &ids, err));
	ok_int(ids.lock_fd, -1);
	ok_int(ids.uid, ids.guest_uid + 1);
	sbx_ids_release(&ids);
	sbx_id_pool_release(&pool);
}

TEST(who_is_who)
{
	char folder[] = "/tmp/test-ids-XXXXXX";
	struct sbx_id_pool pool = make_pool(folder, 2);
	struct sbx_ids ids;

	ok_call(sbx_ids_take(&pool, 0, 7, false, &ids, err));
	ok(ids.one_id);
	ok_int(ids.in_gid, 0);
	ok_int(ids.uid, ids.guest_uid);
	ok(ids.uid >= 100000);
	sbx_ids_release(&ids);

	/* With --mount, a user's program is the user; the guest is not. */
	ok_call(sbx_ids_take(&pool, 65532, 65532, true, &ids, err));
	ok(ids.callers && !ids.one_id);
	ok_int(ids.uid, 1000);
	ok_int(ids.gid, 1000);
	ok_int(ids.guest_uid, 100000);
	sbx_ids_release(&ids);

	/* Root's program never is root. */
	pool.kind = SBX_IDS_ROOT;
	pool.uid = 0;
	ok_call(sbx_ids_take(&pool, 65532, 65532, true, &ids, err));
	ok(!ids.callers);
	ok_int(ids.uid, 100001);
	sbx_ids_release(&ids);

	pool.kind = SBX_IDS_SINGLE;
	pool.uid = 1000;
	ok_call(sbx_ids_take(&pool, 65532, 65532, false, &ids, err));
	ok(ids.one_id && ids.callers);
	ok_int(ids.uid, 1000);
	ok_int(ids.guest_uid, 1000);
	ok_int(ids.lock_fd, -1);
	sbx_ids_release(&ids);

	ok_fail(sbx_ids_take(&pool, (uid_t)-1, 1, false, &ids, err), SBX_E_USAGE, "no user");
	end_pool(&pool, folder);
}

TAP_MAIN(RUN(a_line_is_found_by_name_or_number), RUN(a_line_of_one_id_is_of_no_use),
	 RUN(a_gap_avoids_every_line), RUN(a_gap_exists_in_this_namespace),
	 RUN(slots_are_exclusive_and_come_back), RUN(a_folder_that_is_not_there_is_no_failure),
	 RUN(who_is_who))
