/* ID: identity and privilege. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.h"

static void control(struct attack *a)
{
	must_work(a, getpid() > 1, "getpid");
	must_work(a, setuid(getuid()) == 0, "setuid to oneself");
	must_work(a, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0, "prctl");
}

static void id01(struct attack *a)
{
	uid_t r, e, s;
	gid_t rg, eg, sg, groups[64];
	int n = getgroups(LENGTH(groups), groups);

	if (getresuid(&r, &e, &s) < 0 || getresgid(&rg, &eg, &sg) < 0) {
		say(a, UNKNOWN, "%s", error_name(errno));
		return;
	}
	must_hold(a, r == a->plant->uid && e == r && s == r && rg == eg && sg == rg && rg != 0,
		  "uid %u %u %u, gid %u %u %u", r, e, s, rg, eg, sg);
	for (int i = 0; i < n; i++)
		must_hold(a, groups[i] == rg, "no further groups (%u)", groups[i]);
}

static void id02(struct attack *a)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};

	for (size_t i = 0; i < LENGTH(sets); i++) {
		char text[64];
		uint64_t set;

		if (!status_field("/proc/self/status", sets[i], text, sizeof(text)) ||
		    !parse_number(text, 16, &set))
			say(a, UNKNOWN, "%s cannot be read", sets[i]);
		else
			must_hold(a, set == 0, "%s is %s", sets[i], set ? text : "0");
	}
}

/* ---- the same in every thread and after exec */

static void look_at_status(struct attack *a, const char *path, const char *where)
{
	char nnp[16], seccomp[16];

	if (!status_field(path, "NoNewPrivs", nnp, sizeof(nnp)) ||
	    !status_field(path, "Seccomp", seccomp, sizeof(seccomp))) {
		say(a, UNKNOWN, "%s: the status cannot be read", where);
		return;
	}
	must_hold(a, strcmp(nnp, "1") == 0 && strcmp(seccomp, "2") == 0,
		  "%s: NoNewPrivs %s, Seccomp %s", where, nnp, seccomp);
}

static void *in_thread(void *arg)
{
	look_at_status(arg, "/proc/thread-self/status", "thread");
	return NULL;
}

static void hang_after_exec(void *arg)
{
	const int *fd = arg;

	(void)dup2(fd[0], STDIN_FILENO);
	execl("/proc/self/exe", "llmsbx-attack", "x", "core",
	      NULL); /* reads stdin until it is closed */
}

static void after_exec(struct attack *a)
{
	int fd[2];
	char path[64];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		say(a, UNKNOWN, "no process could be made");
		return;
	}
	if (pid == 0) {
		hang_after_exec(fd);
		_exit(127);
	}
	sleep_ms(30);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	look_at_status(a, path, "after exec");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void id03(struct attack *a)
{
	pthread_t thread;

	look_at_status(a, "/proc/self/status", "process");
	if (pthread_create(&thread, NULL, in_thread, a) != 0)
		say(a, UNKNOWN, "no thread could be made");
	else
		(void)pthread_join(thread, NULL);
	after_exec(a);
}

/* Numbers INSIDE HOST COUNT, a line each.  Whether two runs share an id the host compares. */
static void id04(struct attack *a)
{
	char text[1024], *rest = text;
	uint64_t inside, host, count;
	unsigned int n = 0;

	if (read_text("/proc/self/uid_map", text, sizeof(text)) < 0) {
		must_fail(a, "uid_map", -1);
		return;
	}
	while (take_number(&rest, &inside) && take_number(&rest, &host) &&
	       take_number(&rest, &count)) {
		must_hold(a, host >= 100000 && count <= 65536, "%llu host ids from %llu on",
			  (unsigned long long)count, (unsigned long long)host);
		n++;
	}
	if (n == 0)
		say(a, UNKNOWN, "the map cannot be read");
}

