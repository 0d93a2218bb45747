/*
 * Theory of operation
 *
 * The root is a small tmpfs.  Its mount is put over "/", which surely exists, while the process keeps the old root underneath as
 * its own: absolute paths still lead into the host, and relative ones below the working directory into the new root.  Then:
 *
 *   1. folders, links, files and the places to mount on are made;
 *   2. what comes from the host is attached, and in one call all of it and the root become read-only, nosuid, nodev;
 *   3. the devices, which need the same but nodev;
 *   4. what is writable or has flags of its own: proc, devpts, the scratch folders;
 *   5. pivot_root, and the host is out of sight;
 *   6. what --mount asks for, since its places may be on a scratch folder or behind a link of the new root.
 *
 * Must not: 2 after 3 or 4 (the devices would be dead, the scratch read-only); 6 before 5 (an absolute link inside would be followed
 * in the host); anything after 6.
 */
#include "lib/local/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/backend/spec.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/places.h"
#include "lib/local/host.h"
#include "lib/local/ids.h"
#include "lib/local/mount.h"

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID)
#define PLAIN     (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

enum {
	/* The root's own files: the guest, some text, places to mount on. */
	ROOT_ROOM = 4 << 20,
	ROOT_INODES = 4096,
	/* Scratch: an inode for so many bytes; each is a kilobyte of kernel memory that no size= counts. */
	BYTES_PER_INODE = 8192,
	INODES_MIN = 1024,
	PATH_ROOM = 4096,
};

static const char *const folders[] = {"usr",     "etc",     "proc",    "tmp",    "dev",
				      "dev/pts", "dev/shm", ".llmsbx", "etc/ssl"};

static const struct {
	const char *path, *target;
} links[] = {
	{"dev/ptmx", "pts/ptmx"},          {"dev/fd", "/proc/self/fd"},
	{"dev/stdin", "/proc/self/fd/0"},  {"dev/stdout", "/proc/self/fd/1"},
	{"dev/stderr", "/proc/self/fd/2"},
};

/* Texts that are the same in every sandbox; passwd, group, hosts and hostname are not. */
static const struct {
	const char *path, *text;
} files[] = {
	{"etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
			      "networks: files\nprotocols: files\nservices: files\n"},
	{"etc/resolv.conf", ""},
};

int sbx_root_open(struct sbx_root *root, struct sbx_err *err)
{
	for (size_t i = 0; i < root->n_binds; i++) {
		struct sbx_bind *bind = &root->binds[i];

		if (bind->fd >= 0 || sbx_bind_open(bind, err) == 0)
			continue;
		/* It went since we looked, or is not for everybody: as if it had not been there. /usr there must be. */
		if (bind->kind != SBX_BIND_SYSTEM || i == 0 ||
		    (err->sys != ENOENT && err->sys != EACCES))
			return -1;
		sbx_err_clear(err);
	}
	return 0;
}

/* Paths are relative to the working directory or, in the finished root, absolute.  owner NULL: root's. */
static int make_folder(const char *path, const struct sbx_ids *owner, struct sbx_err *err)
{
	if (mkdir(path, 0755) < 0) {
		if (errno == EEXIST)
			return 0;
		return sbx_fail_sys(err, errno, "cannot make '%s' in the sandbox", path);
	}
	if (owner && lchown(path, owner->in_uid, owner->in_gid) < 0)
		return sbx_fail_sys(err, errno, "cannot give '%s' to the program", path);
	return 0;
}

static int make_file(const char *path, const void *p, size_t n, mode_t mode, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int fd = -1;

	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return sbx_fail_sys(err, errno, "cannot make '%s' in the sandbox", path);
	if (n > 0 && sbx_write_full(fd, p, n, err) < 0)
		return sbx_wrap(err, "cannot make '%s' in the sandbox", path);
	return 0;
}

static int make_text(const char *path, const char *text, struct sbx_err *err)
{
	return make_file(path, text, strlen(text), 0644, err);
}

static int make_folders_above(const char *path, const struct sbx_ids *owner, struct sbx_err *err)
{
	char part[PATH_ROOM];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (make_folder(part, owner, err) < 0)
			return -1;
	}
	return 0;
}

