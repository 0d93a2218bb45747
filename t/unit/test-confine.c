/*
 * Every test confines a child in a user, network, IPC, UTS and mount namespace of its own, and probes from inside.  Probes have
 * arguments that do nothing if they get through.  Root gives the child two ids; anybody else can only give it his own.
 */
#include "guest/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t/unit/tap.h"

enum { PROGRAM = 65532, GUEST_ID = 0x60000000, PROGRAM_ID = 0x60000001 };

#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS)

static bool write_map(pid_t pid, const char *name, const char *text)
{
	char path[64];
	bool done;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

static bool map_ids(pid_t pid, bool two)
{
	char uids[64], gids[64];

	if (geteuid() == 0) {
		(void)snprintf(uids, sizeof(uids), two ? "0 %d 1\n%d %d 1\n" : "0 %d 1\n", GUEST_ID,
			       PROGRAM, PROGRAM_ID);
		return write_map(pid, "uid_map", uids) && write_map(pid, "gid_map", uids);
	}
	(void)snprintf(uids, sizeof(uids), "0 %u 1\n", geteuid());
	(void)snprintf(gids, sizeof(gids), "0 %u 1\n", getegid());
	return write_map(pid, "setgroups", "deny") && write_map(pid, "uid_map", uids) &&
	       write_map(pid, "gid_map", gids);
}

/* In the child, once it has its ids; true when it may go on. */
static bool become_guest(int ready, int go)
{
	char byte = 0;

	return unshare(NAMESPACES) == 0 && write(ready, &byte, 1) == 1 && read(go, &byte, 1) == 1 &&
	       setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0;
}

/* The status of a child that ran body in its namespaces, 0 if no check failed there; 99 if there was no child to speak of. */
static int in_namespaces(bool two, void (*body)(bool two))
{
	int ready[2], go[2], status = 0;
	bool mapped = false;
	char byte = 0;
	pid_t pid;

	fflush(stdout);
	if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0)
		return 99;
	pid = fork();
	if (pid == 0) {
		tap_failures = 0;
		if (!become_guest(ready[1], go[0]))
			_exit(99);
		body(two);
		fflush(stdout);
		_exit(tap_failures > 0);
	}
	close(ready[1]);
	close(go[0]);
	if (pid > 0 && read(ready[0], &byte, 1) == 1)
		mapped = map_ids(pid, two) && write(go[1], &byte, 1) == 1;
	close(ready[0]);
	close(go[1]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !mapped)
		return 99;
	return status;
}

/* Much as the guest asks for it. */
static struct confine usual(bool two)
{
	return (struct confine){.uid = PROGRAM,
				.gid = PROGRAM,
				.one_id = !two,
				.seccomp = true,
				.landlock = true,
				.rlimit = {{RLIMIT_CORE, 0},
					   {RLIMIT_NOFILE, 256},
					   {RLIMIT_MSGQUEUE, 0},
					   {RLIMIT_NPROC, 100},
					   {RLIMIT_DATA, UINT64_MAX}},
				.n_rlimits = 5,
				.umask = 077,
				.oom_score_adj = 1000};
}

static void confine_self(const struct confine *c)
{
	struct confine_fail fail = {0};

	if (!ok_int(confine_apply(c, &fail), 0)) {
		printf("# %s: errno %d\n", fail.step, fail.sys);
		fflush(stdout);
		_exit(1);
	}
}

