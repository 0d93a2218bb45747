/*
 * Between clone and exec in a process that may have been forked from one with threads: no allocation, no locks, no stdio but
 * snprintf.  The order is explained in lib/backend/local.c.
 */
#include "lib/local/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/backend/spec.h"
#include "lib/base/fd.h"
#include "lib/local/idmap.h"

enum { CHANNEL = 3, ABOVE = 10 };

/*
 * The parent's end is this process's end, until the guest sees to that itself by the end of its channel.  The kernel forgets it
 * whenever ids change, so it is said again after that.  A parent that died before is noticed in hear().
 */
static int die_with_parent(struct sbx_err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return sbx_fail_sys(err, errno, "cannot tie the sandbox to its parent");
	return 0;
}

/* Waits for a word of the parent's. */
static int hear(int fd, enum sbx_child_word word, struct sbx_err *err)
{
	char c = 0;
	ssize_t n;

	do
		n = read(fd, &c, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1 || c != (char)word)
		return sbx_fail(err, SBX_E_LOST, "the parent of the sandbox went away");
	return 0;
}

static int bring_loopback_up(struct sbx_err *err)
{
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	SBX_CLEANUP(sbx_closep) int fd = -1;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* A kernel without IPv4 has no loopback to bring up. */
	if (fd < 0 && errno == EAFNOSUPPORT)
		return 0;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &up) < 0)
		return sbx_fail_sys(err, errno, "cannot bring the loopback interface up");
	return 0;
}

static int name_host(const char *name, struct sbx_err *err)
{
	if (sethostname(name, strlen(name)) < 0)
		return sbx_fail_sys(err, errno, "cannot set the hostname '%s'", name);
	return 0;
}

static int become_root_inside(const struct sbx_ids *ids, struct sbx_err *err)
{
	/* The caller's own id, mapped alone, is 0 already; its groups cannot be dropped (user_namespaces(7)). */
	if (ids->kind == SBX_IDS_SINGLE)
		return 0;
	/* Not libc's, which change all threads it remembers of the parent. */
	if (syscall(SYS_setgroups, 0, NULL) < 0)
		return sbx_fail_sys(err, errno, "cannot drop groups");
	if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0)
		return sbx_fail_sys(err, errno, "cannot take the sandbox's ids");
	return die_with_parent(err);
}

/*
 * The guest inherits what the parent ignored or blocked, which is none of its business.  Not by libc's sigaction: posix_spawn
 * (so make) leaves two signals of libc's own ignored, and sigaction refuses to touch these.
 */
