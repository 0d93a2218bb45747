#include "lib/local/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/local/ids.h"

enum { MAP_TEXT = 96, WORDS = 10 };

/* The two lines that are the map of users, or of groups. */
struct map {
	uint32_t in[2], host[2], count[2];
	unsigned int n;
};

static struct map map_of(uint32_t in, uint32_t guest, uint32_t program)
{
	struct map map = {
		.in = {0, in}, .host = {guest, program}, .count = {1, 1}, .n = in == 0 ? 1 : 2};

	return map;
}

static struct map map_users(const struct sbx_ids *ids)
{
	return map_of(ids->one_id ? 0 : ids->in_uid, ids->guest_uid, ids->uid);
}

static struct map map_groups(const struct sbx_ids *ids)
{
	return map_of(ids->one_id ? 0 : ids->in_gid, ids->guest_gid, ids->gid);
}

/* The kernel takes a map in one write only. */
static int write_map(pid_t pid, const char *file, const struct map *map, struct sbx_err *err)
{
	char path[48], text[MAP_TEXT];
	int len = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	for (unsigned int i = 0; i < map->n; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%u %u %u\n", map->in[i],
				map->host[i], map->count[i]);
	return sbx_write_text_at(AT_FDCWD, path, text, err);
}

static int write_as_root(pid_t pid, const struct map *users, const struct map *groups,
			 struct sbx_err *err)
{
	if (write_map(pid, "uid_map", users, err) < 0 || write_map(pid, "gid_map", groups, err) < 0)
		return sbx_wrap(err, "cannot map ids");
	return 0;
}

static int write_single(pid_t pid, const struct map *users, const struct map *groups,
			struct sbx_err *err)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
	if (sbx_write_text_at(AT_FDCWD, path, "deny", err) < 0)
		return sbx_wrap(err, "cannot map ids");
	return write_as_root(pid, users, groups, err);
}

/* newuidmap and newgidmap, whose words on stderr are kept for the message. */
struct helper {
	const char *path;
	pid_t pid;
	int words_fd;
};

static int helper_start(struct helper *h, pid_t target, const struct map *map, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int write_end = -1;
	char number[7][16], *argv[WORDS] = {NULL}, *env[] = {NULL};
	posix_spawn_file_actions_t actions;
	int fds[2], num, n = 0;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return sbx_fail_sys(err, errno, "cannot make a pipe");
	h->words_fd = fds[0];
	write_end = fds[1];
	(void)snprintf(number[0], sizeof(number[0]), "%d", (int)target);
	for (unsigned int i = 0; i < map->n; i++) {
		(void)snprintf(number[3 * i + 1], sizeof(number[0]), "%u", map->in[i]);
		(void)snprintf(number[3 * i + 2], sizeof(number[0]), "%u", map->host[i]);
		(void)snprintf(number[3 * i + 3], sizeof(number[0]), "%u", map->count[i]);
	}
	argv[n++] = (char[]){"idmap"};
	for (unsigned int i = 0; i < 3 * map->n + 1; i++)
		argv[n++] = number[i];
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, write_end, 2);
	num = posix_spawn(&h->pid, h->path, &actions, NULL, argv, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (num != 0) {
		h->pid = -1;
		return sbx_fail_sys(err, num, "cannot start '%s'", h->path);
	}
	return 0;
}

/* Waits for it, also when something failed before: nobody else would. */
static int helper_finish(struct helper *h, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int fd = SBX_TAKE_FD(h->words_fd);
	char words[200];
	int status = 0;
	ssize_t n;

	if (h->pid < 0)
		return 0;
	while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (err->code != SBX_E_OK)
		return -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	n = read(fd, words, sizeof(words));
	while (n > 0 && words[n - 1] == '\n')
		n--;
	return sbx_fail(err, SBX_E_SYSTEM, "cannot map ids: '%s' failed: %.*s", h->path,
			n > 0 ? (int)n : 0, words);
}

/* Both at once: each is some milliseconds of loading libraries. */
static int write_by_helpers(pid_t pid, const struct map *user_map, const struct map *group_map,
			    struct sbx_err *err)
{
	struct helper users = {.path = "/usr/bin/newuidmap", .pid = -1, .words_fd = -1};
	struct helper groups = {.path = "/usr/bin/newgidmap", .pid = -1, .words_fd = -1};
	int first, second;

	if (helper_start(&users, pid, user_map, err) == 0)
		(void)helper_start(&groups, pid, group_map, err);
	first = helper_finish(&users, err);
	second = helper_finish(&groups, err);
	return err->code != SBX_E_OK || first < 0 || second < 0 ? -1 : 0;
}

