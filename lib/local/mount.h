/*
 * The mount calls of Linux 5.2 to 5.12.  A mount is made detached, given its attributes, and only then attached: it is never seen
 * half-made.  Used between clone and exec as well: no allocation.
 *
 * By system call, not by the C library's wrappers: those came with glibc 2.36.
 */
#pragma once

#include <linux/mount.h>
#include <stdbool.h>

#include "lib/base/attr.h"

struct sbx_err;

/* A copy of what is mounted at path and below it, detached; links are followed.  Returns a descriptor. */
int sbx_mount_copy(const char *path, struct sbx_err *err) SBX_MUST_USE;

/* An option of a file system. */
struct sbx_mount_param {
	const char *key, *value;
	bool wish; /* a kernel that does not know it does without */
};

/* A new file system, detached; params end with a NULL key, attr is of MOUNT_ATTR_*.  Returns a descriptor. */
int sbx_mount_new(const char *type, const struct sbx_mount_param *params, unsigned int attr,
		  struct sbx_err *err) SBX_MUST_USE;

/* Changes attributes of the mount fd, with recursive those below it as well.  No event of the host's mounts reaches them any more. */
int sbx_mount_change(int fd, unsigned int set, unsigned int clear, bool recursive,
		     struct sbx_err *err) SBX_MUST_USE;

/* Ids on disk become those that the user namespace maps them to.  The mount must be detached. */
int sbx_mount_idmap(int fd, int userns_fd, struct sbx_err *err) SBX_MUST_USE;

/* Puts a detached mount on path. */
int sbx_mount_attach(int fd, const char *path, struct sbx_err *err) SBX_MUST_USE;

/* Makes the working directory, which must be a mount, the root, and forgets the old one. */
int sbx_mount_pivot(struct sbx_err *err) SBX_MUST_USE;
