/* The readers on texts and folders of our own; the kernel's cgroups where this process may make some. */
#include "lib/local/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/backend/spec.h"
#include "lib/base/buf.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/event/control.h"
#include "lib/local/cgroup-impl.h"
#include "t/unit/tap.h"

static struct sbx_box_spec spec_of(const char *name)
{
	struct sbx_box_spec spec = {
		.name = name,
		.limits =
			{
				.memory_bytes = 64 << 20,
				.cpu_milli = 500,
				.pids = 32,
			},
	};

	return spec;
}

static struct sbx_mountinfo mount_of(const char *root, const char *point)
{
	struct sbx_mountinfo mount = {.root = sbx_str_of(root), .point = sbx_str_of(point)};

	return mount;
}

static void ok_path(const char *root, const char *point, const char *own, const char *want)
{
	struct sbx_mountinfo mount = mount_of(root, point);
	char *path = sbx_cg_path(&mount, sbx_str_of(own));

	ok_str(path, want);
	free(path);
}

TEST(paths_below_a_mount)
{
	ok_path("/", "/sys/fs/cgroup", "/", "/sys/fs/cgroup");
	ok_path("/", "/sys/fs/cgroup", "/user.slice/a.scope", "/sys/fs/cgroup/user.slice/a.scope");
	ok_path("/docker/1", "/sys/fs/cgroup/memory", "/docker/1", "/sys/fs/cgroup/memory");
	ok_path("/docker/1", "/sys/fs/cgroup/memory", "/docker/1/x", "/sys/fs/cgroup/memory/x");
	ok_path("/docker/1", "/sys/fs/cgroup/memory", "/docker/12", NULL);
	ok_path("/docker/1", "/sys/fs/cgroup/memory", "/", NULL);
	ok_path("/", "/sys/fs/cgroup", "/../other", NULL);
	ok_path("/", "/a\\040b", "/c", "/a b/c");
}

TEST(mountinfo)
{
	struct sbx_str rest =
		SBX_STR("25 30 0:23 / /sys/fs/cgroup rw,nosuid shared:9 master:1 - cgroup2 cgroup2 "
			"rw,nsdelegate\nnonsense\n27 1 254:0 /r / rw - ext4 /dev/vda rw\n");
	struct sbx_mountinfo mount;

	ok(sbx_mountinfo_next(&rest, &mount));
	ok(sbx_str_eq(mount.device, "0:23"));
	ok(sbx_str_eq(mount.point, "/sys/fs/cgroup"));
	ok(sbx_str_eq(mount.type, "cgroup2"));
	ok(sbx_list_has(mount.options, "nsdelegate"));
	ok(!sbx_list_has(mount.options, "delegate"));
	ok(sbx_mountinfo_next(&rest, &mount));
	ok(sbx_str_eq(mount.root, "/r"));
	ok(!sbx_mountinfo_next(&rest, &mount));
}

TEST(counters)
{
	uint64_t v = 0;

	ok(sbx_cg_value(SBX_STR("123\n"), NULL, &v));
	ok_int(v, 123);
	ok(sbx_cg_value(SBX_STR("low 1\nmax 2\noom 3\noom_kill 4\n"), "oom_kill", &v));
	ok_int(v, 4);
	ok(!sbx_cg_value(SBX_STR("low 1\n"), "oom", &v));
	ok(!sbx_cg_value(SBX_STR(""), NULL, &v));
	ok(!sbx_cg_value(SBX_STR("max\n"), NULL, &v));
}

TEST(limits_in_the_kernels_terms)
{
	struct sbx_box_spec spec = spec_of("x");

	ok_int(sbx_cg_pids(&spec), 33);
	ok_int(sbx_cg_quota(&spec), 50000);
	spec.limits.cpu_milli = 2250;
	ok_int(sbx_cg_quota(&spec), 225000);
	spec.limits.cpu_milli = 1;
	ok_int(sbx_cg_quota(&spec), 1000);
}

/* A folder that looks like a hierarchy. */
static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	(void)close(fd);
}

static void remove_file(const char *folder, const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	ok(unlink(path) == 0);
}

static void remove_hierarchy(const char *folder)
{
	static const char *const names[] = {"cgroup.procs", "cgroup.controllers",
					    "cgroup.subtree_control"};
	char path[256];

	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	ok(rmdir(folder) == 0);
}