static void reset_signals(void)
{
	static const unsigned long plain[8]; /* the kernel's struct sigaction, all zero: SIG_DFL */
	sigset_t none;

	for (int sig = 1; sig < _NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, plain, NULL, (_NSIG - 1) / 8);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* 0, 1 and 2 are the sandbox's /dev/null, 3 is the channel; everything else closes with exec, the status pipe among it. */
static int arrange_descriptors(struct sbx_child *child, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int null = -1;

	child->status_fd = fcntl(child->status_fd, F_DUPFD_CLOEXEC, ABOVE);
	if (child->status_fd < 0)
		_exit(1); /* nobody to tell */
	child->channel_fd = fcntl(child->channel_fd, F_DUPFD_CLOEXEC, ABOVE);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (child->channel_fd < 0 || null < 0)
		return sbx_fail_sys(err, errno, "cannot open '/dev/null' in the sandbox");
	if (null <= CHANNEL) {
		int high = fcntl(null, F_DUPFD_CLOEXEC, ABOVE);

		if (high < 0)
			return sbx_fail_sys(err, errno, "cannot arrange descriptors");
		null = high; /* the low one is overwritten below */
	}
	for (int fd = 0; fd < CHANNEL; fd++) {
		if (dup2(null, fd) < 0)
			return sbx_fail_sys(err, errno, "cannot arrange descriptors");
	}
	if (dup2(child->channel_fd, CHANNEL) < 0 ||
	    syscall(SYS_close_range, CHANNEL + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return sbx_fail_sys(err, errno, "cannot arrange descriptors");
	return 0;
}

static int set_capabilities(uint32_t keep, uint32_t hold, struct sbx_err *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {
		{.effective = hold, .permitted = hold, .inheritable = keep}};

	if (syscall(SYS_capset, &header, sets) < 0)
		return sbx_fail_sys(err, errno, "cannot give up capabilities");
	return 0;
}

/*
 * The guest keeps what it needs to end and to become the program; with one id it needs nothing.  They pass through exec as
 * inheritable ones of id 0, so that the bounding set can be empty, which is for ever.  SETPCAP is needed until that is.
 */
static int drop_capabilities(bool one_id, struct sbx_err *err)
{
	uint32_t keep = 1U << CAP_KILL | 1U << CAP_SETUID | 1U << CAP_SETGID;

	if (one_id)
		keep = 0;
	if (set_capabilities(keep, keep | 1U << CAP_SETPCAP, err) < 0)
		return -1;
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (errno != EINVAL) /* beyond the last one */
		return sbx_fail_sys(err, errno, "cannot give up capabilities");
	if (set_capabilities(keep, keep, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sbx_fail_sys(err, errno, "cannot set no_new_privs");
	return 0;
}

/* With the caller's ids: what of the host is to be seen must be readable to him, not to the ids inside. */
static int as_caller(struct sbx_child *child, struct sbx_err *err)
{
	(void)umask(0);
	(void)setsid(); /* the terminal's signals are for the parent */
	if (die_with_parent(err) < 0 || sbx_root_open(&child->root, err) < 0 ||
	    bring_loopback_up(err) < 0)
		return -1;
	return name_host(child->root.spec->hostname, err);
}

static int as_guest(struct sbx_child *child, struct sbx_err *err)
{
	if (unshare(CLONE_NEWCGROUP) < 0)
		return sbx_fail_sys(err, errno, "cannot make a cgroup namespace");
	if (arrange_descriptors(child, err) < 0)
		return -1;
	if (child->ids.kind == SBX_IDS_SINGLE && child->ids.in_uid != 0 &&
	    sbx_idmap_rename(&child->ids, err) < 0)
		return -1;
	(void)umask(077);
	reset_signals();
	return drop_capabilities(child->ids.one_id, err);
}

static void tell(const struct sbx_child *child, const struct sbx_err *err)
{
	struct sbx_child_status status = {
		.ready = err->code == SBX_E_OK,
		.proc_refused = child->root.proc_refused,
		.err = *err,
	};

	_Static_assert(sizeof(status) <= 4096, "one write to a pipe that nobody tears apart");
	(void)!write(child->status_fd, &status, sizeof(status));
}

/* In namespaces. */
static int enter(struct sbx_child *child, struct sbx_err *err)
{
	if (as_caller(child, err) < 0 || hear(child->channel_fd, SBX_CHILD_MAPPED, err) < 0 ||
	    become_root_inside(&child->ids, err) < 0 || sbx_root_build(&child->root, err) < 0 ||
	    hear(child->channel_fd, SBX_CHILD_GO, err) < 0)
		return -1;
	return as_guest(child, err);
}

/*
 * Without any.  Its parent's end must not be its own end, which would end nothing else: it hears of it on the channel, and ends the
 * program first.  Without root's rights there are none to give up.
 */
static int stay(struct sbx_child *child, int *guest_fd, struct sbx_err *err)
{
	(void)setsid();
	if (hear(child->channel_fd, SBX_CHILD_MAPPED, err) < 0 ||
	    hear(child->channel_fd, SBX_CHILD_GO, err) < 0)
		return -1;
	*guest_fd = fcntl(child->bare->guest_fd, F_DUPFD_CLOEXEC, ABOVE);
	if (*guest_fd < 0)
		return sbx_fail_sys(err, errno, "cannot arrange descriptors");
	if (arrange_descriptors(child, err) < 0)
		return -1;
	(void)umask(077);
	reset_signals();
	if (geteuid() == 0)
		return drop_capabilities(child->ids.one_id, err);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sbx_fail_sys(err, errno, "cannot set no_new_privs");
	return 0;
}

void sbx_child_run(struct sbx_child *child)
{
	char name[] = "llmsbx-guest", fd[] = "3", bare[] = "bare";
	char *const argv[] = {name, fd, fd, child->bare ? bare : NULL, NULL}, *const env[] = {NULL};
	struct sbx_err err = SBX_ERR_INIT;
	int guest_fd = -1;

	sbx_close(child->parent_fd);
	if ((child->bare ? stay(child, &guest_fd, &err) : enter(child, &err)) == 0) {
		tell(child, &err);
		if (child->bare)
			(void)syscall(SYS_execveat, guest_fd, "", argv, env, AT_EMPTY_PATH);
		else
			(void)execve(SBX_ROOT_GUEST, argv, env);
		(void)sbx_fail_sys(&err, errno, "cannot start the guest in the sandbox");
	}
	tell(child, &err);
	_exit(1);
}
