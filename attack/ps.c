/* PS: /proc, /sys, /dev. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attack/attack.h"

static void control(struct attack *a)
{
	char text[64];

	must_work(a, status_field("/proc/self/status", "Pid", text, sizeof(text)),
		  "read /proc/self/status");
	must_work(a, read_text("/dev/urandom", text, 17) == 16, "read /dev/urandom");
	must_work(a, write_text("/dev/null", "x", 1, 0) == 0, "write /dev/null");
}

/* Nothing can be read of it: not there, refused, or empty. */
static void must_be_empty(struct attack *a, const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n;
	struct stat st;

	if (fd < 0) {
		must_fail(a, path, -1);
		return;
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		DIR *dir = fdopendir(fd);
		unsigned int entries = 0;

		while (dir && readdir(dir))
			entries++;
		must_hold(a, dir && entries <= 2, "%s is empty", path);
		if (dir)
			(void)closedir(dir);
		return;
	}
	n = read(fd, &byte, 1);
	if (n > 0)
		say(a, REACHED, "%s can be read", path);
	else
		say(a, n == 0 ? ABSENT : REFUSED, "%s", n == 0 ? "empty" : error_name(errno));
	close(fd);
}

static bool is_number(const char *name)
{
	return name[strspn(name, "0123456789")] == '\0';
}

/* What else there is must show nothing: that is PS03's to find. */
static void ps01(struct attack *a)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	unsigned int others = 0;
	char first[64] = "";

	if (!dir) {
		must_fail(a, "/proc", -1);
		return;
	}
	while ((d = readdir(dir))) {
		const char *n = d->d_name;

		if (n[0] == '.' || is_number(n) || strcmp(n, "self") == 0 ||
		    strcmp(n, "thread-self") == 0)
			continue;
		if (others++ == 0)
			(void)snprintf(first, sizeof(first), "%.60s", n);
	}
	(void)closedir(dir);
	must_hold(a, others == 0, "only processes in /proc%s%s", others ? ": " : "", first);
}

static void ps02(struct attack *a)
{
	static const char *const files[] = {
		"/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/modprobe",
		"/proc/sys/kernel/hostname",
		"/proc/sys/fs/binfmt_misc/register",
		"/proc/sysrq-trigger",
		"/proc/sys/net/ipv4/ip_forward",
		"/proc/sys/vm/drop_caches",
		"/proc/self/sys/kernel/core_pattern",
		"/sys/kernel/uevent_helper",
		"/sys/power/state",
		"/sys/kernel/mm/transparent_hugepage/enabled",
	};

	for (size_t i = 0; i < LENGTH(files); i++)
		must_not_open(a, files[i], O_WRONLY);
}

static void ps03(struct attack *a)
{
	static const char *const names[] = {
		"kcore",      "kmsg",        "kallsyms", "keys",        "key-users",
		"timer_list", "sched_debug", "slabinfo", "vmallocinfo", "pagetypeinfo",
		"kpagecount", "kpageflags",  "modules",  "config.gz",   "latency_stats",
		"scsi",       "acpi",        "bus",      "fs",          "irq",
		"driver",     "iomem",       "ioports",  "asound",
	};

	for (size_t i = 0; i < LENGTH(names); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%s", names[i]);
		must_be_empty(a, path);
	}
}

static void ps04(struct attack *a)
{
	must_be_empty(a, "/proc/interrupts");
	must_be_empty(a, "/proc/softirqs");
	must_be_empty(a, "/sys/devices/system/cpu/cpu0/thermal_throttle");
	must_be_empty(a, "/sys/devices/virtual/powercap");
}

static void see_interface(struct walk *w, const char *path, unsigned char type)
{
	(void)type;
	if (!strstr(path, "/lo"))
		say(w->attack, REACHED, "%s is seen", path);
}

static void ps05(struct attack *a)
{
	static const char *const dirs[] = {"/sys/firmware",       "/sys/kernel/debug",
					   "/sys/kernel/tracing", "/sys/kernel/security",
					   "/sys/fs/bpf",         "/sys/block"};
	struct walk w = {.see = see_interface, .attack = a, .left = 1000};

	must_not_open(a, "/sys/llmsbx-attack", O_WRONLY | O_CREAT);
	for (size_t i = 0; i < LENGTH(dirs); i++)
		must_be_empty(a, dirs[i]);
	walk_tree(&w, "/sys/class/net", 0);
}

static void ps06(struct attack *a)
{
	static const char *const files[] = {
		"/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/memory.max",
		"/sys/fs/cgroup/release_agent",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes",
		"/sys/fs/cgroup/memory/release_agent",
		"/sys/fs/cgroup/rdma/release_agent",
	};

	for (size_t i = 0; i < LENGTH(files); i++)
		must_not_open(a, files[i], O_WRONLY);
	(void)mkdir("cg", 0700);
	must_fail(a, "mount cgroup2", mount("none", "cg", "cgroup2", 0, NULL));
	must_fail(a, "mount cgroup", mount("none", "cg", "cgroup", 0, "memory"));
	(void)rmdir("cg");
}

/* Each line ID:NAMES:PATH must have the path /: what is above belongs to the host. */
static void ps07(struct attack *a)
{
	char text[4096], *rest = text, *line;

	if (read_text("/proc/self/cgroup", text, sizeof(text)) < 0) {
		must_fail(a, "/proc/self/cgroup", -1);
		return;
	}
	while ((line = strsep(&rest, "\n")) && *line) {
		const char *path = strrchr(line, ':');

		must_hold(a, path && strcmp(path, ":/") == 0, "no path of the host (%s)",
			  path ? path + 1 : line);
	}
}