/* A place to mount on, and the folders above it.  One that is there will do, also where nothing can be made. */
static int make_place(const char *path, bool folder, const struct sbx_ids *owner,
		      struct sbx_err *err)
{
	struct sbx_err first = SBX_ERR_INIT;

	if ((folder ? make_folder(path, owner, &first) : make_text(path, "", &first)) == 0 ||
	    access(path, F_OK) == 0)
		return 0;
	if (make_folders_above(path, owner, err) < 0)
		return -1;
	return folder ? make_folder(path, owner, err) : make_text(path, "", err);
}

/* Who is who: the program is called sandbox whatever its number. */
static int make_accounts(const struct sbx_root *root, struct sbx_err *err)
{
	const struct sbx_box_spec *spec = root->spec;
	unsigned int uid = root->ids->in_uid, gid = root->ids->in_gid;
	char text[PATH_ROOM + 512], sandbox[PATH_ROOM + 64] = "";

	if (uid != 0)
		(void)snprintf(sandbox, sizeof(sandbox), "sandbox:x:%u:%u:sandbox:%s:/bin/sh\n",
			       uid, gid, spec->workdir);
	(void)snprintf(text, sizeof(text), "root:x:0:0:root:%s:%s\n%s%s",
		       uid == 0 ? spec->workdir : "/", uid == 0 ? "/bin/sh" : "/usr/sbin/nologin",
		       sandbox,
		       uid == 65534 ? "" : "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n");
	if (make_text("etc/passwd", text, err) < 0)
		return -1;
	sandbox[0] = '\0';
	if (gid != 0)
		(void)snprintf(sandbox, sizeof(sandbox), "sandbox:x:%u:\n", gid);
	(void)snprintf(text, sizeof(text), "root:x:0:\n%s%s", sandbox,
		       gid == 65534 ? "" : "nobody:x:65534:\n");
	return make_text("etc/group", text, err);
}

static int make_names(const struct sbx_root *root, struct sbx_err *err)
{
	const char *hostname = root->spec->hostname;
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "127.0.0.1\tlocalhost %s\n::1\tlocalhost ip6-localhost ip6-loopback\n",
		       hostname);
	if (make_text("etc/hosts", text, err) < 0)
		return -1;
	(void)snprintf(text, sizeof(text), "%s\n", hostname);
	return make_text("etc/hostname", text, err);
}

