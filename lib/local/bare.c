#include "lib/local/bare.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/event/control.h"
#include "lib/local/ids.h"
#include "lib/local/root.h"
#include "lib/proc/owner.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

enum {
	ABI_TRUNCATE = 3, /* Landlock that keeps a file from being emptied: Linux 6.2 */
	ABI_SCOPE = 6,    /* and signals from leaving: Linux 6.12 */
};

static const char temporary[] = "/tmp";

/* What tells of the machine and of the program itself, of nobody else. */
static const char *const of_the_kernel[] = {
	"/etc/ssl/openssl.cnf",
	"/dev/random",
	"/dev/urandom",
	"/proc/cpuinfo",
	"/proc/filesystems",
	"/proc/meminfo",
	"/proc/self",
	"/proc/stat",
	"/proc/sys/kernel/osrelease",
	"/proc/version",
	"/proc/sys/vm/overcommit_memory",
	"/sys/devices/system/cpu",
};

static int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? (int)abi : 0;
}

static int refuse(struct sbx_err *err, const char *why, const char *what)
{
	return sbx_fail(err, SBX_E_UNSUPPORTED, "cannot make namespaces: %s; without them %s", why,
			what);
}

/* With one id only Landlock is between the program and the caller's other processes. */
static int check(const struct sbx_root *root, int abi, const char *why, struct sbx_err *err)
{
	if (root->spec->n_mounts > 0)
		return refuse(err, why, "--mount cannot be had");
	if (root->ids->uid == 0)
		return refuse(err, why, "a program cannot run as root");
	if (abi < ABI_TRUNCATE)
		return refuse(err, why,
			      "nothing would hold files: this kernel's Landlock is off or older "
			      "than Linux 6.2");
	if (root->ids->one_id && abi < ABI_SCOPE)
		return refuse(err, why,
			      "the program could signal your other processes: it takes Landlock of "
			      "Linux 6.12, or root, who has ids to give away");
	if (!root->ids->one_id && root->ids->lock_fd < 0)
		return refuse(err, why,
			      "a program needs an id that no other one has, and there is "
			      "no runtime folder to keep it in");
	return 0;
}

/* Threads of all processes of the caller's id, which RLIMIT_NPROC counts. */
static uint64_t count_threads(uid_t uid)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	uint64_t count = 0;

	while (dir && (entry = readdir(dir))) {
		SBX_CLEANUP(sbx_freep) char *task = NULL;
		struct stat st;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		task = sbx_xasprintf("%s/task", entry->d_name);
		/* A folder for each, and the two that every folder has. */
		if (fstatat(dirfd(dir), task, &st, 0) == 0 && st.st_uid == uid && st.st_nlink > 2)
			count += st.st_nlink - 2;
	}
	if (dir)
		(void)closedir(dir);
	return count;
}

