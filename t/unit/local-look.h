/* A sandbox of the backend local as it is seen from outside, through /proc of its process 1. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/backend/backend.h"
#include "lib/base/buf.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/event/control.h"
#include "lib/local/mountinfo.h"
#include "lib/proc/owner.h"
#include "t/unit/tap.h"

/* What a machine for testing should have: missed only where nobody asked for strictness. */
static inline void skip(const char *why)
{
	printf("# skipped: %s\n", why);
	ok(!getenv("SBX_TEST_STRICT"));
}

static inline struct sbx_backend *open_local(struct sbx_err *err)
{
	const struct sbx_backend_ops *ops = sbx_backend_find("local");
	struct sbx_backend *be = NULL;

	ok(ops != NULL);
	ok_call(ops->open(NULL, &be, err));
	return be;
}

static inline struct sbx_box_spec spec_of(const char *name)
{
	struct sbx_box_spec spec = {
		.name = name,
		.workdir = "/sandbox",
		.hostname = "sandbox",
		.uid = 65532,
		.gid = 65532,
		.read_only = true,
		.limits =
			{
				.memory_bytes = 256 << 20,
				.cpu_milli = 1000,
				.pids = 64,
				.disk_bytes = 64 << 20,
				.tmp_bytes = 32 << 20,
				.shm_bytes = 16 << 20,
				.nofile = 1024,
			},
	};

	return spec;
}

/* The pid behind a pidfd. */
static inline pid_t pid_of(const struct sbx_box *box)
{
	struct sbx_buf text = SBX_BUF_INIT(4096);
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_str rest, line;
	uint64_t pid = 0;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", box->lost_fd);
	if (sbx_read_file(path, &text, &ignored) == 0) {
		rest = sbx_str_of(sbx_buf_str(&text));
		while (sbx_str_split(&rest, '\n', &line)) {
			if (sbx_str_has_prefix(line, "Pid:\t")) {
				line.p += 5;
				line.n -= 5;
				(void)!sbx_str_u64(line, INT32_MAX, "pid", &pid, &ignored);
			}
		}
	}
	sbx_buf_release(&text);
	return (pid_t)pid;
}

/* A file of /proc/PID, to be freed. */
static inline char *proc_file(pid_t pid, const char *name)
{
	struct sbx_buf text = SBX_BUF_INIT(1 << 20);
	struct sbx_err ignored = SBX_ERR_INIT;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	if (sbx_read_file(path, &text, &ignored) < 0)
		printf("# %s\n", ignored.msg);
	if (text.len > 0)
		return sbx_buf_detach(&text);
	sbx_buf_release(&text);
	return sbx_xstrdup("");
}

/* The rest of the line of /proc/PID/status that begins with key. */
static inline void ok_status(const char *status, const char *key, const char *want)
{
	struct sbx_str rest = sbx_str_of(status), line;
	size_t n = strlen(key);
	char got[128] = "";

	while (sbx_str_split(&rest, '\n', &line)) {
		if (sbx_str_has_prefix(line, key) && line.n > n + 1 && line.p[n] == ':')
			(void)snprintf(got, sizeof(got), "%.*s", (int)(line.n - n - 2),
				       line.p + n + 2);
	}
	ok_str(got, want);
}

static inline void ok_held(const struct sbx_box *box, enum sbx_control ctl, enum sbx_held want)
{
	if (!ok_int(box->receipt.control[ctl].held, want))
		printf("# %s: %s\n", sbx_control_name(ctl), box->receipt.control[ctl].by);
}

static inline void ok_link(int root, const char *path, const char *want)
{
	char got[128] = "";
	ssize_t n = readlinkat(root, path, got, sizeof(got) - 1);

	got[n > 0 ? n : 0] = '\0';
	ok_str(got, want);
}

