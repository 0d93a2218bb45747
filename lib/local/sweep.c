/*
 * What processes that are gone left: cgroups, and nothing else; the kernel has already taken the rest.  Their guests end by themselves
 * at the end of their channel, so what is found is empty but for the worst of accidents.
 *
 * A name's process is looked for by pid and start time.  That pid is of its own pid namespace, which need not be ours: so before
 * anything in a cgroup is killed, the parent of its processes is looked at as well, and one that was started when the name says is
 * the owner, alive.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/local/cgroup-impl.h"
#include "lib/proc/owner.h"

enum {
	PROCS_MAX = 1 << 20,
	ROUNDS = 100, /* of killing and trying to remove, a millisecond each */
	DEPTH = 12,   /* of cgroups in cgroups: the dead may have been in another one than we are */
};

/* The processes in a cgroup, one a line; those that this pid namespace does not show are 0. */
static struct sbx_str procs_in(int dir, struct sbx_buf *buf)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);

	sbx_buf_reset(buf);
	if (fd < 0 || sbx_read_all(fd, "cgroup.procs", buf, &ignored) < 0)
		sbx_buf_reset(buf);
	sbx_close(fd);
	return (struct sbx_str){.p = sbx_buf_str(buf), .n = buf->len};
}

static bool next_pid(struct sbx_str *procs, pid_t *ret)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_str line;
	uint64_t pid;

	if (!sbx_str_split(procs, '\n', &line) ||
	    sbx_str_u64(line, INT32_MAX, "pid", &pid, &ignored) < 0)
		return false;
	*ret = (pid_t)pid;
	return true;
}

/* Whether a process in it is the child of the one that the name means, or cannot be seen at all. */
static bool held_from_elsewhere(struct sbx_str procs, const struct sbx_owner *owner)
{
	pid_t pid, parent, grand;
	uint64_t start, parents;

	while (next_pid(&procs, &pid)) {
		if (pid == 0)
			return true;
		if (sbx_process_stat(pid, &start, &parent) &&
		    sbx_process_stat(parent, &parents, &grand) && parents == owner->start)
			return true;
	}
	return false;
}

static void kill_all(const struct sbx_cgroups *set, int dir, struct sbx_str procs)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	pid_t pid;

	if (set->version->kill_file &&
	    sbx_write_text_at(dir, set->version->kill_file, "1", &ignored) == 0)
		return;
	while (next_pid(&procs, &pid)) {
		if (pid > 1)
			(void)kill(pid, SIGKILL);
	}
}

/* Whether it is gone now. */
static bool remove_one(const struct sbx_cgroups *set, int parent, const char *name,
		       const struct sbx_owner *owner)
{
	static const struct timespec ms = {.tv_nsec = 1000000};
	struct sbx_buf buf = SBX_BUF_INIT(PROCS_MAX);
	int dir;
	bool gone = false;

	/* An empty one goes without a question. */
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return true;
	dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int round = 0; dir >= 0 && !gone && round < ROUNDS; round++) {
		struct sbx_str procs = procs_in(dir, &buf);

		if (round == 0 && held_from_elsewhere(procs, owner))
			break;
		kill_all(set, dir, procs);
		(void)nanosleep(&ms, NULL);
		gone = unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
	}
	sbx_close(dir);
	sbx_buf_release(&buf);
	return gone;
}

static bool is_left(const char *name, bool quick, struct sbx_owner *owner)
{
	if (!sbx_owner_parse(name, owner))
		return false;
	/* Quick: a pid that somebody has is taken for the owner's. */
	if (quick && (kill(owner->pid, 0) == 0 || errno != ESRCH))
		return false;
	return !sbx_owner_alive(owner);
}

/* Reads a folder without touching the position of fd, which others share; NULL where it cannot. */
static DIR *list(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir)
		sbx_close(fd);
	return dir;
}

/* One search: where, how thoroughly, and what it found. */
struct search {
	const struct sbx_cgroups *set;
	bool quick;
	struct sbx_strv *removed;
};

/* In one cgroup, and in those below it down to depth. */
static int sweep_below(const struct search *search, int parent, const char *path, int depth,
		       struct sbx_err *err)
{
	DIR *dir = list(parent);
	const struct dirent *entry;
	struct sbx_owner owner;
	int result = 0;

	while (dir && result == 0 && (entry = readdir(dir))) {
		SBX_CLEANUP(sbx_closep) int below = -1;
		SBX_CLEANUP(sbx_freep) char *name = NULL;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		name = sbx_xasprintf("%s/%s", path, entry->d_name);
		if (is_left(entry->d_name, search->quick, &owner)) {
			if (remove_one(search->set, dirfd(dir), entry->d_name, &owner) &&
			    search->removed)
				result = sbx_strv_addf(search->removed, err, "cgroup %s", name);
		} else if (depth > 0) {
			below = openat(dirfd(dir), entry->d_name,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (below >= 0)
				result = sweep_below(search, below, name, depth - 1, err);
		}
	}
	if (dir)
		(void)closedir(dir);
	return result;
}

/* Whether the first tree, which is tried first for every sandbox, holds something that is left. */
static bool any_left(const struct sbx_cgroups *set)
{
	DIR *dir = list(set->trees[0].fd);
	const struct dirent *entry;
	struct sbx_owner owner;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = is_left(entry->d_name, true, &owner);
	if (dir)
		(void)closedir(dir);
	return found;
}

int sbx_cgroups_sweep(struct sbx_cgroups *set, bool quick, struct sbx_strv *removed,
		      struct sbx_err *err)
{
	const struct search search = {.set = set, .quick = quick, .removed = removed};

	if (set->n_trees == 0 || (quick && !any_left(set)))
		return 0;
	for (size_t i = 0; i < set->n_trees; i++) {
		const struct sbx_cg_tree *tree = &set->trees[i];
		SBX_CLEANUP(sbx_closep) int top = -1;

		if (!quick)
			top = open(tree->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (quick ? sweep_below(&search, tree->fd, tree->path, 0, err) < 0
			  : top >= 0 && sweep_below(&search, top, tree->top, DEPTH, err) < 0)
			return -1;
	}
	return 0;
}
