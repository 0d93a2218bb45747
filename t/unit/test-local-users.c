/* Sandboxes of users and what they mount, seen from outside; as root, users being forked off. */
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "lib/local/ids.h"
#include "t/unit/local-look.h"

enum {
	NOBODY_KNOWS = 61234, /* a uid without a name and without lines in /etc/subuid */
};

/* Runs part in a process of that user, whose box's process 1 root looks at meanwhile.  Both sides count failures. */
struct visit {
	uid_t uid;
	gid_t gid;
	const struct sbx_mount *mount; /* or NULL */
	void (*look)(pid_t pid, const struct visit *visit);
	void (*check)(const struct sbx_box *box, const struct visit *visit);
};

static int host_user(const struct visit *visit, int tell, int wait, struct sbx_err *err)
{
	struct sbx_box_spec spec;
	char name[SBX_OWNER_NAME_MAX], c;
	struct sbx_backend *be;
	struct sbx_box *box = NULL;
	pid_t pid = 0;

	tap_failures = 0;
	if (!ok_int(setgroups(0, NULL), 0) ||
	    !ok_int(setresgid(visit->gid, visit->gid, visit->gid), 0) ||
	    !ok_int(setresuid(visit->uid, visit->uid, visit->uid), 0))
		return 1;
	/* Whoever changes ids is undumpable, and /proc/self root's: no llmsbx of theirs would be. */
	ok_int(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	be = open_local(err);
	ok_call(sbx_owner_name(name, 2, err));
	spec = spec_of(name);
	spec.mounts = visit->mount;
	spec.n_mounts = visit->mount ? 1 : 0;
	if (ok_call(be->ops->create(be, &spec, &box, err)))
		pid = pid_of(box);
	(void)!write(tell, &pid, sizeof(pid));
	(void)!read(wait, &c, 1);
	if (box) {
		visit->check(box, visit);
		ok_call(be->ops->destroy(be, box, err));
		ok(is_gone(pid));
	}
	be->ops->close(be);
	return tap_failures > 0;
}

static void visit_user(const struct visit *visit, struct sbx_err *err)
{
	int to[2], from[2], status = 0;
	pid_t child, pid = 0;

	ok(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		int rc;

		(void)close(to[1]);
		(void)close(from[0]);
		rc = host_user(visit, from[1], to[0], err);

		(void)fflush(stdout);
		_exit(rc);
	}
	(void)close(from[1]);
	(void)close(to[0]);
	if (read(from[0], &pid, sizeof(pid)) == (ssize_t)sizeof(pid) && pid > 0)
		visit->look(pid, visit);
	(void)close(to[1]);
	(void)close(from[0]);
	(void)waitpid(child, &status, 0);
	ok_int(status, 0);
}

static void check_single(const struct sbx_box *box, const struct visit *visit SBX_UNUSED)
{
	ok(box->one_id);
	ok_int(box->guest_uid, 65532);
	ok_held(box, SBX_CTL_USER, SBX_HELD_DEGRADED);
	ok_held(box, SBX_CTL_NAMESPACES, SBX_HELD_ENFORCED);
	ok_held(box, SBX_CTL_MOUNTS, SBX_HELD_ENFORCED);
}

static void look_single(pid_t pid, const struct visit *visit)
{
	char want[64];
	cpu_set_t cpus;

	look_at_files(pid, visit->uid, visit->uid);
	look_at_mounts(pid);
	look_at_process(pid, "0000000000000000");
	/* No user makes a cgroup here by himself, so the one processor of the limits is one. */
	ok_int(sched_getaffinity(pid, sizeof(cpus), &cpus), 0);
	ok_int(CPU_COUNT(&cpus), 1);
	/* As seen from here: two namespaces down, one id. */
	(void)snprintf(want, sizeof(want), "65532 %u 1 ", visit->uid);
	ok_map(pid, "uid_map", want);
	ok_map(pid, "gid_map", want);
	ok_map(pid, "setgroups", "deny ");
}

TEST(a_user_without_subids_has_one_id)
{
	struct visit visit = {
		.uid = NOBODY_KNOWS,
		.gid = NOBODY_KNOWS,
		.look = look_single,
		.check = check_single,
	};

	if (needs_root())
		visit_user(&visit, err);
}

/* Somebody who has lines in /etc/subuid and /etc/subgid. */
static bool find_user(struct visit *visit, struct sbx_id_range *uids)
{
	struct sbx_buf passwd = SBX_BUF_INIT(1 << 20), subuid = SBX_BUF_INIT(1 << 20),
		       subgid = SBX_BUF_INIT(1 << 20);
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_str rest, line, part[4];
	struct sbx_id_range gids;
	bool found = false;

	if (sbx_read_file("/etc/passwd", &passwd, &ignored) == 0 &&
	    sbx_read_file("/etc/subuid", &subuid, &ignored) == 0 &&
	    sbx_read_file("/etc/subgid", &subgid, &ignored) == 0 &&
	    access("/usr/bin/newuidmap", X_OK) == 0) {
		rest = sbx_str_of(sbx_buf_str(&passwd));
		while (!found && sbx_str_split(&rest, '\n', &line)) {
			uint64_t uid = 0, gid = 0;
			char name[64];

			for (int i = 0; i < 4; i++)
				(void)sbx_str_split(&line, ':', &part[i]);
			if (sbx_str_u64(part[2], UINT32_MAX, "uid", &uid, &ignored) < 0 ||
			    sbx_str_u64(part[3], UINT32_MAX, "gid", &gid, &ignored) < 0) {
				sbx_err_clear(&ignored);
				continue;
			}
			(void)snprintf(name, sizeof(name), "%.*s", (int)part[0].n, part[0].p);
			visit->uid = (uid_t)uid;
			visit->gid = (gid_t)gid;
			found = uid != 0 &&
				sbx_subid_find(sbx_str_of(sbx_buf_str(&subuid)), name,
					       (uint32_t)uid, uids) &&
				sbx_subid_find(sbx_str_of(sbx_buf_str(&subgid)), name,
					       (uint32_t)uid, &gids);
		}
	}
	sbx_buf_release(&passwd);
	sbx_buf_release(&subuid);
	sbx_buf_release(&subgid);
	return found;
}

static void check_two(const struct sbx_box *box, const struct visit *visit)
{
	ok(!box->one_id);
	ok_int(box->guest_uid, 0);
	ok_held(box, SBX_CTL_USER, visit->mount ? SBX_HELD_DEGRADED : SBX_HELD_ENFORCED);
}

static void look_two(pid_t pid, const struct visit *visit SBX_UNUSED)
{
	struct stat st;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	ok_int(stat(path, &st), 0);
	ok(st.st_uid != visit->uid && st.st_uid != 0);
	look_at_files(pid, st.st_uid, st.st_uid + 1);
	look_at_mounts(pid);
	look_at_process(pid, "00000000000000e0");
	(void)snprintf(path, sizeof(path), "0 %u 1 65532 %u 1 ", st.st_uid, st.st_uid + 1);
	ok_map(pid, "uid_map", path);
}

TEST(a_user_with_subids_has_two_ids)
{
	struct visit visit = {.look = look_two, .check = check_two};
	struct sbx_id_range uids;

	if (!needs_root())
		return;
	if (find_user(&visit, &uids))
		visit_user(&visit, err);
	else
		skip("nobody has lines in /etc/subuid and /etc/subgid, or newuidmap is missing");
}

/* A folder 0700 of owner's, with a file 0600 in it, below another. */
static char *make_source(uid_t owner)
{
	char *top = sbx_xstrdup("/tmp/test-local-XXXXXX"), *path;
	int fd;

	ok(mkdtemp(top) != NULL);
	path = sbx_xasprintf("%s/src", top);
	ok_int(mkdir(path, 0700), 0);
	free(path);
	path = sbx_xasprintf("%s/src/file", top);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ok(fd >= 0);
	sbx_close(fd);
	ok_int(lchown(path, owner, owner), 0);
	free(path);
	path = sbx_xasprintf("%s/src", top);
	ok_int(lchown(path, owner, owner), 0);
	ok_int(lchown(top, owner, owner), 0);
	free(path);
	return top;
}

static void remove_source(char *take_top)
{
	static const char *const names[] = {"src/file", "src", "socket", ""};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++) {
		char *path = sbx_xasprintf("%s/%s", take_top, names[i]);

		(void)remove(path);
		free(path);
	}
	free(take_top);
}

