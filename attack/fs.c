/* FS: files and mounts. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attack/attack.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

enum { WALK_MAX = 400000, WALK_DEPTH = 24, FILE_LOOK = 64 << 10 };

static int copy_self(const char *to, mode_t mode)
{
	char bytes[64 << 10];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	ssize_t n = -1;

	while (from >= 0 && fd >= 0 && (n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(fd, bytes, (size_t)n) != n)
			n = -1;
	if (fd >= 0 && n == 0 && fchmod(fd, mode) < 0)
		n = -1;
	if (from >= 0)
		close(from);
	if (fd >= 0)
		close(fd);
	return n == 0 ? 0 : -1;
}

/* Runs `path x ids` and reads what it prints; -1 with errno when it cannot be executed. */
static int run_ids(const char *path, char *text, size_t size)
{
	int out[2], why[2], num = 0, status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(why, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		execl(path, path, "x", "ids", NULL);
		num = errno;
		(void)!write(why[1], &num, sizeof(num));
		_exit(127);
	}
	close(out[1]);
	close(why[1]);
	if (read(why[0], &num, sizeof(num)) != sizeof(num))
		num = 0;
	while (len < size - 1 && (n = read(out[0], text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(out[0]);
	close(why[0]);
	(void)waitpid(pid, &status, 0);
	errno = num;
	return num == 0 ? 0 : -1;
}

static void control(struct attack *a)
{
	char ids[100], text[16];

	must_work(a, write_text("control", "written", 7, 0600) == 0, "write");
	must_work(a, read_text("control", text, sizeof(text)) == 7, "read");
	must_work(a, access("/", R_OK | X_OK) == 0, "look at /");
	must_work(a, copy_self("copy", 0700) == 0 && run_ids("./copy", ids, sizeof(ids)) == 0,
		  "execute a file of the work directory");
	(void)unlink("copy");
	(void)unlink("control");
}

/* ---- the flags of the host */

static bool file_has(const char *path, const char *word)
{
	static char
		text[FILE_LOOK]; /* as large as it is looked at: too much for the stack of a walk */
	ssize_t n = read_text(path, text, sizeof(text));

	return n > 0 && memmem(text, (size_t)n, word, strlen(word));
}

static void see_flag(struct walk *w, const char *path, unsigned char type)
{
	const char *flag = w->attack->plant->flag;
	bool hit = strstr(path, flag) != NULL;

	/* /usr is large, and no flag is planted there. */
	if (!hit && type == DT_REG && strncmp(path, "/usr/", 5) != 0 &&
	    strncmp(path, "/dev/", 5) != 0)
		hit = file_has(path, flag);
	if (hit && w->hits++ == 0)
		(void)snprintf(w->first, sizeof(w->first), "%s", path);
}

static void fs01(struct attack *a)
{
	struct walk w = {.see = see_flag, .attack = a, .left = WALK_MAX};

	for (size_t i = 0; i < a->plant->n_flags; i++)
		must_fail(a, a->plant->flags[i], open(a->plant->flags[i], O_RDONLY | O_CLOEXEC));
	walk_tree(&w, "/", WALK_DEPTH);
	if (w.hits > 0)
		say(a, REACHED, "found at %s", w.first);
	else if (w.left == 0)
		say(a, UNKNOWN, "more than %d names: not all were looked at", WALK_MAX);
	else
		say(a, ABSENT, "%zu names looked at", WALK_MAX - w.left);
	if (a->plant->n_flags == 0)
		say(a, UNKNOWN, "the host could plant no flag");
}

static void fs02(struct attack *a)
{
	static const char *const dirs[] = {"",     "/etc",  "/usr",  "/usr/bin", "/bin",
					   "/lib", "/root", "/home", "/var",     "/opt",
					   "/srv", "/run",  "/proc", "/.llmsbx"};

	for (size_t i = 0; i < LENGTH(dirs); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "%s/llmsbx-attack-p", dirs[i]);
		must_not_open(a, path, O_WRONLY | O_CREAT | O_EXCL);
	}
}

static void fs03(struct attack *a)
{
	must_fail(a, "remount /", mount("/", "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	must_fail(a, "mount", syscall(SYS_mount, BAD, BAD, BAD, 0, NULL));
}

static void fs04(struct attack *a)
{
	static const char *const targets[] = {"/proc",       "/dev",      "/tmp",
					      "/proc/kcore", "/proc/sys", "/"};

	for (size_t i = 0; i < LENGTH(targets); i++)
		must_fail(a, "umount2", umount2(targets[i], MNT_DETACH));
}

static void fs05(struct attack *a)
{
	must_fail(a, "fsopen", syscall(SYS_fsopen, BAD, 0));
	must_fail(a, "fspick", syscall(SYS_fspick, -1, BAD, 0));
	must_fail(a, "fsconfig", syscall(SYS_fsconfig, -1, 0, 0, 0, 0));
	must_fail(a, "fsmount", syscall(SYS_fsmount, -1, 0, 0));
	must_fail(a, "open_tree", syscall(SYS_open_tree, -1, BAD, 1));
	must_fail(a, "move_mount", syscall(SYS_move_mount, -1, BAD, -1, BAD, 0));
	must_fail(a, "mount_setattr", syscall(SYS_mount_setattr, -1, BAD, 0, BAD, 8));
}

static void fs06(struct attack *a)
{
	must_fail(a, "pivot_root", syscall(SYS_pivot_root, BAD, BAD));
	must_fail(a, "chroot", syscall(SYS_chroot, BAD));
}

static bool same_root(const char *path)
{
	struct stat root, other;

	return stat("/", &root) == 0 && stat(path, &other) == 0 && root.st_dev == other.st_dev &&
	       root.st_ino == other.st_ino;
}

static void fs07(struct attack *a)
{
	char cwd[1024];

	must_hold(a, getcwd(cwd, sizeof(cwd)) && strcmp(cwd, a->plant->workdir) == 0,
		  "the current folder is the work directory");
	must_hold(a, same_root("../../../../../../../../../../../../../../../../../../../.."),
		  "../ twenty times is /");
}

static void fs08(struct attack *a)
{
	static const char *const links[] = {"/proc/1/root", "/proc/1/cwd", "/proc/self/root"};

	for (size_t i = 0; i < LENGTH(links); i++) {
		struct stat st;

		if (stat(links[i], &st) < 0)
			must_fail(a, links[i], -1);
		else
			must_hold(a, same_root(links[i]), "%s is our own /", links[i]);
	}
}

/* ---- mounts */

static bool may_be_writable(const struct attack *a, const char *point)
{
	static const char *const points[] = {"/tmp",     "/dev",        "/dev/shm",
					     "/dev/pts", "/dev/mqueue", "/proc"};

	for (size_t i = 0; i < LENGTH(points); i++)
		if (strcmp(point, points[i]) == 0)
			return true;
	return strcmp(point, a->plant->workdir) == 0;
}

static bool has_option(const char *options, const char *option)
{
	size_t n = strlen(option);

	for (const char *at = options; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (strncmp(at, option, n) == 0 && (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

/* ID PARENT DEV ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE SUPER */
static void judge_mount(struct attack *a, char *line)
{
	char *field[6], *rest = line;
	bool device;

	for (size_t i = 0; i < LENGTH(field); i++)
		if (!(field[i] = strsep(&rest, " "))) {
			say(a, UNKNOWN, "mountinfo cannot be read");
			return;
		}
	device = strncmp(field[4], "/dev/", 5) == 0;
	if (!has_option(field[5], "nosuid"))
		say(a, REACHED, "%s is not nosuid", field[4]);
	if (!device && !has_option(field[5], "nodev") && strcmp(field[4], "/dev") != 0)
		say(a, REACHED, "%s is not nodev", field[4]);
	if (has_option(field[5], "rw") && !may_be_writable(a, field[4]))
		say(a, REACHED, "%s is writable", field[4]);
	if (rest && (strncmp(rest, "shared:", 7) == 0 || strncmp(rest, "master:", 7) == 0))
		say(a, REACHED, "%s is not private", field[4]);
}

static void fs09(struct attack *a)
{
	static char text[256 << 10]; /* a page of mounts is long */
	char *rest = text, *line;
	unsigned int n = 0;

	if (read_text("/proc/self/mountinfo", text, sizeof(text)) < 0) {
		must_fail(a, "mountinfo", -1);
		return;
	}
	while ((line = strsep(&rest, "\n")) && *line) {
		judge_mount(a, line);
		n++;
	}
	must_hold(a, n > 0, "%u mounts", n);
}

/* ---- privilege by files */

static void see_setid(struct walk *w, const char *path, unsigned char type)
{
	struct stat st;
	struct statvfs fs;

	if (type != DT_REG || stat(path, &st) < 0 || !(st.st_mode & 06000) || !(st.st_mode & 0111))
		return;
	if (statvfs(path, &fs) < 0 || !(fs.f_flag & ST_NOSUID)) {
		say(w->attack, REACHED, "%s is set-id on a mount without nosuid", path);
	}
	w->hits++;
}

static void fs10(struct attack *a)
{
	static const char *const dirs[] = {"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local",
					   "/bin"};
	struct walk w = {.see = see_setid, .attack = a, .left = WALK_MAX};
	char before[100], after[100];

	if (run_ids("/proc/self/exe", before, sizeof(before)) < 0 || copy_self("s", 06755) < 0) {
		say(a, UNKNOWN, "no copy could be made: %s", error_name(errno));
		return;
	}
	if (run_ids("./s", after, sizeof(after)) < 0)
		must_fail(a, "exec of a set-id copy", -1);
	else
		must_hold(a, strcmp(before, after) == 0, "the ids of a set-id copy are unchanged");
	(void)unlink("s");
	for (size_t i = 0; i < LENGTH(dirs); i++)
		walk_tree(&w, dirs[i], 6);
	must_hold(a, true, "%zu set-id programs, all on nosuid mounts", w.hits);
}

static void fs11(struct attack *a)
{
	static const int refuses[] = {EOPNOTSUPP, 0};
	/* A version 2 capability set that gives everything. */
	static const unsigned char caps[20] = {1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff};

	if (write_text("x", "", 0, 0700) < 0) {
		say(a, UNKNOWN, "no file could be made");
		return;
	}
	must_fail_or(a, "security.capability",
		     setxattr("x", "security.capability", caps, sizeof(caps), 0), refuses);
	must_fail_or(a, "trusted.x", setxattr("x", "trusted.x", "y", 1, 0), refuses);
	(void)unlink("x");
}

static void fs12(struct attack *a)
{
	must_fail(a, "mknod b 1 1", mknod("n", S_IFBLK | 0600, makedev(1, 1)));
	must_fail(a, "mknod c 1 1", mknod("n", S_IFCHR | 0600, makedev(1, 1)));
	must_fail(a, "mknod c 10 200", mknod("n", S_IFCHR | 0600, makedev(10, 200)));
	must_fail(a, "mknodat b 8 0", mknodat(AT_FDCWD, "n", S_IFBLK | 0600, makedev(8, 0)));
}

static void fs13(struct attack *a)
{
	char ids[100];

	if (copy_self("/dev/shm/x", 0700) < 0) {
		must_fail(a, "write to /dev/shm", -1);
		return;
	}
	must_fail(a, "exec in /dev/shm", run_ids("/dev/shm/x", ids, sizeof(ids)));
	(void)unlink("/dev/shm/x");
}

static void fs14(struct attack *a)
{
	must_fail(a, "name_to_handle_at", syscall(SYS_name_to_handle_at, -1, BAD, BAD, BAD, 0));
	must_fail(a, "open_by_handle_at", syscall(SYS_open_by_handle_at, -1, BAD, 0));
}

static void fs15(struct attack *a)
{
	char name[64];
	int fd = open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	must_fail(a, "link of a system file", link("/usr/bin/env", "h"));
	must_fail(a, "link of a system file to /tmp", link("/usr/bin/env", "/tmp/h"));
	if (fd < 0)
		return;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	must_fail(a, "link across mounts",
		  linkat(AT_FDCWD, name, AT_FDCWD, "h", AT_SYMLINK_FOLLOW));
	close(fd);
}

static void see_socket(struct walk *w, const char *path, unsigned char type)
{
	if (type == DT_SOCK && w->hits++ == 0)
		(void)snprintf(w->first, sizeof(w->first), "%s", path);
}

static void fs16(struct attack *a)
{
	static const char *const sockets[] = {
		"/var/run/docker.sock",    "/run/docker.sock",
		"/run/podman/podman.sock", "/run/containerd/containerd.sock",
		"/run/crio/crio.sock",     "/run/dbus/system_bus_socket",
		"/run/systemd/private",    "/run/systemd/journal/socket",
		"/tmp/.X11-unix/X0",
	};
	struct walk w = {.see = see_socket, .attack = a, .left = WALK_MAX};
	struct stat st;

	for (size_t i = 0; i < LENGTH(sockets); i++)
		must_fail(a, sockets[i], stat(sockets[i], &st));
	must_hold(a,
		  !getenv("SSH_AUTH_SOCK") && !getenv("DBUS_SESSION_BUS_ADDRESS") &&
			  !getenv("DOCKER_HOST"),
		  "no variable names a socket");
	walk_tree(&w, "/", WALK_DEPTH);
	must_hold(a, w.hits == 0, "no socket in the tree%s%s", w.hits ? ": " : "", w.first);
}

static void fs17(struct attack *a)
{
	static const char *const secrets[] = {
		"/run/secrets",
		"/var/run/secrets/kubernetes.io/serviceaccount/token",
		".aws",
		".ssh",
		".docker",
		".git-credentials",
		".netrc",
		".config/gcloud",
		".kube/config",
		"/root/.ssh",
		"/root/.aws",
		"/etc/shadow",
		"/etc/sudoers",
		"/etc/ssl/private",
		"/etc/kubernetes",
	};
	struct stat st;

	for (size_t i = 0; i < LENGTH(secrets); i++)
		must_fail(a, secrets[i], stat(secrets[i], &st));
}

const struct probe fs_probes[] = {
	{"FS00", control},
	{"FS01", fs01},
	{"FS02", fs02},
	{"FS03", fs03},
	{"FS04", fs04},
	{"FS05", fs05},
	{"FS06", fs06},
	{"FS07", fs07},
	{"FS08", fs08},
	{"FS09", fs09},
	{"FS10", fs10},
	{"FS11", fs11},
	{"FS12", fs12},
	{"FS13", fs13},
	{"FS14", fs14},
	{"FS15", fs15},
	{"FS16", fs16},
	{"FS17", fs17},
	{0},
};