static int make_contents(const struct sbx_root *root, struct sbx_err *err)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(folders); i++) {
		if (make_folder(folders[i], NULL, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(links); i++) {
		if (symlink(links[i].target, links[i].path) < 0)
			return sbx_fail_sys(err, errno, "cannot make '%s' in the sandbox",
					    links[i].path);
	}
	for (size_t i = 0; i < root->host->n_links; i++) {
		if (symlink(root->host->links[i].target, root->host->links[i].name) < 0)
			return sbx_fail_sys(err, errno, "cannot make '%s' in the sandbox",
					    root->host->links[i].name);
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(files); i++) {
		if (make_text(files[i].path, files[i].text, err) < 0)
			return -1;
	}
	if (make_accounts(root, err) < 0 || make_names(root, err) < 0 ||
	    make_place(root->spec->workdir + 1, true, NULL, err) < 0)
		return -1;
	return make_file(&SBX_ROOT_GUEST[1], root->guest, root->guest_size, 0711, err);
}

static int make_places(const struct sbx_root *root, struct sbx_err *err)
{
	for (size_t i = 0; i < root->n_binds; i++) {
		const struct sbx_bind *bind = &root->binds[i];

		if (bind->fd >= 0 && bind->kind <= SBX_BIND_DEVICE &&
		    make_place(bind->to + 1, bind->folder, NULL, err) < 0)
			return -1;
	}
	return 0;
}

static int attach(struct sbx_bind *bind, const char *path, struct sbx_err *err)
{
	if (sbx_mount_attach(bind->fd, path, err) < 0)
		return -1;
	sbx_closep(&bind->fd);
	return 0;
}

static int attach_kind(const struct sbx_root *root, enum sbx_bind_kind kind, struct sbx_err *err)
{
	for (size_t i = 0; i < root->n_binds; i++) {
		struct sbx_bind *bind = &root->binds[i];

		if (bind->fd >= 0 && bind->kind == kind && attach(bind, bind->to + 1, err) < 0)
			return -1;
	}
	return 0;
}

/* Mounts a new file system on path, relative to the working directory. */
static int mount_new(const char *type, const struct sbx_mount_param *params, unsigned int attr,
		     const char *path, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int fd = sbx_mount_new(type, params, attr, err);

	if (fd < 0 || sbx_mount_attach(fd, path, err) < 0)
		return sbx_wrap(err, "'/%s'", path);
	return 0;
}

/* The host's own, as it is seen here: what a container may mount no proc over (it hides parts of its own) still has. */
static int bind_host_proc(struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int fd = sbx_mount_copy("/proc", err);

	if (fd < 0 || sbx_mount_change(fd, PLAIN | MOUNT_ATTR_NOEXEC, 0, true, err) < 0 ||
	    sbx_mount_attach(fd, "proc", err) < 0)
		return sbx_wrap(err, "cannot show the host's '/proc'");
	return 0;
}

static int mount_proc(struct sbx_root *root, struct sbx_err *err)
{
	/*
	 * Group 0 sees all processes: that is the guest, which must find also those that hide (PR_SET_DUMPABLE).  By default it
	 * would be the host's group 0, which is not here.
	 */
	static const struct sbx_mount_param params[] = {{"subset", "pid", false},
							{"hidepid", "invisible", false},
							{"gid", "0", false},
							{NULL, NULL, false}};

	if (mount_new("proc", params, PLAIN | MOUNT_ATTR_NOEXEC, "proc", err) == 0)
		return 0;
	if (err->sys != EPERM && err->sys != EACCES)
		return -1;
	root->proc_refused = err->sys;
	sbx_err_clear(err);
	return bind_host_proc(err);
}

struct scratch {
	const char *path, *mode;
	uint64_t bytes; /* SBX_UNLIMITED: as much as there is memory */
	unsigned int attr;
	bool programs; /* belongs to the program, not to root */
};

static int mount_scratch(const struct sbx_root *root, const struct scratch *s, struct sbx_err *err)
{
	uint64_t inodes = s->bytes / BYTES_PER_INODE;
	char size[24] = "0", nr_inodes[24] = "0", uid[12], gid[12];
	struct sbx_mount_param params[] = {
		{"mode", s->mode, false}, {"size", size, false}, {"nr_inodes", nr_inodes, false},
		{"uid", uid, false},      {"gid", gid, false},   {NULL, NULL, false},
	};
	bool zero = !s->programs || root->ids->one_id;

	if (s->bytes != SBX_UNLIMITED) {
		(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)s->bytes);
		(void)snprintf(nr_inodes, sizeof(nr_inodes), "%llu",
			       (unsigned long long)(inodes > INODES_MIN ? inodes : INODES_MIN));
	}
	(void)snprintf(uid, sizeof(uid), "%u", zero ? 0 : root->ids->in_uid);
	(void)snprintf(gid, sizeof(gid), "%u", zero ? 0 : root->ids->in_gid);
	return mount_new("tmpfs", params, s->attr, s->path, err);
}

/* The work directory on disk. */
static int mount_work(const struct sbx_root *root, struct sbx_err *err)
{
	for (size_t i = 0; i < root->n_binds; i++) {
		struct sbx_bind *bind = &root->binds[i];

		if (bind->kind == SBX_BIND_WORK &&
		    (sbx_mount_change(bind->fd, PLAIN, 0, false, err) < 0 ||
		     attach(bind, bind->to + 1, err) < 0))
			return sbx_wrap(err, "'%s'", bind->to);
	}
	return 0;
}

static int mount_scratches(const struct sbx_root *root, struct sbx_err *err)
{
	const struct sbx_limits *limits = &root->spec->limits;
	const struct scratch scratches[] = {
		{"tmp", "1777", limits->tmp_bytes, PLAIN, false},
		{"dev/shm", "1777", limits->shm_bytes, PLAIN | MOUNT_ATTR_NOEXEC, false},
		{root->spec->workdir + 1, "0700", limits->disk_bytes, PLAIN, true},
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(scratches); i++) {
		/* Below /tmp the place made before is hidden by now. */
		if (make_place(scratches[i].path, true, NULL, err) < 0)
			return -1;
		if (scratches[i].programs && root->work.path
			    ? mount_work(root, err) < 0
			    : mount_scratch(root, &scratches[i], err) < 0)
			return -1;
	}
	return 0;
}