static inline void ok_stat(int root, const char *path, mode_t mode, uid_t uid)
{
	struct stat st = {.st_mode = 0};

	ok_int(fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	if (!(ok_int(st.st_mode, mode) && ok_int(st.st_uid, uid)))
		printf("# of '%s'\n", path);
}

static inline int open_root(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static inline int count_names(int root, const char *path)
{
	char text[64], listing[128];
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	(void)snprintf(text, sizeof(text), "/proc/self/fd/%d", root);
	(void)snprintf(listing, sizeof(listing), "%s/%s", text, path);
	dir = opendir(listing);
	while (dir && (entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (dir)
		(void)closedir(dir);
	return n;
}

/* Every mount: how it may be used, and that nothing of the host's reaches it. */
static inline void look_at_mounts(pid_t pid)
{
	static const char *const writable[] = {"/proc", "/dev/pts", "/tmp", "/dev/shm", "/sandbox"};
	char *text = proc_file(pid, "mountinfo");
	struct sbx_str rest = sbx_str_of(text), line, word, point, options = {0};
	int n = 0;

	while (sbx_str_split(&rest, '\n', &line)) {
		bool may_write = false, device;

		for (int i = 0; i < 4; i++)
			(void)sbx_str_split(&line, ' ', &word);
		ok(sbx_str_split(&line, ' ', &point) && sbx_str_split(&line, ' ', &options));
		for (size_t i = 0; i < SBX_ARRAY_SIZE(writable); i++)
			may_write |= sbx_str_eq(point, writable[i]);
		device = sbx_str_has_prefix(point, "/dev/") && !sbx_str_eq(point, "/dev/shm");
		if (!(ok(sbx_list_has(options, "nosuid")) &&
		      ok(sbx_list_has(options, "nodev") || device) &&
		      ok(sbx_list_has(options, "ro") == !may_write) &&
		      ok(sbx_str_has_prefix(line, "- "))))
			printf("# at %.*s\n", (int)point.n, point.p);
		n++;
	}
	ok(n >= 13);
	free(text);
}

/* What is the same for every kind of caller. */
static inline void look_at_files(pid_t pid, uid_t root_uid, uid_t uid)
{
	int root = open_root(pid);
	struct stat null = {.st_mode = 0};

	ok_stat(root, ".", S_IFDIR | 0755, root_uid);
	ok_stat(root, ".llmsbx/guest", S_IFREG | 0711, root_uid);
	ok_stat(root, "tmp", S_IFDIR | 01777, root_uid);
	ok_stat(root, "dev/shm", S_IFDIR | 01777, root_uid);
	ok_stat(root, "sandbox", S_IFDIR | 0700, uid);
	ok_stat(root, "etc/passwd", S_IFREG | 0644, root_uid);
	ok_int(count_names(root, "dev"), 13); /* twelve and ptmx, the link */
	ok_link(root, "dev/ptmx", "pts/ptmx");
	ok_link(root, "dev/fd", "/proc/self/fd");
	ok_link(root, "dev/stdout", "/proc/self/fd/1");
	ok_int(fstatat(root, "dev/null", &null, 0), 0);
	ok(S_ISCHR(null.st_mode) && null.st_rdev == makedev(1, 3));
	ok_int(faccessat(root, "usr/bin", F_OK, 0), 0);
	ok_int(faccessat(root, "sys", F_OK, 0), -1);
	ok_int(faccessat(root, "home", F_OK, 0), -1);
	ok_int(faccessat(root, "root", F_OK, 0), -1);
	ok_int(faccessat(root, "etc/shadow", F_OK, 0), -1);
	ok_int(faccessat(root, "etc/resolv.conf", F_OK, 0), 0);
	ok_int(count_names(root, "proc"), 3); /* 1, self, thread-self */
	(void)close(root);
}

static inline void look_at_process(pid_t pid, const char *caps)
{
	static const char *const spaces[] = {"user", "mnt", "pid", "ipc", "uts", "net"};
	char *status = proc_file(pid, "status"), *environ_ = proc_file(pid, "environ");
	char path[64], ours[64] = "", theirs[64] = "";

	ok_status(status, "CapInh", caps);
	ok_status(status, "CapPrm", caps);
	ok_status(status, "CapEff", caps);
	ok_status(status, "CapBnd", "0000000000000000");
	ok_status(status, "CapAmb", "0000000000000000");
	ok_status(status, "NoNewPrivs", "1");
	ok_status(status, "SigIgn", "0000000000000000");
	ok_str(environ_, "");
	for (size_t i = 0; i < SBX_ARRAY_SIZE(spaces); i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, spaces[i]);
		ok(readlink(path, theirs, sizeof(theirs) - 1) > 0);
		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[i]);
		ok(readlink(path, ours, sizeof(ours) - 1) > 0);
		ok(strcmp(ours, theirs) != 0);
	}
	for (int fd = 0; fd < 64; fd++) {
		struct stat st;

		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		if (stat(path, &st) < 0)
			continue;
		/* 0 to 2 /dev/null, 3 the channel; what is above the guest opened itself. */
		ok(fd < 3 ? S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)
			  : S_ISSOCK(st.st_mode) || !S_ISDIR(st.st_mode));
	}
	free(environ_);
	free(status);
}

static inline void ok_map(pid_t pid, const char *file, const char *want)
{
	char *text = proc_file(pid, file), got[256];
	struct sbx_str rest = sbx_str_of(text), word;
	size_t n = 0;

	/* Without the padding. */
	got[0] = '\0';
	for (char *p = text; *p; p++)
		*p = *p == '\n' ? ' ' : *p;
	while (sbx_str_split(&rest, ' ', &word)) {
		if (word.n > 0)
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%.*s ", (int)word.n,
					      word.p);
	}
	ok_str(got, want);
	free(text);
}

static inline bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static inline int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static inline bool needs_root(void)
{
	if (geteuid() == 0)
		return true;
	printf("# skipped: must be root\n");
	return false;
}
