/* Sandboxes seen from outside, and what is left of them.  What programs see inside is for the conformance tests. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "lib/base/clock.h"
#include "lib/base/strv.h"
#include "t/unit/local-look.h"

TEST(root_has_two_ids_of_nobody)
{
	struct sbx_box_spec spec;
	char name[SBX_OWNER_NAME_MAX], want[128];
	int fds = count_fds(), before;
	struct sbx_backend *be;
	struct sbx_box *box = NULL;
	struct sbx_box_stats stats;
	struct stat st;
	pid_t pid;

	if (!needs_root())
		return;
	be = open_local(err);
	ok_call(sbx_owner_name(name, 1, err));
	spec = spec_of(name);
	if (!ok_call(be->ops->create(be, &spec, &box, err)))
		return;
	pid = pid_of(box);
	ok(!box->one_id);
	ok_int(box->guest_uid, 0);
	(void)snprintf(want, sizeof(want), "/proc/%d", (int)pid);
	ok_int(stat(want, &st), 0);
	look_at_files(pid, st.st_uid, st.st_uid + 1);
	look_at_mounts(pid);
	look_at_process(pid, "00000000000000e0");
	ok(st.st_uid >= 100000);
	(void)snprintf(want, sizeof(want), "0 %u 1 65532 %u 1 ", st.st_uid, st.st_uid + 1);
	ok_map(pid, "uid_map", want);
	ok_held(box, SBX_CTL_NAMESPACES, SBX_HELD_ENFORCED);
	ok_held(box, SBX_CTL_MOUNTS, SBX_HELD_ENFORCED);
	ok_held(box, SBX_CTL_READONLY_ROOT, SBX_HELD_ENFORCED);
	ok_held(box, SBX_CTL_DEVICES, SBX_HELD_ENFORCED);
	ok_held(box, SBX_CTL_USER, SBX_HELD_ENFORCED);
	ok_held(box, SBX_CTL_NETWORK, SBX_HELD_ENFORCED);
	ok_held(box, SBX_CTL_DISK, SBX_HELD_ENFORCED);
	ok_held(box, SBX_CTL_SECCOMP, SBX_HELD_ABSENT);
	ok(box->guest_limits_memory ==
	   (box->receipt.control[SBX_CTL_MEMORY].held == SBX_HELD_DEGRADED));
	ok_call(be->ops->stats(be, box, &stats, err));
	before = count_fds();
	ok_call(be->ops->destroy(be, box, err));
	ok(count_fds() < before);
	ok(is_gone(pid));
	be->ops->close(be);
	ok_int(count_fds(), fds);
}

TEST(work_directories)
{
	static const struct {
		const char *path, *words;
	} cases[] = {
		{"/work/deep/er", NULL},
		{"/tmp/work", NULL},
		{"/usr/work", "/usr"},
		{"/etc", "/etc"},
		{"/tmp", "/tmp"},
		{"/dev/shm/x", "/dev"},
		{"/", "'/'"},
		{"work", "absolute"},
		{"/work/", "'/work/'"},
		{"/.llmsbx/x", "own"},
		{"/proc/1", "/proc"},
		{"/a//b", "'//'"},
	};
	struct sbx_backend *be = open_local(err);
	char name[SBX_OWNER_NAME_MAX];
	struct sbx_box_spec spec;
	struct sbx_box *box;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		ok_call(sbx_owner_name(name, i, err));
		spec = spec_of(name);
		spec.workdir = cases[i].path;
		if (cases[i].words) {
			ok_fail(be->ops->create(be, &spec, &box, err), SBX_E_USAGE, cases[i].words);
		} else if (ok_call(be->ops->create(be, &spec, &box, err))) {
			int root = open_root(pid_of(box));
			struct stat st = {.st_mode = 0};

			if (geteuid() == 0) {
				ok_int(fstatat(root, cases[i].path + 1, &st, 0), 0);
				ok_int(st.st_mode, S_IFDIR | 0700);
			}
			sbx_close(root);
			ok_call(be->ops->destroy(be, box, err));
		}
	}
	be->ops->close(be);
}

TEST(what_was_not_asked_for_is_not_in_the_receipt)
{
	struct sbx_backend *be = open_local(err);
	char name[SBX_OWNER_NAME_MAX];
	struct sbx_box_spec spec;
	struct sbx_box *box;

	ok_call(sbx_owner_name(name, 1, err));
	spec = spec_of(name);
	spec.limits.memory_bytes = spec.limits.cpu_milli = spec.limits.pids = SBX_UNLIMITED;
	spec.limits.disk_bytes = spec.limits.tmp_bytes = SBX_UNLIMITED;
	spec.read_only = false;
	spec.network = SBX_NET_FULL;
	if (ok_call(be->ops->create(be, &spec, &box, err))) {
		ok_held(box, SBX_CTL_MEMORY, SBX_HELD_ABSENT);
		ok_held(box, SBX_CTL_CPU, SBX_HELD_ABSENT);
		ok_held(box, SBX_CTL_PIDS, SBX_HELD_ABSENT);
		ok_held(box, SBX_CTL_DISK, SBX_HELD_ABSENT);
		ok_held(box, SBX_CTL_READONLY_ROOT, SBX_HELD_ABSENT);
		ok_held(box, SBX_CTL_NETWORK, SBX_HELD_UNSUPPORTED);
		ok(!box->guest_limits_memory && !box->guest_limits_pids);
		ok_call(be->ops->destroy(be, box, err));
	}
	ok_call(sbx_owner_name(name, 2, err));
	spec = spec_of(name);
	spec.limits.disk_explicit = true;
	spec.limits.disk_bytes = 200 << 20;
	if (ok_call(be->ops->create(be, &spec, &box, err))) {
		ok_held(box, SBX_CTL_DISK, SBX_HELD_DEGRADED);
		ok_call(be->ops->destroy(be, box, err));
	}
	be->ops->close(be);
}

TEST(many_at_once_share_nothing)
{
	enum { MANY = 12 };
	struct sbx_backend *be = open_local(err);
	struct sbx_box *box[MANY] = {NULL};
	char name[SBX_OWNER_NAME_MAX];
	struct sbx_box_spec spec;
	uid_t owner[MANY] = {0};

	for (size_t i = 0; i < MANY; i++) {
		struct stat st = {.st_uid = 0};
		char path[64];

		ok_call(sbx_owner_name(name, i, err));
		spec = spec_of(name);
		if (!ok_call(be->ops->create(be, &spec, &box[i], err)))
			break;
		(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid_of(box[i]));
		ok_int(stat(path, &st), 0);
		owner[i] = st.st_uid;
		for (size_t k = 0; k < i && geteuid() == 0; k++)
			ok(owner[k] != owner[i]);
	}
	for (size_t i = 0; i < MANY; i++) {
		if (box[i])
			ok_call(be->ops->destroy(be, box[i], err));
	}
	be->ops->close(be);
}

TEST(killed_it_leaves_nothing)
{
	struct sbx_backend *be = open_local(err);
	struct sbx_strv removed = {0};
	uint64_t deadline;
	pid_t child, pid = 0;
	int fds[2];

	ok_int(pipe2(fds, O_CLOEXEC), 0);
	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		char name[SBX_OWNER_NAME_MAX];
		struct sbx_box_spec spec;
		struct sbx_box *box;

		if (sbx_owner_name(name, 1, err) < 0)
			_exit(1);
		spec = spec_of(name);
		if (be->ops->create(be, &spec, &box, err) < 0)
			_exit(1);
		pid = pid_of(box);
		(void)!write(fds[1], &pid, sizeof(pid));
		(void)pause();
	}
	(void)close(fds[1]);
	ok_int(read(fds[0], &pid, sizeof(pid)), sizeof(pid));
	(void)close(fds[0]);
	ok(pid > 0 && !is_gone(pid));
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	for (deadline = sbx_deadline(2000000000); !is_gone(pid) && sbx_poll_ms(deadline) > 0;)
		(void)usleep(1000);
	ok(is_gone(pid));
	ok_call(be->ops->sweep(be, &removed, err));
	for (size_t i = 0; i < removed.n; i++)
		ok(strstr(removed.v[i], "cgroup /") == removed.v[i]);
	sbx_strv_release(&removed);
	ok_call(be->ops->sweep(be, &removed, err));
	ok_int(removed.n, 0);
	be->ops->close(be);
}

/* Each in a process of its own, since it changes what the process sees. */
static void in_fork(int (*part)(struct sbx_err *err), struct sbx_err *err)
{
	int status = 0;
	pid_t child;

	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		int rc;

		tap_failures = 0;
		rc = part(err);
		(void)fflush(stdout);
		_exit(rc);
	}
	(void)waitpid(child, &status, 0);
	ok_int(status, 0);
}