static int signal_of(void (*body)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		body();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static bool is_refusal(int sys)
{
	return sys == EPERM || sys == EACCES || sys == ENOSYS || sys == EAFNOSUPPORT;
}

static void ok_refused(const char *name, long result)
{
	int sys = errno;

	if (result == -1 && is_refusal(sys))
		return;
	tap_failures++;
	printf("# %s: %ld, errno %d\n", name, result, sys);
}

static bool can_have_two_ids(void)
{
	if (geteuid() == 0)
		return true;
	printf("# two ids need root: not tested\n");
	return false;
}

static void probe_kernel_surface(bool two)
{
	static const struct {
		const char *name;
		long nr, a, b, c, d;
	} calls[] = {
		{"bpf", SYS_bpf, 0, 1, 8, 0},
		{"perf_event_open", SYS_perf_event_open, 1, 0, -1, -1},
		{"userfaultfd", SYS_userfaultfd, -1, 0, 0, 0},
		{"io_uring_setup", SYS_io_uring_setup, 1, 1, 0, 0},
		{"keyctl", SYS_keyctl, 0, -3, 0, 0},
		{"add_key", SYS_add_key, 1, 1, 1, 1},
		{"request_key", SYS_request_key, 1, 1, 1, 0},
		{"ptrace", SYS_ptrace, -1, 0, 0, 0},
		{"process_vm_readv", SYS_process_vm_readv, 1, 1, 1, 1},
		{"pidfd_getfd", SYS_pidfd_getfd, -1, -1, 0, 0},
		{"kcmp", SYS_kcmp, -1, -1, 0, 0},
		{"process_madvise", SYS_process_madvise, -1, 1, 1, 0},
		{"init_module", SYS_init_module, 1, 1, 1, 0},
		{"finit_module", SYS_finit_module, -1, 1, 0, 0},
		{"delete_module", SYS_delete_module, 1, 0, 0, 0},
		{"kexec_load", SYS_kexec_load, 0, 0, 1, -1},
		{"clock_settime", SYS_clock_settime, 0, 1, 0, 0},
		{"settimeofday", SYS_settimeofday, 1, 1, 0, 0},
		{"adjtimex", SYS_adjtimex, 1, 0, 0, 0},
		{"reboot", SYS_reboot, 1, 1, 0, 0},
		{"swapon", SYS_swapon, 1, 0, 0, 0},
		{"acct", SYS_acct, 1, 0, 0, 0},
		{"quotactl", SYS_quotactl, -1, 1, 0, 1},
		{"syslog", SYS_syslog, 3, 1, 8, 0},
		{"vhangup", SYS_vhangup, 0, 0, 0, 0},
		{"lookup_dcookie", SYS_lookup_dcookie, 0, 1, 1, 0},
		{"mbind", SYS_mbind, 1, 0, 99, 0},
		{"set_mempolicy", SYS_set_mempolicy, 99, 0, 0, 0},
		{"move_pages", SYS_move_pages, -1, 0, 0, 0},
		{"migrate_pages", SYS_migrate_pages, -1, 0, 0, 0},
		{"memfd_secret", 447, -1, 0, 0, 0},
		{"vmsplice", SYS_vmsplice, -1, 1, 1, 0},
		{"fanotify_init", SYS_fanotify_init, -1, 0, 0, 0},
		{"mlockall", SYS_mlockall, 99, 0, 0, 0},
		{"mount", SYS_mount, 1, 1, 1, 0},
		{"umount2", SYS_umount2, 1, 0, 0, 0},
		{"fsopen", SYS_fsopen, 1, 0, 0, 0},
		{"open_tree", SYS_open_tree, -1, 1, 0, 0},
		{"move_mount", SYS_move_mount, -1, 1, -1, 1},
		{"mount_setattr", SYS_mount_setattr, -1, 1, 0, 1},
		{"pivot_root", SYS_pivot_root, 1, 1, 0, 0},
		{"chroot", SYS_chroot, 1, 0, 0, 0},
		{"name_to_handle_at", SYS_name_to_handle_at, -1, 1, 1, 1},
		{"open_by_handle_at", SYS_open_by_handle_at, -1, 1, 0, 0},
		{"unshare", SYS_unshare, CLONE_NEWUSER, 0, 0, 0},
		{"setns", SYS_setns, -1, 0, 0, 0},
		{"sethostname", SYS_sethostname, 1, 1, 0, 0},
		{"mq_open", SYS_mq_open, 1, 0, 0, 0},
		{"personality", SYS_personality, 0x0040000, 0, 0, 0},
		{"ioprio_set", SYS_ioprio_set, 1, 0, 1 << 13, 0},
		{"mknodat", SYS_mknodat, AT_FDCWD, 1, S_IFCHR | 0600, 0x103},
#ifdef SYS_modify_ldt
		{"modify_ldt", SYS_modify_ldt, 99, 0, 0, 0},
		{"iopl", SYS_iopl, 3, 0, 0, 0},
		{"ioperm", SYS_ioperm, 0x80, 1, 1, 0},
#endif
	};
	struct confine c = usual(two);

	confine_self(&c);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(calls); i++) {
		long result =
			syscall(calls[i].nr, calls[i].a, calls[i].b, calls[i].c, calls[i].d, 0L);

		ok_refused(calls[i].name, result);
	}
}