static void look_mount(pid_t pid, const struct visit *visit)
{
	int root = open_root(pid);

	ok_stat(root, "sandbox/in", S_IFDIR | 0755, visit->uid);
	ok_stat(root, "sandbox/in/src", S_IFDIR | 0700, visit->uid);
	ok_stat(root, "sandbox/in/src/file", S_IFREG | 0600, visit->uid);
	(void)close(root);
}

TEST(what_a_user_mounts_stays_the_users)
{
	struct visit visit = {.look = look_mount, .check = check_two};
	char dest[] = "/sandbox/in/src", *top, *host;
	struct sbx_id_range uids;
	struct sbx_mount mount;

	if (!needs_root())
		return;
	if (!find_user(&visit, &uids)) {
		skip("nobody has lines in /etc/subuid and /etc/subgid, or newuidmap is missing");
		return;
	}
	top = make_source(visit.uid);
	host = sbx_xasprintf("%s/src", top);
	mount = (struct sbx_mount){.host = host, .dest = dest, .writable = true};
	visit.mount = &mount;
	visit_user(&visit, err);
	free(host);
	remove_source(top);
}

static struct sbx_box *box_with_mount(struct sbx_backend *be, struct sbx_mount *mount,
				      struct sbx_err *err)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	char name[SBX_OWNER_NAME_MAX];
	struct sbx_box *box = NULL;
	struct sbx_box_spec spec;

	ok_call(sbx_owner_name(name, 3, &ignored));
	spec = spec_of(name);
	spec.mounts = mount;
	spec.n_mounts = 1;
	return be->ops->create(be, &spec, &box, err) == 0 ? box : NULL;
}

