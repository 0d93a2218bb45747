/* The parent's half of root.h: what may be done before there is a process, and what only the caller's own rights allow. */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/backend/spec.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/base/places.h"
#include "lib/local/host.h"
#include "lib/local/idmap.h"
#include "lib/local/ids.h"
#include "lib/local/mount.h"
#include "lib/local/mountinfo.h"
#include "lib/local/root.h"

enum {
	HOST_PATHS_MAX = 256, /* mounts are not free: a glob that matches more is a mistake */
	MOUNTINFO_MAX = 16 << 20,
};

static const char *const devices[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
};

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFSOCK:
		return "a socket";
	case S_IFIFO:
		return "a pipe";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "neither a folder nor a file";
	}
}

int sbx_bind_open(struct sbx_bind *bind, struct sbx_err *err)
{
	struct stat st;

	bind->fd = sbx_mount_copy(bind->from, err);
	if (bind->fd < 0)
		return -1;
	if (bind->kind != SBX_BIND_MOUNT)
		return 0;
	if (fstat(bind->fd, &st) < 0)
		return sbx_fail_sys(err, errno, "cannot look at '%s'", bind->from);
	/* What listens behind a socket is outside, and with it whatever it does for those who ask. */
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_USAGE, "--mount: '%s' is %s", bind->from,
				kind_name(st.st_mode));
	bind->folder = S_ISDIR(st.st_mode);
	return 0;
}

static void add(struct sbx_root *root, enum sbx_bind_kind kind, const char *path, bool folder)
{
	root->binds[root->n_binds++] = (struct sbx_bind){
		.kind = kind,
		.folder = folder,
		.from = path,
		.to = path,
		.fd = -1,
	};
}

static void add_work(struct sbx_root *root)
{
	add(root, SBX_BIND_WORK, root->work.path, true);
	root->binds[root->n_binds - 1].to = root->spec->workdir;
}

static void add_mount(struct sbx_root *root, const struct sbx_mount *mount)
{
	root->binds[root->n_binds++] = (struct sbx_bind){
		.kind = SBX_BIND_MOUNT,
		.writable = mount->writable,
		.from = mount->host,
		.to = mount->dest,
		.fd = -1,
	};
}

/* What a language's definition may ask for: installed software and its configuration. */
static bool may_be_host_path(const char *pattern)
{
	static const char *const below[] = {"/etc/", "/opt/", "/nix/store/"};

	if (strstr(pattern, "/../") || strstr(pattern, "/./"))
		return false;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(below); i++) {
		if (strncmp(pattern, below[i], strlen(below[i])) == 0)
			return true;
	}
	return false;
}

static int match(struct sbx_root *root, const char *pattern, struct sbx_err *err)
{
	glob_t found = {.gl_pathc = 0};
	int rc = glob(pattern, GLOB_NOSORT, NULL, &found), result = 0;

	for (size_t i = 0; rc == 0 && result == 0 && i < found.gl_pathc; i++) {
		if (sbx_host_has(root->host, found.gl_pathv[i]))
			continue;
		if (root->paths.n == HOST_PATHS_MAX)
			result = sbx_fail(err, SBX_E_LIMIT,
					  "host_paths: '%s' and those before it match more than %d "
					  "files",
					  pattern, HOST_PATHS_MAX);
		else
			result = sbx_strv_add(&root->paths, found.gl_pathv[i], err);
	}
	globfree(&found);
	if (rc == GLOB_NOSPACE)
		return sbx_fail(err, SBX_E_SYSTEM, "no memory for what '%s' matches", pattern);
	return result;
}

static int match_host_paths(struct sbx_root *root, struct sbx_err *err)
{
	const struct sbx_strv *patterns = root->spec->host_paths;

	for (size_t i = 0; patterns && i < patterns->n; i++) {
		if (!may_be_host_path(patterns->v[i]))
			return sbx_fail(err, SBX_E_USAGE,
					"host_paths: '%s' must be below /etc, /opt or /nix/store, "
					"without '.' or '..'",
					patterns->v[i]);
		if (match(root, patterns->v[i], err) < 0)
			return -1;
	}
	return 0;
}

static int check_places(const struct sbx_box_spec *spec, struct sbx_err *err)
{
	if (sbx_place_check_workdir(spec->workdir, "--workdir", err) < 0)
		return -1;
	for (size_t i = 0; i < spec->n_mounts; i++) {
		if (sbx_place_check_mount(spec->mounts[i].dest, "--mount", err) < 0)
			return -1;
	}
	return 0;
}