static void find(const struct sbx_cg_version *version, const char *mounts, const char *own,
		 struct sbx_cgroups *set)
{
	*set = (struct sbx_cgroups){.version = version};
	version->find(set, sbx_str_of(mounts), sbx_str_of(own));
}

static void close_set(struct sbx_cgroups *set)
{
	for (size_t i = 0; i < set->n_trees; i++) {
		sbx_close(set->trees[i].fd);
		free(set->trees[i].path);
		free(set->trees[i].top);
	}
}

TEST(v1_takes_each_hierarchy_once)
{
	char top[] = "/tmp/test-cgroup-XXXXXX", mounts[512], memory[64], cpu[64];
	struct sbx_cgroups set;

	ok(mkdtemp(top) != NULL);
	(void)snprintf(memory, sizeof(memory), "%s/memory", top);
	(void)snprintf(cpu, sizeof(cpu), "%s/cpu", top);
	ok(mkdir(memory, 0755) == 0 && mkdir(cpu, 0755) == 0);
	(void)snprintf(mounts, sizeof(mounts),
		       "1 1 0:1 / %s rw - cgroup cgroup rw,memory\n"
		       "2 1 0:2 / %s rw - cgroup cgroup rw,cpu,cpuacct\n"
		       "3 1 0:2 / /elsewhere rw - cgroup cgroup rw,cpu,cpuacct\n"
		       "4 1 0:3 / %s/none rw - cgroup cgroup rw,pids\n"
		       "5 1 0:4 / %s rw - cgroup cgroup rw,freezer\n"
		       "6 1 0:5 / %s rw - tmpfs tmpfs rw\n",
		       memory, cpu, top, top, top);
	find(&sbx_cg_v1, mounts, "4:pids:/\n3:cpu,cpuacct:/\n2:memory:/\n0::/\n", &set);
	ok_int(set.n_trees, 2);
	ok_str(set.trees[0].path, memory);
	ok_int(set.trees[0].has, SBX_CG_MEMORY);
	ok_str(set.trees[1].path, cpu);
	ok_int(set.trees[1].has, SBX_CG_CPU | SBX_CG_CPUACCT);
	close_set(&set);
	ok(rmdir(memory) == 0 && rmdir(cpu) == 0 && rmdir(top) == 0);
}

TEST(v2_goes_beside_itself_where_it_cannot_go_below)
{
	char top[] = "/tmp/test-cgroup-XXXXXX", here[64], mounts[256];
	struct sbx_cgroups set;

	ok(mkdtemp(top) != NULL);
	(void)snprintf(here, sizeof(here), "%s/own.scope", top);
	ok(mkdir(here, 0755) == 0);
	(void)snprintf(mounts, sizeof(mounts), "1 1 0:1 / %s rw - cgroup2 cgroup2 rw\n", top);
	write_file(here, "cgroup.procs", "");
	write_file(here, "cgroup.controllers", "");
	write_file(here, "cgroup.subtree_control", "");
	/* Without controllers, as on hybrid machines, there is nothing in v2 for us. */
	write_file(top, "cgroup.procs", "");
	write_file(top, "cgroup.controllers", "hugetlb\n");
	write_file(top, "cgroup.subtree_control", "\n");
	find(&sbx_cg_v2, mounts, "0::/own.scope\n", &set);
	ok_int(set.n_trees, 0);
	ok(set.why != NULL);

	write_file(top, "cgroup.subtree_control", "memory pids\n");
	write_file(top, "cgroup.controllers", "memory pids\n");
	find(&sbx_cg_v2, mounts, "0::/own.scope\n", &set);
	ok_int(set.n_trees, 1);
	ok_str(set.trees[0].path, top);
	ok_int(set.trees[0].has, SBX_CG_MEMORY | SBX_CG_PIDS | SBX_CG_CPUACCT);
	close_set(&set);
	find(&sbx_cg_v2, mounts, "4:memory:/\n", &set);
	ok_int(set.n_trees, 0);
	remove_hierarchy(here);
	remove_hierarchy(top);
}