/* Another id than ours: with one id, ours is what there is, and 0 may be it. */
static void id05(struct attack *a)
{
	static const int refuses[] = {EINVAL, 0}; /* an id that the namespace does not have */
	gid_t zero = 0;
	uid_t other = getuid() == 0 ? 1 : 0;

	must_fail_or(a, "setuid", setuid(other), refuses);
	must_fail_or(a, "setgid", setgid((gid_t)other), refuses);
	must_fail_or(a, "setresuid", setresuid(other, other, other), refuses);
	must_fail_or(a, "setresgid", setresgid((gid_t)other, (gid_t)other, (gid_t)other), refuses);
	must_fail_or(a, "setgroups", setgroups(1, &zero), refuses);
}

static long new_user_by_clone(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long new_user_by_clone3(void)
{
	struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid;
}

static void id06(struct attack *a)
{
	must_fail(a, "clone(NEWUSER)", new_user_by_clone());
	must_fail(a, "clone3(NEWUSER)", new_user_by_clone3());
	must_fail(a, "unshare(NEWUSER)", unshare(CLONE_NEWUSER));
}

struct sharing {
	struct attack *attack;
	int flag;
};

static void unshare_one(void *arg)
{
	const struct sharing *s = arg;

	must_fail(s->attack, "unshare", unshare(s->flag));
}

static void id07(struct attack *a)
{
	static const int flags[] = {CLONE_NEWNS,  CLONE_NEWNET,    CLONE_NEWPID, CLONE_NEWUTS,
				    CLONE_NEWIPC, CLONE_NEWCGROUP, 0x80 /* CLONE_NEWTIME */};

	for (size_t i = 0; i < LENGTH(flags); i++) {
		struct sharing s = {a, flags[i]};

		if (in_child(unshare_one, &s, 2000) != 0)
			say(a, UNKNOWN, "a child did not end well");
	}
}

static void id08(struct attack *a)
{
	static const char *const spaces[] = {"/proc/1/ns/mnt", "/proc/1/ns/user",
					     "/proc/self/ns/user"};

	must_fail(a, "setns(-1)", syscall(SYS_setns, -1, 0));
	for (size_t i = 0; i < LENGTH(spaces); i++) {
		int fd = open(spaces[i], O_RDONLY | O_CLOEXEC);

		must_fail(a, spaces[i], fd < 0 ? -1 : syscall(SYS_setns, fd, 0));
		if (fd >= 0)
			close(fd);
	}
}

static void id09(struct attack *a)
{
	char name[256] = "";

	must_fail(a, "sethostname", sethostname("x", 1));
	must_fail(a, "setdomainname", setdomainname("x", 1));
	must_hold(a, gethostname(name, sizeof(name)) == 0 && strcmp(name, "sandbox") == 0,
		  "the name is %s", name);
}

static void id10(struct attack *a)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct all[2] = {{~0U, ~0U, ~0U}, {~0U, ~0U, ~0U}};
	struct __user_cap_data_struct inherit[2] = {{0, 0, 1}, {0, 0, 0}};

	must_fail(a, "raise ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0));
	must_fail(a, "securebits", prctl(PR_SET_SECUREBITS, 0x2f, 0, 0, 0));
	must_fail(a, "capset all", syscall(SYS_capset, &header, all));
	must_fail(a, "capset inheritable", syscall(SYS_capset, &header, inherit));
	must_fail(a, "drop a bounding capability", prctl(PR_CAPBSET_DROP, CAP_CHOWN, 0, 0, 0));
}

static void id11(struct attack *a)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	must_hold(a, mask == 077, "umask %03o", (unsigned int)mask);
}

static void id12(struct attack *a)
{
	must_fail(a, "ADDR_NO_RANDOMIZE", personality(ADDR_NO_RANDOMIZE));
	must_fail(a, "READ_IMPLIES_EXEC", personality(READ_IMPLIES_EXEC));
	must_fail(a, "PER_LINUX32", personality(PER_LINUX32));
}

const struct probe id_probes[] = {
	{"ID00", control}, {"ID01", id01},
	{"ID02", id02},    {"ID03", id03},
	{"ID04", id04},    {"ID05", id05},
	{"ID06", id06},    {"ID07", id07},
	{"ID08", id08},    {"ID09", id09},
	{"ID10", id10},    {"ID11", id11},
	{"ID12", id12},    {0},
};