/* The file system of a device, for a message; "?" where it is not found. */
static void name_file_system(dev_t dev, char *name, size_t size)
{
	struct sbx_buf text = SBX_BUF_INIT(MOUNTINFO_MAX);
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_mountinfo info;
	struct sbx_str rest;
	char device[32];

	(void)snprintf(name, size, "?");
	(void)snprintf(device, sizeof(device), "%u:%u", major(dev), minor(dev));
	if (sbx_read_file("/proc/self/mountinfo", &text, &ignored) == 0) {
		rest = sbx_str_of(sbx_buf_str(&text));
		while (sbx_mountinfo_next(&rest, &info)) {
			if (sbx_str_eq(info.device, device))
				(void)snprintf(name, size, "%.*s", (int)info.type.n, info.type.p);
		}
	}
	sbx_buf_release(&text);
}

/* What belongs to the source's owner becomes the program's, and what the program makes becomes the owner's. */
static int map_owner(const struct sbx_root *root, const struct sbx_bind *bind, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int userns = -1;
	char type[32];
	struct stat st;

	if (fstat(bind->fd, &st) < 0)
		return sbx_fail_sys(err, errno, "cannot look at '%s'", bind->from);
	userns = sbx_idmap_for_mount(root->ids, st.st_uid, st.st_gid, err);
	if (userns < 0)
		return -1;
	if (sbx_mount_idmap(bind->fd, userns, err) == 0)
		return 0;
	if (err->sys != EINVAL && err->sys != EPERM)
		return sbx_wrap(err, "--mount: '%s'", bind->from);
	name_file_system(st.st_dev, type, sizeof(type));
	sbx_err_clear(err);
	return sbx_fail(err, SBX_E_UNSUPPORTED,
			"--mount: '%s' is on a file system (%s) that cannot map ids, or has one "
			"below it: run as its owner instead of root",
			bind->from, type);
}

/* Somebody who may change a folder above it could have put another in its place. */
static int check_work(const struct sbx_root *root, const struct sbx_bind *bind, struct sbx_err *err)
{
	struct stat st;

	if (fstat(bind->fd, &st) < 0)
		return sbx_fail_sys(err, errno, "cannot look at '%s'", bind->from);
	if (st.st_dev != root->work.dev || st.st_ino != root->work.ino)
		return sbx_fail(err, SBX_E_DENIED, "'%s' is not the folder that was made there",
				bind->from);
	return 0;
}

static int open_as_root(struct sbx_root *root, struct sbx_err *err)
{
	for (size_t i = 0; i < root->n_binds; i++) {
		struct sbx_bind *bind = &root->binds[i];

		if (bind->kind == SBX_BIND_MOUNT &&
		    (sbx_bind_open(bind, err) < 0 || map_owner(root, bind, err) < 0))
			return -1;
		if (bind->kind == SBX_BIND_WORK &&
		    (sbx_bind_open(bind, err) < 0 || check_work(root, bind, err) < 0))
			return -1;
	}
	return 0;
}

int sbx_root_prepare(struct sbx_root *root, struct sbx_err *err)
{
	const struct sbx_host *host = root->host;
	const struct sbx_box_spec *spec = root->spec;

	if (check_places(spec, err) < 0 || match_host_paths(root, err) < 0)
		return -1;
	root->binds = sbx_xcalloc(host->n_binds + root->paths.n + SBX_ARRAY_SIZE(devices) +
					  spec->n_mounts + 1,
				  sizeof(*root->binds));
	for (size_t i = 0; i < host->n_binds; i++)
		add(root, SBX_BIND_SYSTEM, host->binds[i].path, host->binds[i].folder);
	for (size_t i = 0; i < root->paths.n; i++) {
		struct stat st;

		if (stat(root->paths.v[i], &st) == 0)
			add(root, SBX_BIND_SYSTEM, root->paths.v[i], S_ISDIR(st.st_mode));
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(devices); i++)
		add(root, SBX_BIND_DEVICE, devices[i], false);
	if (root->work.path)
		add_work(root);
	for (size_t i = 0; i < spec->n_mounts; i++)
		add_mount(root, &spec->mounts[i]);
	return root->ids->kind == SBX_IDS_ROOT ? open_as_root(root, err) : 0;
}

void sbx_root_release(struct sbx_root *root)
{
	for (size_t i = 0; i < root->n_binds; i++)
		sbx_close(root->binds[i].fd);
	free(root->binds);
	root->binds = NULL;
	root->n_binds = 0;
	sbx_strv_release(&root->paths);
}