TEST(without_any_the_receipt_says_why)
{
	struct sbx_cgroups set = {.version = &sbx_cg_none, .why = "there are none"};
	struct sbx_box_spec spec = spec_of("llmsbx-x");
	struct sbx_receipt receipt = {0};
	struct sbx_cgroup_stats stats;
	struct sbx_cgroup *cg = NULL;
	unsigned int pin = 0;

	ok_call(sbx_cgroup_make(&set, &spec, &cg, err));
	ok_int(sbx_cgroup_clone_fd(cg), -1);
	sbx_cgroup_enter(cg, getpid());
	sbx_cgroup_receipt(cg, &spec, &receipt, &pin);
	ok_int(pin, 1);
	ok_int(receipt.control[SBX_CTL_MEMORY].held, SBX_HELD_DEGRADED);
	ok_int(receipt.control[SBX_CTL_PIDS].held, SBX_HELD_DEGRADED);
	ok_int(receipt.control[SBX_CTL_CPU].held, SBX_HELD_DEGRADED);
	ok_str(receipt.control[SBX_CTL_PIDS].by,
	       "RLIMIT_NPROC of the user namespace; no cgroup: there are none");
	sbx_cgroup_stats(cg, &stats);
	ok(!stats.has_cpu && !stats.usage.has_memory && !stats.has_oom_kills);

	/* More than the machine has is no limit to hold. */
	spec.limits.cpu_milli = 1000 * 100000;
	sbx_cgroup_receipt(cg, &spec, &receipt, &pin);
	ok_int(receipt.control[SBX_CTL_CPU].held, SBX_HELD_ENFORCED);
	ok_int(pin, 0);
	ok_call(sbx_cgroup_remove(cg, err));

	spec.limits.cpu_milli = spec.limits.memory_bytes = spec.limits.pids = SBX_UNLIMITED;
	receipt = (struct sbx_receipt){0};
	ok_call(sbx_cgroup_make(&set, &spec, &cg, err));
	sbx_cgroup_receipt(cg, &spec, &receipt, &pin);
	ok_int(receipt.control[SBX_CTL_MEMORY].held, SBX_HELD_ABSENT);
	ok_int(receipt.control[SBX_CTL_PIDS].held, SBX_HELD_ABSENT);
	ok_int(receipt.control[SBX_CTL_CPU].held, SBX_HELD_ABSENT);
	ok_call(sbx_cgroup_remove(cg, err));

	spec.name = "../x";
	ok_fail(sbx_cgroup_make(&set, &spec, &cg, err), SBX_E_USAGE, "name");
}

/* A limit on a folder without the file for swap, as where the kernel does not count it. */
TEST(swap_that_is_not_counted_is_told)
{
	char top[] = "/tmp/test-cgroup-XXXXXX";
	struct sbx_cgroups set = {
		.version = &sbx_cg_v2, .trees = {{.has = SBX_CG_MEMORY}}, .n_trees = 1};
	struct sbx_cgroup cg = {.set = &set, .fd = {-1, -1, -1, -1}};
	struct sbx_box_spec spec = spec_of("llmsbx-x");
	struct sbx_receipt receipt = {0};
	struct sysinfo info = {0};
	unsigned int pin = 0;

	ok(mkdtemp(top) != NULL);
	write_file(top, "memory.max", "max\n");
	cg.fd[0] = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sbx_cg_v2.limit(&cg, 0, &spec);
	ok_int(cg.holds, SBX_CG_MEMORY);
	ok_int(cg.refused, 0);
	/* A machine without swap lacks nothing. */
	ok(sysinfo(&info) == 0);
	ok_int(cg.swaps, info.totalswap > 0);

	cg.swaps = true;
	sbx_cgroup_receipt(&cg, &spec, &receipt, &pin);
	ok_int(receipt.control[SBX_CTL_MEMORY].held, SBX_HELD_DEGRADED);
	ok_str(receipt.control[SBX_CTL_MEMORY].by,
	       "cgroup v2 without the swap, which this kernel does not count (boot it with "
	       "swapaccount=1)");

	write_file(top, "memory.swap.max", "max\n");
	sbx_cg_v2.limit(&cg, 0, &spec);
	ok(!cg.swaps);
	receipt = (struct sbx_receipt){0};
	sbx_cgroup_receipt(&cg, &spec, &receipt, &pin);
	ok_int(receipt.control[SBX_CTL_MEMORY].held, SBX_HELD_ENFORCED);
	sbx_close(cg.fd[0]);
	remove_file(top, "memory.max");
	remove_file(top, "memory.swap.max");
	ok(rmdir(top) == 0);
}

/* The kernel's own, or NULL: then a line says that the rest was not tested. */
static struct sbx_cgroups *kernels(struct sbx_err *err)
{
	struct sbx_cgroups *set = NULL;

