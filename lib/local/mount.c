#include "lib/local/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/fd.h"

/* Of sys/mount.h, which cannot be included together with linux/mount.h. */
enum { PROPAGATION_PRIVATE = 1 << 18, DETACH = 2 };

int sbx_mount_copy(const char *path, struct sbx_err *err)
{
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path,
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (fd < 0)
		return sbx_fail_sys(err, errno, "cannot take '%s' into the sandbox", path);
	return fd;
}

int sbx_mount_new(const char *type, const struct sbx_mount_param *params, unsigned int attr,
		  struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int fs = -1;
	int fd;

	fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	if (fs < 0)
		return sbx_fail_sys(err, errno, "cannot open the file system '%s'", type);
	for (; params->key; params++) {
		if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, params->key, params->value, 0) <
			    0 &&
		    !params->wish)
			return sbx_fail_sys(err, errno, "cannot set '%s' of the file system '%s'",
					    params->key, type);
	}
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return sbx_fail_sys(err, errno, "cannot make a file system '%s'", type);
	fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attr);
	if (fd < 0)
		return sbx_fail_sys(err, errno, "cannot mount '%s'", type);
	return fd;
}

static int set_attributes(int fd, struct mount_attr *attr, unsigned int flags)
{
	return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | flags, attr, sizeof(*attr));
}

int sbx_mount_change(int fd, unsigned int set, unsigned int clear, bool recursive,
		     struct sbx_err *err)
{
	struct mount_attr attr = {
		.attr_set = set,
		.attr_clr = clear,
		.propagation = PROPAGATION_PRIVATE,
	};

	if (set_attributes(fd, &attr, recursive ? AT_RECURSIVE : 0) < 0)
		return sbx_fail_sys(err, errno, "cannot set the attributes of a mount");
	return 0;
}

int sbx_mount_idmap(int fd, int userns_fd, struct sbx_err *err)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_IDMAP,
		.userns_fd = (__u64)userns_fd,
	};

	if (set_attributes(fd, &attr, AT_RECURSIVE) < 0)
		return sbx_fail_sys(err, errno, "cannot map the ids of a mount");
	return 0;
}

int sbx_mount_attach(int fd, const char *path, struct sbx_err *err)
{
	if (syscall(SYS_move_mount, fd, "", AT_FDCWD, path,
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS) < 0)
		return sbx_fail_sys(err, errno, "cannot mount on '%s'", path);
	return 0;
}

int sbx_mount_pivot(struct sbx_err *err)
{
	/* The old root lands on top of the new one, at the same place, from where it is taken off: no folder is needed for it. */
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return sbx_fail_sys(err, errno, "cannot change the root");
	if (syscall(SYS_umount2, ".", DETACH) < 0)
		return sbx_fail_sys(err, errno, "cannot let go of the old root");
	if (chdir("/") < 0)
		return sbx_fail_sys(err, errno, "cannot enter the new root");
	return 0;
}
