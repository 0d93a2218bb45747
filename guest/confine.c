/*
 * The order of confine_apply and why: what needs a right comes before the right is given up, and what the filter refuses comes
 * before the filter.  The oom score and the limits need the guest's own id; Landlock needs no_new_privs; the bounding set needs
 * CAP_SETPCAP, which goes with the id; capset takes what an id change left (one id changes nothing, and inheritable ones stay);
 * the filter refuses nothing of this, but costs least when nothing runs under it.
 */
#include "guest/confine.h"
#include "guest/libc.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/attr.h"
#include "lib/guest/facts.h"

#include "seccomp-filter.h"

enum { CAPS = 64 };

/* What Landlock's header of Linux 5.19 lacks. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

#define WRITE_TO_FILES \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_IOCTL_DEV)
#define WRITE_TO_FOLDERS                                                  \
	(LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |     \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |     \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |   \
	 LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

#define READ_FILES (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE)
#define READ       (READ_FILES | LANDLOCK_ACCESS_FS_READ_DIR)

/* As Linux 6.12 has it.  An older kernel takes the longer struct as long as what it does not know is 0. */
struct ruleset {
	uint64_t fs, net, scoped;
};
enum { SCOPE_ABSTRACT_SOCKETS = 1 << 0, SCOPE_SIGNALS = 1 << 1 };

static int fail_at(struct confine_fail *fail, const char *step, int sys)
{
	*fail = (struct confine_fail){.step = step, .sys = sys};
	return -1;
}

/* A bonus, not a bound: in a sandbox without /proc, or whose /proc/self is not ours, it stays as it is. */
static void set_oom_score(int score)
{
	char text[16], *p = text + sizeof(text);
	unsigned int left = score < 0 ? 0U - (unsigned int)score : (unsigned int)score;
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	do
		*--p = (char)('0' + left % 10);
	while (left /= 10);
	if (score < 0)
		*--p = '-';
	(void)!write(fd, p, (size_t)(text + sizeof(text) - p));
	close(fd);
}

static int set_rlimits(const struct confine *c)
{
	for (unsigned int i = 0; i < c->n_rlimits; i++) {
		libc_resource resource = (libc_resource)c->rlimit[i].resource;
		rlim_t want = c->rlimit[i].value;
		struct rlimit now;

		if (c->rlimit[i].value == UINT64_MAX)
			continue;
		if (getrlimit(resource, &now) < 0)
			return -1;
		if (want > now.rlim_max)
			want = now.rlim_max;
		now = (struct rlimit){want, want};
		if (setrlimit(resource, &now) < 0)
			return -1;
	}
	return 0;
}

/* 0 where there is none worth having: the first one could not move a file from one folder to another. */
static int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi >= 2 ? (int)abi : 0;
}

static int allow(int ruleset, uint64_t access, const char *path)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access};
	struct stat st;
	int rc, sys;

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	/* What the program cannot get at it need not be allowed to use. */
	if (rule.parent_fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -1;
	if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= WRITE_TO_FILES | READ_FILES;
	rc = (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	sys = errno;
	close(rule.parent_fd);
	errno = sys;
	return rc;
}

static int fail_with(int sys)
{
	errno = sys;
	return -1;
}

/* Where mounts show no more than may be read, reading and executing are not handled. */
static int restrict_files(const struct confine *c)
{
	struct ruleset attr = {.fs = WRITE_TO_FILES | WRITE_TO_FOLDERS};
	int abi = landlock_abi(), ruleset, rc = 0, sys;

	if (!abi && c->bare)
		return fail_with(EOPNOTSUPP);
	if (!abi)
		return 0;
	if (c->bare)
		attr.fs |= READ;
	if (abi < 3)
		attr.fs &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi < 5)
		attr.fs &= ~LANDLOCK_ACCESS_FS_IOCTL_DEV;
	if (abi >= 6)
		attr.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return -1;
	/* By the program's rights: a place below its own folder is shut to the guest, which has none on files. */
	setfsgid(c->gid);
	setfsuid(c->uid);
	for (int i = 0; rc == 0 && i < CONFINE_PATHS && c->writable[i]; i++)
		rc = allow(ruleset, attr.fs, c->writable[i]);
	for (int i = 0; rc == 0 && c->bare && i < CONFINE_PATHS && c->readable[i]; i++)
		rc = allow(ruleset, READ, c->readable[i]);
	sys = errno;
	setfsuid(geteuid());
	setfsgid(getegid());
	errno = sys;
	if (rc == 0)
		rc = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
	sys = errno;
	close(ruleset);
	errno = sys;
	return rc;
}