	if (!ok_call(sbx_cgroups_open(&set, err)))
		return NULL;
	if (set->n_trees > 0)
		return set;
	printf("# skipped: no cgroup can be made here (%s)\n", set->why);
	ok(geteuid() != 0 || !getenv("SBX_TEST_STRICT"));
	sbx_cgroups_close(set);
	return NULL;
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			(void)pause();
	}
	return pid;
}

static void end_sleeper(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void ok_file(const struct sbx_cgroup *cg, unsigned int controller, const char *name,
		    const char *want)
{
	char text[64] = "";

	for (size_t i = 0; i < cg->set->n_trees; i++) {
		int fd = (cg->set->trees[i].has & controller)
				 ? openat(cg->fd[i], name, O_RDONLY | O_CLOEXEC)
				 : -1;
		ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

		text[n > 0 ? n : 0] = '\0';
		if (fd >= 0)
			ok_str(text, want);
		sbx_close(fd);
	}
}

static bool is_in(pid_t pid, const char *name)
{
	struct sbx_buf text = SBX_BUF_INIT(65536);
	struct sbx_err ignored = SBX_ERR_INIT;
	char path[64];
	bool found;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	found = sbx_read_file(path, &text, &ignored) == 0 &&
		strstr(sbx_buf_str(&text), name) != NULL;
	sbx_buf_release(&text);
	return found;
}

static bool is_there(const struct sbx_cgroups *set, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < set->n_trees; i++)
		found |= faccessat(set->trees[i].fd, name, F_OK, 0) == 0;
	return found;
}

TEST(the_kernel_holds_the_limits)
{
	struct sbx_cgroups *set = kernels(err);
	char name[SBX_OWNER_NAME_MAX];
	struct sbx_receipt receipt = {0};
	struct sbx_cgroup_stats stats;
	struct sbx_box_spec spec;
	struct sbx_cgroup *cg = NULL;
	unsigned int pin = 0;
	pid_t pid;

	if (!set)
		return;
	ok_call(sbx_owner_name(name, 1, err));
	spec = spec_of(name);
	ok_call(sbx_cgroup_make(set, &spec, &cg, err));
	sbx_cgroup_receipt(cg, &spec, &receipt, &pin);
	if (cg->holds & SBX_CG_MEMORY)
		ok_file(cg, SBX_CG_MEMORY,
			set->version->clone_into ? "memory.max" : "memory.limit_in_bytes",
			"67108864\n");
	if (cg->holds & SBX_CG_PIDS) {
		ok_file(cg, SBX_CG_PIDS, "pids.max", "33\n");
		ok_int(receipt.control[SBX_CTL_PIDS].held, SBX_HELD_ENFORCED);
		ok_str(receipt.control[SBX_CTL_PIDS].by, sbx_cgroups_name(set));
	}
	pid = sleeper();
	sbx_cgroup_enter(cg, pid);
	ok(set->version->clone_into || is_in(pid, name));
	sbx_cgroup_stats(cg, &stats);
	ok(stats.usage.has_memory == !!(cg->holds & SBX_CG_MEMORY));
	ok(stats.has_oom_kills == !!(cg->holds & SBX_CG_MEMORY));
	ok_int(stats.oom_kills, 0);
	end_sleeper(pid);
	ok_call(sbx_cgroup_remove(cg, err));
	ok(!is_there(set, name));
	sbx_cgroups_close(set);
}

/* The name of a process that is not there, or of one that was started at the same time as this one. */
static void strange_name(char name[SBX_OWNER_NAME_MAX], bool my_start)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_owner me = {.pid = 0};

	(void)!sbx_owner_name(name, 2, &ignored);
	(void)sbx_owner_parse(name, &me);
	(void)snprintf(name, SBX_OWNER_NAME_MAX, "llmsbx-%s-%d-%llu-7", me.boot, 999999999,
		       (unsigned long long)(my_start ? me.start : me.start + 1));
}

TEST(what_the_dead_left_is_removed)
{
	struct sbx_cgroups *set = kernels(err);
	struct sbx_strv removed = {0};
	char name[SBX_OWNER_NAME_MAX];
	struct sbx_box_spec spec;
	struct sbx_cgroup *cg = NULL;
	pid_t pid;

	if (!set)
		return;
	strange_name(name, false);
	spec = spec_of(name);
	ok_call(sbx_cgroup_make(set, &spec, &cg, err));
	pid = sleeper();
	if (set->version->clone_into)
		(void)sbx_cg_write(cg, 0, "cgroup.procs", (uint64_t)pid, NULL);
	else
		sbx_cgroup_enter(cg, pid);
	ok_call(sbx_cgroups_sweep(set, true, &removed, err));
	ok(!is_there(set, name));
	ok_int(removed.n, set->n_trees);
	ok(removed.n > 0 && strstr(removed.v[0], name));
	ok_int(waitpid(pid, NULL, WNOHANG), pid);
	ok_call(sbx_cgroup_remove(cg, err)); /* gone already: fine */
	sbx_strv_release(&removed);
	sbx_cgroups_close(set);
}