/* What programs need of the same surface. */
static void probe_controls(bool two)
{
	struct sock_filter allow = {.code = 0x06 /* return */, .k = SECCOMP_RET_ALLOW};
	struct sock_fprog prog = {.len = 1, .filter = &allow};
	struct confine c = usual(two);
	struct sockaddr_in any = {.sin_family = AF_INET};
	int pair[2], fd, status = -1;
	pid_t pid;

	confine_self(&c);
	ok(epoll_create1(0) >= 0);
	ok(eventfd(0, 0) >= 0);
	ok(timerfd_create(CLOCK_MONOTONIC, 0) >= 0);
	ok(inotify_init1(0) >= 0);
	ok(memfd_create("x", 0) >= 0);
	ok(syscall(SYS_pidfd_open, getpid(), 0) >= 0);
	ok_int(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	ok_int(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	ok_int(syscall(SYS_futex, &status, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0), 0);
	ok_int(setpriority(PRIO_PROCESS, 0, 5), 0);
	ok_int(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	ok(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	pid = fork();
	if (pid == 0)
		_exit(3);
	ok_int(kill(pid, 0), 0);
	ok_int(waitpid(pid, &status, 0), pid);
	ok_int(WEXITSTATUS(status), 3);
	ok_int(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog), 0);
}

static void probe_sockets(bool two)
{
	static const int families[] = {AF_VSOCK, AF_ALG,  AF_PACKET, AF_KEY,       AF_RDS,
				       AF_XDP,   AF_TIPC, AF_CAN,    AF_BLUETOOTH, AF_NFC};
	struct confine c = usual(two);

	confine_self(&c);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(families); i++) {
		ok_refused("socket", socket(families[i], SOCK_DGRAM, 0));
		ok_refused("socket", socket(families[i], SOCK_RAW, 0));
	}
	ok_refused("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	ok_refused("raw", socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6));
	ok_refused("netlink", socket(AF_NETLINK, SOCK_RAW, 15));
}

static void probe_identity(bool two)
{
	static const unsigned long namespaces[] = {CLONE_NEWUSER,   CLONE_NEWNS,  CLONE_NEWNET,
						   CLONE_NEWPID,    CLONE_NEWUTS, CLONE_NEWIPC,
						   CLONE_NEWCGROUP, 0x80};
	struct confine c = usual(two);

	confine_self(&c);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(namespaces); i++)
		ok_refused("unshare", unshare((int)namespaces[i]));
	for (size_t i = 0; i + 1 < SBX_ARRAY_SIZE(namespaces); i++) {
		ok_int(syscall(SYS_clone, namespaces[i] | SIGCHLD, 0, 0, 0, 0), -1);
		ok_int(errno, EPERM);
	}
	ok_int(syscall(SYS_clone3, 1, 64), -1);
	ok_int(errno, ENOSYS);
	if (two) {
		ok_refused("setuid", setuid(0));
		ok_refused("setgid", setgid(0));
		ok_refused("setresuid", setresuid(0, 0, 0));
	}
	ok_refused("setgroups", setgroups(1, &c.gid));
	ok_refused("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 0, 0, 0));
	ok_refused("securebits", prctl(PR_SET_SECUREBITS, 1));
	ok_int(umask(0), 077);
}

#ifdef __x86_64__
static void call_i386(void)
{
	long result = 20; /* getpid there */

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
}

static void call_x32(void)
{
	(void)syscall(0x40000000L | SYS_getpid);
}

static void probe_foreign(bool two)
{
	struct confine c = usual(two);
	int sig;

	confine_self(&c);
	sig = signal_of(call_i386);
	ok(sig == SIGSYS || sig == SIGSEGV); /* a kernel without i386 has no such interrupt */
	ok_int(signal_of(call_x32), SIGSYS);
}
#endif

static void probe_terminal(bool two)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	struct confine c = usual(two);
	struct winsize size;
	char name[64];
	int tty = -1;

	if (ok(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 &&
	       ptsname_r(master, name, sizeof(name)) == 0))
		tty = open(name, O_RDWR | O_NOCTTY);
	ok(tty >= 0);
	confine_self(&c);
	ok_int(ioctl(tty, TIOCGWINSZ, &size), 0);
	ok_refused("TIOCSTI", syscall(SYS_ioctl, tty, (unsigned long)TIOCSTI, "x"));
	ok_refused("TIOCSTI", syscall(SYS_ioctl, tty, TIOCSTI | 1UL << 32, "x"));
	ok_refused("TIOCLINUX", syscall(SYS_ioctl, tty, TIOCLINUX | 1UL << 63, "x"));
}

/* The filter between a program and a guest of the same id. */
static void probe_guest(bool two)
{
	struct confine c = usual(two);
	struct rlimit limit;
	cpu_set_t cpus;

	confine_self(&c);
	ok_refused("kill", kill(1, 0));
	ok_refused("tgkill", syscall(SYS_tgkill, 1, 1, 0));
	ok_refused("pidfd_open", syscall(SYS_pidfd_open, 1, 0));
	ok_refused("prlimit64", prlimit(1, RLIMIT_CORE, NULL, &limit));
	ok_refused("sched_setaffinity", syscall(SYS_sched_setaffinity, 1, 0, 0));
	ok_refused("setpriority", setpriority(PRIO_PROCESS, 1, 0));
	ok_refused("setpriority", setpriority(PRIO_USER, 0, 0));
	ok_refused("F_SETSIG", fcntl(0, F_SETSIG, SIGTERM));
	ok_int(prlimit(0, RLIMIT_CORE, NULL, &limit), 0);
	ok_int(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	ok_int(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

static void probe_facts(bool two)
{
	unsigned long was_readonly, remount = MS_REMOUNT | MS_BIND | MS_RDONLY;
	struct confine c = usual(two);
	struct sbx_facts facts = {0};
	struct statvfs root;
	uint32_t id = two ? PROGRAM : 0;

	ok_int(statvfs("/", &root), 0);
	was_readonly = root.f_flag & ST_RDONLY;
	confine_measure(&c, &facts);
	ok_int(facts.root_readonly, was_readonly != 0);
	ok_int(facts.seccomp_mode, 0);
	ok_int(facts.no_new_privs, 0);
	ok(facts.cap_eff != 0 && facts.cap_bnd != 0);

	/* Flags that came from outside are locked, and have to be said again. */
	remount |= (root.f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME));
	if (root.f_flag & ST_RELATIME)
		remount |= MS_RELATIME;
	ok(mount(NULL, "/", NULL, remount, NULL) == 0 || was_readonly);
	confine_self(&c);
	confine_measure(&c, &facts);
	ok_int(facts.root_readonly, 1);
	ok_int(facts.cap_inh | facts.cap_prm | facts.cap_eff | facts.cap_bnd | facts.cap_amb, 0);
	ok(facts.ruid == id && facts.euid == id && facts.suid == id);
	ok(facts.rgid == id && facts.egid == id && facts.sgid == id);
	ok(!two || facts.groups == 0);
	ok_int(facts.no_new_privs, 1);
	ok_int(facts.seccomp_mode, 2);
	ok_int(facts.umask, 077);
	ok_int(facts.interfaces, 0);
	ok_int(facts.nproc, 100);
	ok_int(facts.nofile, 256);
	ok_int(facts.core, 0);
	ok_int(facts.msgqueue, 0);
	ok_int(facts.data, UINT64_MAX);
}

/* Of root's, without anything installed: what the kernel says by another way. */
static void probe_interfaces(void)
{
	struct if_nameindex *list = if_nameindex();
	struct confine c = {.landlock = false};
	struct sbx_facts facts = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t up = 0;

	for (int i = 0; list && list[i].if_index; i++) {
		struct ifreq req = {0};

		(void)snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", list[i].if_name);
		if (ioctl(fd, SIOCGIFFLAGS, &req) == 0 && (req.ifr_flags & IFF_UP) &&
		    !(req.ifr_flags & IFF_LOOPBACK))
			up++;
	}
	if_freenameindex(list);
	close(fd);
	confine_measure(&c, &facts);
	ok_int(facts.interfaces, up);
	ok_int(facts.landlock_abi, 0);
}

static void probe_limits(bool two)
{
	struct confine c = usual(two);
	struct rlimit low = {100, 200}, now;

	ok_int(setrlimit(RLIMIT_NOFILE, &low), 0);
	confine_self(&c);
	ok_int(getrlimit(RLIMIT_NOFILE, &now), 0);
	ok_int(now.rlim_cur, 200); /* 256 was asked for */
	ok_int(now.rlim_max, 200);
}

static int create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void probe_landlock(bool two)
{
	struct confine c = usual(two);
	struct sbx_facts facts = {0};
	mode_t old = umask(0);
	int shut;

	ok_int(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0777"), 0);
	ok_int(mkdir("/tmp/open", 0777), 0);
	ok_int(mkdir("/tmp/shut", 0777), 0);
	ok_int(create("/tmp/one"), 0);
	ok_int(create("/tmp/two"), 0);
	ok(chmod("/tmp/one", 0666) == 0 && chmod("/tmp/two", 0666) == 0);
	umask(old);
	c.writable[0] = "/tmp/open";
	c.writable[1] = "/tmp/none"; /* is not there: nothing to leave writable */
	c.writable[2] = "/tmp/one";
	confine_self(&c);
	confine_measure(&c, &facts);
	shut = facts.landlock_abi ? -EACCES : 0;
	ok_int(create("/tmp/open/file"), 0);
	ok_int(create("/tmp/one"), 0);
	ok_int(create("/tmp/shut/file"), shut);
	ok_int(create("/tmp/two"), shut);
	ok_int(mkdir("/tmp/open/folder", 0700), 0);
	ok_int(rename("/tmp/open/file", "/tmp/open/folder/file"), 0);
	ok_int(mkfifo("/tmp/open/pipe", 0600), 0);
	ok_int(symlink("x", "/tmp/open/link"), 0);
	ok(open("/tmp/two", O_RDONLY | O_CLOEXEC) >= 0);
	ok_int(truncate("/tmp/open/folder/file", 3), 0);
}

/* Everything stays over exec, also for id 0, to which the kernel gives capabilities there. */
static SBX_NORETURN void probe_exec(bool two)
{
	static const char check[] =
		"test \"$(grep -cE '^(Cap[A-Za-z]*:.0000000000000000|NoNewPrivs:.1|"
		"Seccomp:.2|Seccomp_filters:.[1-9])$' /proc/self/status)\" = 8";
	struct confine c = usual(two);

	c.writable[0] = "/dev";
	confine_self(&c);
	execl("/bin/sh", "sh", "-c", check, (char *)NULL);
	_exit(98);
}

static void probe_no_such_id(bool two)
{
	struct confine c = usual(two);
	struct confine_fail fail = {0};

	c.uid = 1234;
	ok_int(confine_apply(&c, &fail), -1);
	ok_str(fail.step, "setresuid");
	ok_int(fail.sys, EINVAL);
}

static void both(void (*body)(bool two))
{
	ok_int(in_namespaces(false, body), 0);
	if (can_have_two_ids())
		ok_int(in_namespaces(true, body), 0);
}

TEST(kernel_surface)
{
	both(probe_kernel_surface);
}

TEST(controls)
{
	both(probe_controls);
}

TEST(sockets)
{
	both(probe_sockets);
}

TEST(identity)
{
	both(probe_identity);
}

TEST(foreign_abi)
{
#ifdef __x86_64__
	both(probe_foreign);
#endif
}

TEST(terminal)
{
	both(probe_terminal);
}

TEST(guest_of_the_same_id)
{
	ok_int(in_namespaces(false, probe_guest), 0);
}

TEST(facts)
{
	both(probe_facts);
}

TEST(interfaces)
{
	probe_interfaces();
}

TEST(limits_are_only_lowered)
{
	both(probe_limits);
}

TEST(landlock)
{
	both(probe_landlock);
}

TEST(exec)
{
	both(probe_exec);
}

TEST(failure)
{
	if (can_have_two_ids())
		ok_int(in_namespaces(true, probe_no_such_id), 0);
}

TAP_MAIN(RUN(kernel_surface), RUN(controls), RUN(sockets), RUN(identity), RUN(foreign_abi),
	 RUN(terminal), RUN(guest_of_the_same_id), RUN(facts), RUN(interfaces),
	 RUN(limits_are_only_lowered), RUN(landlock), RUN(exec), RUN(failure))