static uint64_t bounding_set(void)
{
	uint64_t set = 0;

	for (unsigned long cap = 0; cap < CAPS; cap++) {
		int has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (has < 0)
			break; /* the kernel has no more */
		set |= (uint64_t)has << cap;
	}
	return set;
}

/*
 * Without CAP_SETPCAP the set stays as it is: whoever made the guest's had better empty it.  With no_new_privs it gives nobody
 * anything, and the facts tell what stayed.
 */
static void drop_bounding_set(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {0};
	uint64_t set;

	if (syscall(SYS_capget, &header, has) < 0 || !(has[0].effective & 1U << CAP_SETPCAP))
		return;
	set = bounding_set();
	for (unsigned long cap = 0; cap < CAPS; cap++) {
		if (set >> cap & 1)
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	}
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* capset does it as well */
	return (int)syscall(SYS_capset, &header, none);
}

static int set_ids(const struct confine *c, struct confine_fail *fail)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	if (setgroups(0, NULL) < 0 && !c->one_id)
		return fail_at(fail, "setgroups", errno);
	if (c->one_id)
		return 0;
	if (setresgid(c->gid, c->gid, c->gid) < 0)
		return fail_at(fail, "setresgid", errno);
	if (setresuid(c->uid, c->uid, c->uid) < 0)
		return fail_at(fail, "setresuid", errno);
	if (getresgid(&rgid, &egid, &sgid) < 0 || rgid != c->gid || egid != c->gid ||
	    sgid != c->gid)
		return fail_at(fail, "setresgid", EPERM);
	if (getresuid(&ruid, &euid, &suid) < 0 || ruid != c->uid || euid != c->uid ||
	    suid != c->uid)
		return fail_at(fail, "setresuid", EPERM);
	return 0;
}

/*
 * SPEC_ALLOW: kernels before 5.16 slow a filtered process down by up to a third, against side channels that nothing else here
 * keeps closed; newer ones ignore the flag.  FIXME: drop it, and both fallbacks (4.17 and 3.17), once these are the minimum.
 */
static int install_filter(const struct confine *c)
{
	static const struct {
		const struct sock_filter *filter;
		unsigned short len;
	} filters[2][2] = {
		{{seccomp_filter, SBX_ARRAY_SIZE(seccomp_filter)},
		 {seccomp_filter_one_id, SBX_ARRAY_SIZE(seccomp_filter_one_id)}},
		{{seccomp_filter_bare, SBX_ARRAY_SIZE(seccomp_filter_bare)},
		 {seccomp_filter_bare_one_id, SBX_ARRAY_SIZE(seccomp_filter_bare_one_id)}},
	};
	struct { /* struct sock_fprog, which does not say that the kernel only reads */
		unsigned short len;
		const struct sock_filter *filter;
	} prog = {filters[c->bare][c->one_id].len, filters[c->bare][c->one_id].filter};
	long rc;

	rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog);
	if (rc < 0 && errno == EINVAL)
		rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
	if (rc < 0 && errno == ENOSYS)
		rc = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
	return (int)rc;
}