/* The first words end it, or are read and it goes on. */
static int woken(void *ctx, struct sbx_err *err)
{
	const int *fd = ctx;
	char word = 0;

	ok_int(read(*fd, &word, 1), 1);
	return word == 'e' ? sbx_fail(err, SBX_E_CANCELLED, "woken") : 0;
}

TEST(its_making_can_be_ended)
{
	struct sbx_backend *be = open_local(err);
	char name[SBX_OWNER_NAME_MAX];
	struct sbx_wake wake = {.woken = woken};
	struct sbx_box_spec spec;
	struct sbx_box *box = NULL;
	int fds[2], before;

	ok_int(pipe(fds), 0);
	wake.fd = fds[0];
	wake.ctx = &fds[0];
	ok_call(sbx_owner_name(name, 1, err));
	spec = spec_of(name);
	spec.wake = &wake;
	ok_int(write(fds[1], "g", 1), 1);
	ok_call(be->ops->create(be, &spec, &box, err));
	ok_call(be->ops->destroy(be, box, err));
	before = count_fds();
	ok_int(write(fds[1], "e", 1), 1);
	ok_fail(be->ops->create(be, &spec, &box, err), SBX_E_CANCELLED, "woken");
	ok_int(count_fds(), before);
	ok_int(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	be->ops->close(be);
	sbx_close(fds[0]);
	sbx_close(fds[1]);
}

static int with_masked_proc(struct sbx_err *err)
{
	struct sbx_backend *be = open_local(err);
	char name[SBX_OWNER_NAME_MAX];
	struct sbx_box_spec spec;
	struct sbx_box *box;

	ok_int(unshare(CLONE_NEWNS), 0);
	ok_int(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ok_int(mount("/dev/null", "/proc/version", NULL, MS_BIND, NULL), 0);
	ok_call(sbx_owner_name(name, 1, err));
	spec = spec_of(name);
	if (ok_call(be->ops->create(be, &spec, &box, err))) {
		int root = open_root(pid_of(box));

		ok_held(box, SBX_CTL_MOUNTS, SBX_HELD_DEGRADED);
		ok(strstr(box->receipt.control[SBX_CTL_MOUNTS].by, "/proc") != NULL);
		ok_int(faccessat(root, "proc/self/status", F_OK, 0), 0);
		sbx_close(root);
		ok_call(be->ops->destroy(be, box, err));
	}
	be->ops->close(be);
	return tap_failures > 0;
}

TEST(a_masked_proc_is_shown_as_it_is)
{
	if (needs_root())
		in_fork(with_masked_proc, err);
}

static int with_chroot(struct sbx_err *err)
{
	static const char *const folders[] = {"usr", "proc", "etc", "dev"};
	char top[] = "/tmp/root", path[64], name[SBX_OWNER_NAME_MAX];
	struct sbx_backend *be = open_local(err);
	struct sbx_box_spec spec;
	struct sbx_box *box;

	/* A folder in a tmpfs that only this process sees: chroot into the mount itself would be no such case. */
	ok_int(unshare(CLONE_NEWNS), 0);
	ok_int(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ok_int(mount("t", "/tmp", "tmpfs", 0, NULL), 0);
	ok_int(mkdir("/tmp/root", 0755), 0);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(folders); i++) {
		char from[16];

		(void)snprintf(path, sizeof(path), "%s/%s", top, folders[i]);
		(void)snprintf(from, sizeof(from), "/%s", folders[i]);
		ok_int(mkdir(path, 0755), 0);
		ok_int(mount(from, path, NULL, MS_BIND, NULL), 0);
	}
	ok(chroot(top) == 0 && chdir("/") == 0);
	ok_call(sbx_owner_name(name, 1, err));
	spec = spec_of(name);
	ok_fail(be->ops->create(be, &spec, &box, err), SBX_E_UNSUPPORTED, "chroot");
	be->ops->close(be);
	return tap_failures > 0;
}

TEST(a_chroot_gives_no_namespaces)
{
	if (needs_root())
		in_fork(with_chroot, err);
}

TEST(programs_are_found_as_they_will_be_inside)
{
	struct sbx_backend *be = open_local(err);
	struct sbx_strv dirs = {0};
	char top[] = "/tmp/test-local-XXXXXX", *path = NULL, *link;

	ok_call(be->ops->which(be, "sh", NULL, &path, err));
	ok_str(path, "/usr/bin/sh");
	free(path);
	ok_call(be->ops->which(be, "/usr/bin/env", NULL, &path, err));
	ok_str(path, "/usr/bin/env");
	free(path);
	ok_fail(be->ops->which(be, "no-such-program", NULL, &path, err), SBX_E_NOT_FOUND,
		"no-such-program");
	ok_fail(be->ops->which(be, "", NULL, &path, err), SBX_E_NOT_FOUND, "''");
	ok_fail(be->ops->which(be, "../bin/sh", NULL, &path, err), SBX_E_NOT_FOUND, "../bin/sh");
	ok_fail(be->ops->which(be, "/usr/bin", NULL, &path, err), SBX_E_NOT_FOUND, "/usr/bin");
	/* A folder that is not seen inside counts for nothing, whatever is in it. */
	ok(mkdtemp(top) != NULL);
	ok_call(sbx_strv_add(&dirs, top, err));
	link = sbx_xasprintf("%s/outside", top);
	ok_int(symlink("/usr/bin/env", link), 0);
	ok_fail(be->ops->which(be, "outside", &dirs, &path, err), SBX_E_NOT_FOUND, "outside");
	ok_call(be->ops->which(be, "env", &dirs, &path, err));
	ok_str(path, "/usr/bin/env");
	free(path);
	sbx_strv_release(&dirs);
	(void)unlink(link);
	(void)rmdir(top);
	free(link);
	be->ops->close(be);
}

TEST(backends)
{
	struct sbx_backend *be = NULL;

	ok(sbx_backend_find("local") == sbx_backends[0]);
	ok(sbx_backend_find("loca") == NULL);
	ok_fail(sbx_backend_find("local")->open("tcp://x", &be, err), SBX_E_USAGE, "endpoint");
}

TAP_MAIN(RUN(backends), RUN(root_has_two_ids_of_nobody), RUN(work_directories),
	 RUN(what_was_not_asked_for_is_not_in_the_receipt), RUN(many_at_once_share_nothing),
	 RUN(killed_it_leaves_nothing), RUN(its_making_can_be_ended),
	 RUN(a_masked_proc_is_shown_as_it_is), RUN(a_chroot_gives_no_namespaces),
	 RUN(programs_are_found_as_they_will_be_inside))