static void ps08(struct attack *a)
{
	static const char *const known[] = {"null",  "zero",   "full",  "random", "urandom",
					    "tty",   "ptmx",   "pts",   "shm",    "fd",
					    "stdin", "stdout", "stderr"};
	static const char *const devices[] = {
		"/dev/mem",          "/dev/kmem",        "/dev/port",     "/dev/kmsg",
		"/dev/kvm",          "/dev/fuse",        "/dev/net/tun",  "/dev/loop0",
		"/dev/loop-control", "/dev/sda",         "/dev/vda",      "/dev/console",
		"/dev/vhost-net",    "/dev/userfaultfd", "/dev/dri/card0"};
	DIR *dir = opendir("/dev");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		bool ok = d->d_name[0] == '.';

		for (size_t i = 0; !ok && i < LENGTH(known); i++)
			ok = strcmp(d->d_name, known[i]) == 0;
		must_hold(a, ok, "only the 13 names in /dev%s%s", ok ? "" : ": ",
			  ok ? "" : d->d_name);
	}
	if (dir)
		(void)closedir(dir);
	for (size_t i = 0; i < LENGTH(devices); i++)
		must_not_open(a, devices[i], O_RDONLY);
}

static void ps09(struct attack *a)
{
	static const struct {
		const char *path;
		unsigned int minor;
	} nodes[] = {{"/dev/null", 3},
		     {"/dev/zero", 5},
		     {"/dev/full", 7},
		     {"/dev/random", 8},
		     {"/dev/urandom", 9}};
	struct stat st;

	for (size_t i = 0; i < LENGTH(nodes); i++) {
		bool ok = lstat(nodes[i].path, &st) == 0 && S_ISCHR(st.st_mode) &&
			  st.st_rdev == makedev(1, nodes[i].minor);

		must_hold(a, ok, "nodes are what they are called%s%s", ok ? "" : ": ",
			  ok ? "" : nodes[i].path);
	}
	if (lstat("/dev/console", &st) == 0)
		must_hold(a, S_ISCHR(st.st_mode), "/dev/console is no link");
}

static void ps10(struct attack *a)
{
	must_not_open(a, "/dev/llmsbx-attack", O_WRONLY | O_CREAT);
	must_fail(a, "rename /dev/null", rename("/dev/null", "/dev/n2"));
	must_fail(a, "unlink /dev/zero", unlink("/dev/zero"));
	must_fail(a, "mkdir /dev/d", mkdir("/dev/d", 0700));
	must_fail(a, "chmod /dev/null", chmod("/dev/null", 0));
}

static bool text_has(const char *path, const char *word)
{
	static char text[256 << 10]; /* an environment may be large */
	ssize_t n = read_text(path, text, sizeof(text));

	return n > 0 && memmem(text, (size_t)n, word, strlen(word));
}

static void ps11(struct attack *a)
{
	static const char *const ours[] = {"PATH", "HOME", "USER",  "LANG",
					   "TZ",   "PWD",  "SHLVL", "_"};

	must_hold(a, !text_has("/proc/self/environ", a->plant->flag),
		  "the host's canary is not in our environment");
	for (char **e = environ; *e; e++) {
		size_t n = strcspn(*e, "=");
		bool ok = false;

		for (size_t i = 0; i < LENGTH(ours); i++)
			ok = ok || (strlen(ours[i]) == n && strncmp(*e, ours[i], n) == 0);
		must_hold(a, ok, "only variables of the sandbox%s%.*s", ok ? "" : ": ",
			  ok ? 0 : (int)n, *e);
	}
	must_not_open(a, "/proc/1/environ", O_RDONLY);
}

static void ps12(struct attack *a)
{
	static const char *const files[] = {"/proc/self/uid_map", "/proc/self/gid_map"};

	/* An open works: the kernel judges the write, and a second one it never takes. */
	for (size_t i = 0; i < LENGTH(files); i++) {
		int fd = open(files[i], O_WRONLY | O_CLOEXEC);

		must_fail(a, files[i], fd < 0 ? -1 : write(fd, "0 0 1\n", 6));
		if (fd >= 0)
			close(fd);
	}
	{
		int fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);

		must_fail(a, "setgroups", fd < 0 ? -1 : write(fd, "allow", 5));
		if (fd >= 0)
			close(fd);
	}
}

static void ps13(struct attack *a)
{
	char text[32];
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	must_fail(a, "oom_score_adj", fd < 0 ? -1 : write(fd, "-500", 4));
	if (fd >= 0)
		close(fd);
	if (read_text("/proc/self/oom_score_adj", text, sizeof(text)) > 0)
		must_hold(a, strcmp(text, "1000\n") == 0, "oom_score_adj is 1000 (%.*s)",
			  (int)strcspn(text, "\n"), text);
}

const struct probe ps_probes[] = {
	{"PS00", control}, {"PS01", ps01}, {"PS02", ps02}, {"PS03", ps03}, {"PS04", ps04},
	{"PS05", ps05},    {"PS06", ps06}, {"PS07", ps07}, {"PS08", ps08}, {"PS09", ps09},
	{"PS10", ps10},    {"PS11", ps11}, {"PS12", ps12}, {"PS13", ps13}, {0},
};