TEST(what_root_mounts_is_the_programs)
{
	char dest[] = "/data/x", *top, *host;
	struct sbx_backend *be;
	struct sbx_mount mount;
	struct sbx_box *box;
	struct stat st;
	char path[64];
	int root;

	if (!needs_root())
		return;
	top = make_source(1234);
	host = sbx_xasprintf("%s/src", top);
	mount = (struct sbx_mount){.host = host, .dest = dest, .writable = false};
	be = open_local(err);
	box = box_with_mount(be, &mount, err);
	if (!box && err->code == SBX_E_UNSUPPORTED) {
		skip(err->msg); /* /tmp is of a kind that cannot map ids */
		sbx_err_clear(err);
	} else if (ok(box != NULL)) {
		(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid_of(box));
		ok_int(stat(path, &st), 0);
		root = open_root(pid_of(box));
		ok_stat(root, "data", S_IFDIR | 0755, st.st_uid);
		ok_stat(root, "data/x/file", S_IFREG | 0600, st.st_uid + 1);
		ok_int(openat(root, "data/x/new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), -1);
		ok_int(errno, EROFS);
		ok_int(openat(root, "new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), -1);
		ok_int(errno, EROFS);
		(void)close(root);
		ok_held(box, SBX_CTL_USER, SBX_HELD_ENFORCED);
		ok_call(be->ops->destroy(be, box, err));
	}
	be->ops->close(be);
	free(host);
	remove_source(top);
}

static void refuse_mount(struct sbx_backend *be, const char *host, const char *dest,
			 enum sbx_code code, const char *words)
{
	char from[128], to[128];
	struct sbx_mount mount = {.host = from, .dest = to};
	struct sbx_err why = SBX_ERR_INIT, *err = &why;
	int fds = count_fds();

	(void)snprintf(from, sizeof(from), "%s", host);
	(void)snprintf(to, sizeof(to), "%s", dest);
	ok_fail(box_with_mount(be, &mount, err) ? 0 : -1, code, words);
	ok_int(count_fds(), fds);
}

TEST(mounts_that_are_refused)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sbx_backend *be = open_local(err);
	struct sbx_box *box;
	char *top, *path;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	top = make_source(geteuid());
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", top);
	ok_int(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)close(fd);
	/* The first one makes what a backend keeps open. */
	path = sbx_xasprintf("%s/src", top);
	box = box_with_mount(be, &(struct sbx_mount){.host = path, .dest = path}, err);
	sbx_err_clear(err);
	if (box)
		ok_call(be->ops->destroy(be, box, err));
	refuse_mount(be, address.sun_path, "/sandbox/s", SBX_E_USAGE, "is a socket");
	refuse_mount(be, "/dev/null", "/sandbox/s", SBX_E_USAGE, "is a device");
	refuse_mount(be, "/no/such/thing", "/sandbox/s", SBX_E_SYSTEM, "'/no/such/thing'");
	refuse_mount(be, path, "/proc/x", SBX_E_USAGE, "/proc");
	refuse_mount(be, path, "/dev", SBX_E_USAGE, "/dev");
	refuse_mount(be, path, "/", SBX_E_USAGE, "'/'");
	refuse_mount(be, path, "/a/../b", SBX_E_USAGE, "'/a/../b'");
	refuse_mount(be, path, "relative", SBX_E_USAGE, "absolute");
	refuse_mount(be, path, "/usr/no-such-folder/x", SBX_E_SYSTEM, "/usr/no-such-folder");
	free(path);
	remove_source(top);
	be->ops->close(be);
}

TAP_MAIN(RUN(a_user_without_subids_has_one_id), RUN(a_user_with_subids_has_two_ids),
	 RUN(what_a_user_mounts_stays_the_users), RUN(what_root_mounts_is_the_programs),
	 RUN(mounts_that_are_refused))