TEST(what_was_left_in_another_cgroup_is_found_by_a_full_search)
{
	struct sbx_cgroups *set = kernels(err);
	char name[SBX_OWNER_NAME_MAX], other[32], path[128];
	struct sbx_strv removed = {0};

	if (!set)
		return;
	strange_name(name, false);
	(void)snprintf(other, sizeof(other), "test-cgroup-%d", (int)getpid());
	(void)snprintf(path, sizeof(path), "%s/%s", other, name);
	ok_int(mkdirat(set->trees[0].fd, other, 0755), 0);
	ok_int(mkdirat(set->trees[0].fd, path, 0755), 0);
	ok_call(sbx_cgroups_sweep(set, true, &removed, err));
	ok(is_there(set, path));
	ok_call(sbx_cgroups_sweep(set, false, &removed, err));
	ok(!is_there(set, path));
	ok(removed.n > 0 && strstr(removed.v[0], path));
	ok_int(unlinkat(set->trees[0].fd, other, AT_REMOVEDIR), 0);
	sbx_strv_release(&removed);
	sbx_cgroups_close(set);
}

TEST(what_another_pid_namespace_holds_is_left)
{
	struct sbx_cgroups *set = kernels(err);
	char name[SBX_OWNER_NAME_MAX];
	struct sbx_box_spec spec;
	struct sbx_cgroup *cg = NULL;
	pid_t pid;

	if (!set)
		return;
	strange_name(name, true);
	spec = spec_of(name);
	ok_call(sbx_cgroup_make(set, &spec, &cg, err));
	pid = sleeper();
	if (set->version->clone_into)
		(void)sbx_cg_write(cg, 0, "cgroup.procs", (uint64_t)pid, NULL);
	else
		sbx_cgroup_enter(cg, pid);
	ok_call(sbx_cgroups_sweep(set, false, NULL, err));
	ok(is_there(set, name));
	ok_int(waitpid(pid, NULL, WNOHANG), 0);
	end_sleeper(pid);
	ok_call(sbx_cgroup_remove(cg, err));
	sbx_cgroups_close(set);
}

TEST(names)
{
	struct sbx_owner owner = {.pid = 0};
	char name[SBX_OWNER_NAME_MAX];

	ok_call(sbx_owner_name(name, 12, err));
	ok(sbx_owner_parse(name, &owner));
	ok_int(owner.pid, getpid());
	ok(sbx_owner_alive(&owner));
	owner.start++;
	ok(!sbx_owner_alive(&owner));
	ok(sbx_owner_parse("llmsbx-0123456789ab-1-5-0", &owner));
	ok_int(owner.start, 5);
	ok(!sbx_owner_alive(&owner)); /* another boot */
	ok(!sbx_owner_parse("llmsbx-0123456789ab-1-5", &owner));
	ok(!sbx_owner_parse("llmsbx-0123456789ab-1-5-0-1", &owner));
	ok(!sbx_owner_parse("llmsbx-0123456789ab-0-5-0", &owner));
	ok(!sbx_owner_parse("llmsbx-0123456789ab--5-0", &owner));
	ok(!sbx_owner_parse("llmsbx-012-1-5-0", &owner));
	ok(!sbx_owner_parse("docker", &owner));
}

TAP_MAIN(RUN(paths_below_a_mount), RUN(mountinfo), RUN(counters), RUN(limits_in_the_kernels_terms),
	 RUN(v1_takes_each_hierarchy_once), RUN(v2_goes_beside_itself_where_it_cannot_go_below),
	 RUN(without_any_the_receipt_says_why), RUN(swap_that_is_not_counted_is_told),
	 RUN(the_kernel_holds_the_limits), RUN(what_the_dead_left_is_removed),
	 RUN(what_was_left_in_another_cgroup_is_found_by_a_full_search),
	 RUN(what_another_pid_namespace_holds_is_left), RUN(names))