static int load_guest(const struct sbx_root *root, int *ret, struct sbx_err *err)
{
	const char *p = root->guest;
	int fd = memfd_create("llmsbx-guest", MFD_CLOEXEC | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3, where there was no other kind */
		fd = memfd_create("llmsbx-guest", MFD_CLOEXEC);
	if (fd < 0)
		return sbx_fail_sys(err, errno, "cannot make room for the guest");
	*ret = fd;
	for (size_t at = 0; at < root->guest_size;) {
		ssize_t n = write(fd, p + at, root->guest_size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return sbx_fail_sys(err, errno, "cannot make room for the guest");
		at += (size_t)n;
	}
	return 0;
}

static int make_folder(const char *path, mode_t mode, uid_t uid, gid_t gid, struct sbx_err *err)
{
	if (mkdir(path, 0700) < 0)
		return sbx_fail_sys(err, errno, "cannot make the folder '%s'", path);
	if ((uid != geteuid() && chown(path, uid, gid) < 0) || chmod(path, mode) < 0)
		return sbx_fail_sys(err, errno, "cannot give the folder '%s' to the program", path);
	return 0;
}

static int make_folders(struct sbx_bare *bare, const struct sbx_root *root, struct sbx_err *err)
{
	char *folder = sbx_xasprintf("%s/%s", temporary, root->spec->name);

	if (make_folder(folder, 0711, geteuid(), getegid(), err) < 0) {
		free(folder);
		return -1;
	}
	bare->folder = folder;
	bare->lock_fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (bare->lock_fd < 0 || flock(bare->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return sbx_fail_sys(err, errno, "cannot lock the folder '%s'", folder);
	bare->at.workdir = sbx_xasprintf("%s/work", folder);
	bare->at.tmp = sbx_xasprintf("%s/tmp", folder);
	if (make_folder(bare->at.workdir, 0700, bare->at.uid, bare->at.gid, err) < 0)
		return -1;
	return make_folder(bare->at.tmp, 0700, bare->at.uid, bare->at.gid, err);
}

static int list_readable(struct sbx_bare *bare, const struct sbx_root *root, struct sbx_err *err)
{
	for (size_t i = 0; i < root->n_binds; i++) {
		if (root->binds[i].kind == SBX_BIND_SYSTEM &&
		    sbx_strv_add(&bare->at.readable, root->binds[i].from, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(of_the_kernel); i++) {
		if (sbx_strv_add(&bare->at.readable, of_the_kernel[i], err) < 0)
			return -1;
	}
	return 0;
}

int sbx_bare_make(struct sbx_bare *bare, const struct sbx_root *root, const char *why,
		  struct sbx_err *err)
{
	*bare = (struct sbx_bare){
		.at = {.uid = root->ids->uid, .gid = root->ids->gid},
		.lock_fd = -1,
		.guest_fd = -1,
		.abi = landlock_abi(),
	};
	(void)snprintf(bare->why, sizeof(bare->why), "%s", why);
	if (check(root, bare->abi, why, err) < 0)
		return -1;
	if (root->ids->one_id)
		bare->at.pids_beside = count_threads(root->ids->uid);
	if (list_readable(bare, root, err) < 0 || load_guest(root, &bare->guest_fd, err) < 0)
		return -1;
	return make_folders(bare, root, err);
}

/* ---- the end of it */

/* Reads a folder without touching the position of fd. */
static DIR *list(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir;

	/* The program may have shut it. */
	if (fd < 0 && errno == EACCES && fchmodat(folder, name, 0700, 0) == 0)
		fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir)
		sbx_close(fd);
	return dir;
}

static bool is_name(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Removes what it can of one folder; a folder in it that is not empty is moved up to top, so that no depth is too deep. */
static bool empty_one(int top, const char *name, uint64_t *count)
{
	DIR *dir = list(top, name);
	const struct dirent *entry;
	bool some = false;

	if (dir)
		(void)!fchmod(dirfd(dir), 0700);
	while (dir && (entry = readdir(dir))) {
		char up[32];

		if (!is_name(entry->d_name))
			continue;
		if (unlinkat(dirfd(dir), entry->d_name, 0) == 0 ||
		    unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) == 0) {
			some = true;
			continue;
		}
		(void)!fchmodat(dirfd(dir), entry->d_name, 0700, 0);
		(void)snprintf(up, sizeof(up), "up.%llu", (unsigned long long)(*count)++);
		if (renameat(dirfd(dir), entry->d_name, top, up) == 0)
			some = true;
	}
	if (dir)
		(void)closedir(dir);
	return some;
}

/* The folder and all that is in it, which nobody uses any more; links are not followed. */
static int remove_folder(int parent, const char *name)
{
	int top = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t count = 0;
	bool some = true;
	int sys = errno;

	while (top >= 0 && some) {
		DIR *dir = list(top, ".");
		const struct dirent *entry;

		some = false;
		while (dir && (entry = readdir(dir))) {
			if (!is_name(entry->d_name))
				continue;
			if (unlinkat(top, entry->d_name, 0) == 0 ||
			    unlinkat(top, entry->d_name, AT_REMOVEDIR) == 0 ||
			    empty_one(top, entry->d_name, &count))
				some = true;
		}
		if (dir)
			(void)closedir(dir);
	}
	if (top < 0)
		return sys;
	sbx_close(top);
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

int sbx_bare_remove(struct sbx_bare *bare, struct sbx_err *err)
{
	int sys = bare->folder ? remove_folder(AT_FDCWD, bare->folder) : 0;

	if (sys != 0)
		sbx_fail_sys_(err, sys, "cannot remove the folder '%s'", bare->folder);
	sbx_close(bare->lock_fd);
	sbx_close(bare->guest_fd);
	free(bare->folder);
	free(bare->at.workdir);
	free(bare->at.tmp);
	sbx_strv_release(&bare->at.readable);
	return sys == 0 ? 0 : -1;
}

/* Ours, of a process that is gone, and in nobody's use: the pid may be of another pid namespace, the lock is of this machine. */
static bool is_left(int parent, const char *name)
{
	SBX_CLEANUP(sbx_closep) int fd = -1;
	struct sbx_owner owner;
	struct stat st;

	if (!sbx_owner_parse(name, &owner) || sbx_owner_alive(&owner))
		return false;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       flock(fd, LOCK_EX | LOCK_NB) == 0;
}

int sbx_bare_sweep(struct sbx_strv *removed, struct sbx_err *err)
{
	DIR *dir = list(AT_FDCWD, temporary);
	const struct dirent *entry;
	int result = 0;

	while (dir && result == 0 && (entry = readdir(dir))) {
		if (is_left(dirfd(dir), entry->d_name) &&
		    remove_folder(dirfd(dir), entry->d_name) == 0 && removed)
			result = sbx_strv_addf(removed, err, "folder %s/%s", temporary,
					       entry->d_name);
	}
	if (dir)
		(void)closedir(dir);
	return result;
}

/* ---- the receipt */

void sbx_bare_receipt(const struct sbx_bare *bare, const struct sbx_root *root,
		      struct sbx_receipt *receipt)
{
	const struct sbx_limits *limits = &root->spec->limits;

	sbx_receipt_set(receipt, SBX_CTL_NAMESPACES, SBX_HELD_UNSUPPORTED, "%s", bare->why);
	sbx_receipt_set(receipt, SBX_CTL_MOUNTS, SBX_HELD_DEGRADED,
			"Landlock: %zu places of the host can be read, names of others asked for",
			bare->at.readable.n);
	if (root->spec->read_only)
		sbx_receipt_set(receipt, SBX_CTL_READONLY_ROOT, SBX_HELD_DEGRADED,
				"Landlock: writing in %s only", bare->folder);
	sbx_receipt_set(receipt, SBX_CTL_DEVICES, SBX_HELD_DEGRADED,
			"Landlock: null, zero, full, random and urandom of the host");
	if (root->spec->network == SBX_NET_NONE)
		sbx_receipt_set(receipt, SBX_CTL_NETWORK, SBX_HELD_DEGRADED,
				"the guest's filter: no sockets but pairs of its own");
	else
		sbx_receipt_set(receipt, SBX_CTL_NETWORK, SBX_HELD_UNSUPPORTED,
				"no sockets without namespaces");
	if (limits->disk_bytes != SBX_UNLIMITED)
		sbx_receipt_set(receipt, SBX_CTL_DISK, SBX_HELD_DEGRADED,
				"RLIMIT_FSIZE a file and polling; files that have no name any more "
				"are not counted");
	if (receipt->control[SBX_CTL_PIDS].held == SBX_HELD_DEGRADED)
		sbx_receipt_set(receipt, SBX_CTL_PIDS, SBX_HELD_DEGRADED, "RLIMIT_NPROC of id %u%s",
				bare->at.uid,
				root->ids->one_id ? ", which other processes have, too" : "");
}