static int write_kind(enum sbx_ids_kind kind, pid_t pid, const struct map *users,
		      const struct map *groups, struct sbx_err *err)
{
	switch (kind) {
	case SBX_IDS_ROOT:
		return write_as_root(pid, users, groups, err);
	case SBX_IDS_HELPER:
		return write_by_helpers(pid, users, groups, err);
	case SBX_IDS_SINGLE:
	default:
		return write_single(pid, users, groups, err);
	}
}

int sbx_idmap_write(const struct sbx_ids *ids, pid_t pid, struct sbx_err *err)
{
	struct map users = map_users(ids), groups = map_groups(ids);

	return write_kind(ids->kind, pid, &users, &groups, err);
}

static struct map map_all(uint32_t own, struct sbx_id_range range, bool single)
{
	struct map map = {.in = {0, 1},
			  .host = {own, range.first},
			  .count = {1, range.count},
			  .n = single ? 1 : 2};

	return map;
}

int sbx_idmap_write_all(const struct sbx_id_pool *pool, pid_t pid, struct sbx_err *err)
{
	bool single = pool->kind == SBX_IDS_SINGLE;
	struct map users = map_all(pool->uid, pool->uids, single);
	struct map groups = map_all(pool->gid, pool->gids, single);

	return write_kind(pool->kind, pid, &users, &groups, err);
}

uint32_t sbx_idmap_all_inside(uint32_t own, struct sbx_id_range range, uint32_t id)
{
	return id == own ? 0 : id - range.first + 1;
}

int sbx_idmap_rename(const struct sbx_ids *ids, struct sbx_err *err)
{
	char text[MAP_TEXT];

	if (unshare(CLONE_NEWUSER) < 0)
		return sbx_fail_sys(err, errno, "cannot make the program's user namespace");
	/* The one line that a process may write for itself needs this first (user_namespaces(7)). */
	if (sbx_write_text_at(AT_FDCWD, "/proc/self/setgroups", "deny", err) < 0)
		return sbx_wrap(err, "cannot map ids");
	(void)snprintf(text, sizeof(text), "%u 0 1\n", ids->in_uid);
	if (sbx_write_text_at(AT_FDCWD, "/proc/self/uid_map", text, err) < 0)
		return sbx_wrap(err, "cannot map ids");
	(void)snprintf(text, sizeof(text), "%u 0 1\n", ids->in_gid);
	if (sbx_write_text_at(AT_FDCWD, "/proc/self/gid_map", text, err) < 0)
		return sbx_wrap(err, "cannot map ids");
	return 0;
}

/* A process that does nothing but be in a new user namespace, for as long as it takes to map and to open that. */
static pid_t start_holder(struct sbx_err *err)
{
	struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	pid_t parent = getpid();
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0)
		return sbx_fail_sys(err, errno, "cannot make a user namespace for '--mount'");
	if (pid == 0) {
		/* Nobody else would end it when we are killed; a parent that died before this call is not it any more. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		while (getppid() == parent)
			(void)pause();
		_exit(0);
	}
	return (pid_t)pid;
}

static int open_namespace(const struct sbx_ids *ids, pid_t pid, uid_t uid, gid_t gid,
			  struct sbx_err *err)
{
	/* Root's files stay root's, where they are not what is mapped and root is somebody else inside. */
	struct map users = map_of(ids->one_id ? 0 : uid, ids->guest_uid, ids->uid);
	struct map groups = map_of(ids->one_id ? 0 : gid, ids->guest_gid, ids->gid);
	char path[48];
	int fd;

	if (users.n == 1)
		users = (struct map){.in = {uid}, .host = {ids->uid}, .count = {1}, .n = 1};
	if (groups.n == 1)
		groups = (struct map){.in = {gid}, .host = {ids->gid}, .count = {1}, .n = 1};
	if (write_map(pid, "uid_map", &users, err) < 0 ||
	    write_map(pid, "gid_map", &groups, err) < 0)
		return sbx_wrap(err, "cannot map the ids of a mount");
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_sys(err, errno, "cannot open '%s'", path);
	return fd;
}

int sbx_idmap_for_mount(const struct sbx_ids *ids, uid_t uid, gid_t gid, struct sbx_err *err)
{
	pid_t pid = start_holder(err);
	int fd;

	if (pid < 0)
		return -1;
	fd = open_namespace(ids, pid, uid, gid, err);
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return fd;
}
