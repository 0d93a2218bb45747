#include "lib/local/ns.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/local/mountinfo.h"

/* A file of one number, such as a sysctl; a file that is not there holds fallback. */
static uint64_t number_in(const char *path, uint64_t fallback)
{
	struct sbx_buf text = SBX_BUF_INIT(64);
	struct sbx_err ignored = SBX_ERR_INIT;
	uint64_t v;

	if (sbx_read_file(path, &text, &ignored) < 0 ||
	    sbx_str_u64(sbx_str_trim(sbx_str_of(sbx_buf_str(&text))), UINT64_MAX, path, &v,
			&ignored) < 0)
		v = fallback;
	sbx_buf_release(&text);
	return v;
}

/* The root of a chroot is no mount, as a rule: mountinfo, which shows what is seen from the root, has no line for it then. */
static bool in_chroot(void)
{
	struct sbx_buf text = SBX_BUF_INIT(16 << 20);
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_mountinfo info;
	struct sbx_str rest;
	bool found = true;

	if (sbx_read_file("/proc/self/mountinfo", &text, &ignored) == 0) {
		rest = sbx_str_of(sbx_buf_str(&text));
		found = false;
		while (!found && sbx_mountinfo_next(&rest, &info))
			found = sbx_str_eq(info.point, "/");
	}
	sbx_buf_release(&text);
	return !found;
}

static const char *why_not(int num)
{
	switch (num) {
	case ENOSYS:
		return "clone3 is refused, as some containers do (run the container with a newer "
		       "or no seccomp profile)";
	case ENOSPC:
	case EUSERS:
		return "their number is used up (user.max_user_namespaces and its like)";
	case EPERM:
		break;
	default:
		return NULL;
	}
	if (in_chroot())
		return "this is a chroot, in which the kernel gives none";
	if (number_in("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
		return "they are for root only (sysctl kernel.unprivileged_userns_clone is 0)";
	return "they are refused (a container's seccomp profile, a security module, or a chroot)";
}

static const char *const way_out = "--accept-missing=namespaces runs without them, in less of a "
				   "sandbox: llmsbx-security(7)";

/* 0 in the child; -1 with errno. */
static long clone_with(uint64_t flags, int cgroup_fd, int *ret_pidfd)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (__u64)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (__u64)cgroup_fd;
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid > 0)
		*ret_pidfd = pidfd;
	return pid;
}

int sbx_ns_refused(int num, struct sbx_err *err)
{
	const char *why = why_not(num);

	if (!why)
		return sbx_fail_sys(err, num, "cannot make namespaces");
	(void)sbx_fail(err, SBX_E_UNSUPPORTED, "cannot make namespaces: %s; %s", why, way_out);
	err->sys = num;
	return -1;
}

pid_t sbx_ns_clone(int cgroup_fd, int *ret_pidfd, struct sbx_err *err)
{
	long pid;

	pid = clone_with(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
				 CLONE_NEWNET,
			 cgroup_fd, ret_pidfd);
	return pid < 0 ? sbx_ns_refused(errno, err) : (pid_t)pid;
}

pid_t sbx_ns_clone_none(int cgroup_fd, int *ret_pidfd, struct sbx_err *err)
{
	long pid = clone_with(0, cgroup_fd, ret_pidfd);

	/* A container that knows no clone3. */
	if (pid < 0 && errno == ENOSYS && cgroup_fd < 0) {
		pid = fork();
		if (pid > 0)
			*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (pid > 0 && *ret_pidfd < 0) {
			int num = errno;

			(void)kill((pid_t)pid, SIGKILL);
			(void)waitpid((pid_t)pid, NULL, 0);
			return sbx_fail_sys(err, num, "cannot hold the sandbox's process");
		}
	}
	return pid < 0 ? sbx_fail_sys(err, errno, "cannot make a process") : (pid_t)pid;
}

void sbx_ns_explain(struct sbx_err *err)
{
	char said[SBX_ERR_MSG_MAX];

	if ((err->sys != EPERM && err->sys != EACCES) || geteuid() == 0 ||
	    number_in("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 0)
		return;
	memcpy(said, err->msg, sizeof(said));
	sbx_err_clear(err);
	(void)sbx_fail(err, SBX_E_UNSUPPORTED,
		       "AppArmor lets only root, or a program that a profile names, use namespaces "
		       "(sysctl kernel.apparmor_restrict_unprivileged_userns is 1): %s; %s",
		       said, way_out);
}

/* Our own words, from between these two. */
bool sbx_ns_forbidden(const struct sbx_err *err, char why[SBX_NS_WHY_MAX])
{
	static const char before[] = "cannot make namespaces: ";
	const char *from = err->msg, *end = strstr(err->msg, way_out);

	if (err->code != SBX_E_UNSUPPORTED || !end)
		return false;
	if (strncmp(from, before, strlen(before)) == 0)
		from += strlen(before);
	(void)snprintf(why, SBX_NS_WHY_MAX, "%.*s", (int)(end - from) - 2, from);
	return true;
}

int sbx_ns_check_kernel(struct sbx_err *err)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_str rest, part;
	uint64_t major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) < 0)
		return sbx_fail_sys(err, errno, "cannot ask for the kernel's version");
	rest = sbx_str_of(name.release);
	if (sbx_str_split(&rest, '.', &part) &&
	    sbx_str_u64(part, UINT32_MAX, "version", &major, &ignored) == 0) {
		part = (struct sbx_str){.p = rest.p, .n = 0};
		while (part.n < rest.n && rest.p[part.n] >= '0' && rest.p[part.n] <= '9')
			part.n++;
		if (sbx_str_u64(part, UINT32_MAX, "version", &minor, &ignored) < 0)
			major = 0;
	}
	/* A version that cannot be read is let through: the calls themselves will tell. */
	if (major == 0 || major > 5 || (major == 5 && minor >= 14))
		return 0;
	return sbx_fail(err, SBX_E_UNSUPPORTED,
			"this kernel is Linux %s, and the backend 'local' needs 5.14 or newer",
			name.release);
}