int confine_apply(const struct confine *c, struct confine_fail *fail)
{
	set_oom_score(c->oom_score_adj);
	if (set_rlimits(c) < 0)
		return fail_at(fail, "setrlimit", errno);
	umask(c->umask);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail_at(fail, "no_new_privs", errno);
	if (c->landlock && restrict_files(c) < 0)
		return fail_at(fail, "landlock", errno);
	drop_bounding_set();
	if (set_ids(c, fail) < 0)
		return -1;
	if (drop_capabilities() < 0)
		return fail_at(fail, "capset", errno);
	/* With the guest it ends; where that is process 1 it does so anyway. */
	if (c->bare && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return fail_at(fail, "PDEATHSIG", errno);
	if (c->seccomp && install_filter(c) < 0)
		return fail_at(fail, "seccomp", errno);
	return 0;
}

/* Interfaces of one datagram; false when it was the last one. */
static bool count_up(const char *p, size_t n, uint32_t *count)
{
	struct nlmsghdr head;
	struct ifinfomsg info;

	for (; n >= sizeof(head);
	     p += NLMSG_ALIGN(head.nlmsg_len), n -= NLMSG_ALIGN(head.nlmsg_len)) {
		memcpy(&head, p, sizeof(head));
		if (head.nlmsg_type == NLMSG_DONE)
			return false;
		if (head.nlmsg_type != RTM_NEWLINK || head.nlmsg_len < NLMSG_LENGTH(sizeof(info)) ||
		    NLMSG_ALIGN(head.nlmsg_len) > n) {
			*count = UINT32_MAX;
			return false;
		}
		memcpy(&info, p + NLMSG_HDRLEN, sizeof(info));
		if ((info.ifi_flags & IFF_UP) && !(info.ifi_flags & IFF_LOOPBACK))
			(*count)++;
	}
	return true;
}

/* UINT32_MAX when it cannot be told.  By netlink, since numbers of interfaces have gaps, and a list by address has only some. */
static uint32_t count_interfaces(void)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} ask = {.head = {.nlmsg_len = sizeof(ask),
			  .nlmsg_type = RTM_GETLINK,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	uint32_t count = 0;
	char answer[16384];
	ssize_t n;

	if (fd < 0 || send(fd, &ask, sizeof(ask), 0) != (ssize_t)sizeof(ask))
		count = UINT32_MAX;
	else
		do {
			n = recv(fd, answer, sizeof(answer), 0);
			if (n <= 0)
				count = UINT32_MAX;
		} while (n > 0 && count_up(answer, (size_t)n, &count));
	if (fd >= 0)
		close(fd);
	return count;
}

static uint64_t soft_limit(libc_resource resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) < 0 ? UINT64_MAX : limit.rlim_cur;
}

static void measure_capabilities(struct sbx_facts *facts)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3];

	memset(d, 0xff, sizeof(d)); /* what cannot be read is not said to be gone */
	(void)syscall(SYS_capget, &header, d);
	facts->cap_eff = d[0].effective | (uint64_t)d[1].effective << 32;
	facts->cap_prm = d[0].permitted | (uint64_t)d[1].permitted << 32;
	facts->cap_inh = d[0].inheritable | (uint64_t)d[1].inheritable << 32;
	facts->cap_bnd = bounding_set();
	facts->cap_amb = 0;
	/* The kernel keeps them within both of these. */
	for (unsigned long cap = 0; cap < CAPS && (facts->cap_prm & facts->cap_inh) != 0; cap++) {
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1)
			facts->cap_amb |= 1ULL << cap;
	}
}

void confine_measure(const struct confine *c, struct sbx_facts *facts)
{
	struct statvfs root;

	measure_capabilities(facts);
	(void)getresuid(&facts->ruid, &facts->euid, &facts->suid);
	(void)getresgid(&facts->rgid, &facts->egid, &facts->sgid);
	facts->groups = (uint32_t)getgroups(0, NULL);
	facts->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
	facts->seccomp_mode =
		prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER ? SECCOMP_MODE_FILTER : 0;
	/* Nothing can be asked whether it is restricted, but confine_apply does not succeed without it where there is one. */
	facts->landlock_abi = c->landlock ? (uint32_t)landlock_abi() : 0;
	facts->umask = umask(0);
	(void)umask(facts->umask);
	facts->interfaces = count_interfaces();
	facts->root_readonly = statvfs("/", &root) == 0 && (root.f_flag & ST_RDONLY) != 0;
	facts->nproc = soft_limit(RLIMIT_NPROC);
	facts->nofile = soft_limit(RLIMIT_NOFILE);
	facts->data = soft_limit(RLIMIT_DATA);
	facts->core = soft_limit(RLIMIT_CORE);
	facts->msgqueue = soft_limit(RLIMIT_MSGQUEUE);
}