/* A mount of the caller's, in the finished root.  Folders that are made for it in the work directory are the program's. */
static int mount_for_caller(const struct sbx_root *root, struct sbx_bind *bind, struct sbx_err *err)
{
	unsigned int attr = PLAIN | (bind->writable ? 0 : MOUNT_ATTR_RDONLY);
	bool programs = sbx_path_is_below(bind->to, root->spec->workdir) && !root->ids->one_id;

	if (make_place(bind->to, bind->folder, programs ? root->ids : NULL, err) < 0 ||
	    sbx_mount_change(bind->fd, attr, 0, true, err) < 0 || attach(bind, bind->to, err) < 0)
		return sbx_wrap(err, "--mount %s:%s", bind->from, bind->to);
	return 0;
}

static int mount_for_callers(const struct sbx_root *root, struct sbx_err *err)
{
	for (size_t i = 0; i < root->n_binds; i++) {
		if (root->binds[i].kind == SBX_BIND_MOUNT &&
		    mount_for_caller(root, &root->binds[i], err) < 0)
			return -1;
	}
	return 0;
}

/* The tmpfs, over "/", and the working directory in it.  Returns its mount. */
static int start_root(const struct sbx_root *root, struct sbx_err *err)
{
	char size[24], inodes[12];
	const struct sbx_mount_param params[] = {
		{"mode", "0755", false},
		{"size", size, false},
		{"nr_inodes", inodes, false},
		/* The guest, in few large pages instead of 200 small ones: half a millisecond less. */
		{"huge", "within_size", true},
		{NULL, NULL, false},
	};
	int fd;

	(void)snprintf(size, sizeof(size), "%zu", root->guest_size + ROOT_ROOM);
	(void)snprintf(inodes, sizeof(inodes), "%d", ROOT_INODES);
	fd = sbx_mount_new("tmpfs", params, PLAIN, err);
	if (fd < 0)
		return -1;
	if (sbx_mount_attach(fd, "/", err) == 0 && fchdir(fd) < 0)
		(void)sbx_fail_sys(err, errno, "cannot enter the sandbox's root");
	if (err->code != SBX_E_OK)
		sbx_closep(&fd);
	return fd;
}

/* Steps 2 to 4 of the theory. */
static int mount_all(struct sbx_root *root, int root_fd, struct sbx_err *err)
{
	static const struct sbx_mount_param pts[] = {
		{"ptmxmode", "0666", false}, {"mode", "0620", false}, {NULL, NULL, false}};

	if (attach_kind(root, SBX_BIND_SYSTEM, err) < 0 ||
	    sbx_mount_change(root_fd, READ_ONLY | MOUNT_ATTR_NODEV, 0, true, err) < 0 ||
	    attach_kind(root, SBX_BIND_DEVICE, err) < 0 ||
	    sbx_mount_change(root_fd, READ_ONLY, 0, true, err) < 0)
		return -1;
	if (mount_proc(root, err) < 0 ||
	    mount_new("devpts", pts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, "dev/pts", err) < 0)
		return -1;
	return mount_scratches(root, err);
}

/* Steps 5 and 6. */
static int finish_root(const struct sbx_root *root, int root_fd, struct sbx_err *err)
{
	bool open = root->spec->n_mounts > 0 || !root->spec->read_only;

	if (sbx_mount_pivot(err) < 0)
		return -1;
	if (open && sbx_mount_change(root_fd, 0, MOUNT_ATTR_RDONLY, false, err) < 0)
		return -1;
	if (mount_for_callers(root, err) < 0)
		return -1;
	if (open && root->spec->read_only)
		return sbx_mount_change(root_fd, READ_ONLY, 0, false, err);
	return 0;
}

int sbx_root_build(struct sbx_root *root, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int root_fd = start_root(root, err);

	if (root_fd < 0 || make_contents(root, err) < 0 || make_places(root, err) < 0 ||
	    mount_all(root, root_fd, err) < 0)
		return -1;
	return finish_root(root, root_fd, err);
}
