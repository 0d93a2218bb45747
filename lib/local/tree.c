#include "lib/local/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"

enum {
	LEVELS_MAX = 1 << 20,
	NAMES_MAX = 1 << 30,
};

static int open_folder(int parent, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, parent, name, &how, sizeof(how));
}

/* Reads a folder by a descriptor of its own; NULL where it cannot, with errno. */
static DIR *list(int folder)
{
	int fd = open_folder(folder, ".");
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir)
		sbx_close(fd);
	return dir;
}

/* The next name; NULL at the end, or with errno where it cannot be read. */
static const struct dirent *next(DIR *dir)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry;
}

/* ---- measuring */

/* A folder on the way down, and those in it that are still to be looked at: their names, each with its NUL. */
struct level {
	int fd;
	struct sbx_buf names;
	size_t at;
};

struct walk {
	struct level *levels; /* owned */
	size_t n, cap;
	uint64_t bytes, most;
};

static void leave(struct walk *walk)
{
	struct level *level = &walk->levels[--walk->n];

	sbx_close(level->fd);
	sbx_buf_release(&level->names);
}

/* A file of many names is as large at each of them. */
static void count(struct walk *walk, const struct stat *st)
{
	uint64_t bytes = (uint64_t)st->st_blocks * 512;

	if (bytes < SBX_TREE_FILE)
		bytes = SBX_TREE_FILE;
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1)
		bytes /= st->st_nlink;
	walk->bytes += bytes;
}

/* Counts what is in a folder and keeps the names of the folders in it.  What is gone meanwhile does not count. */
static bool enter(struct walk *walk, int fd)
{
	struct level level = {.fd = fd, .names = SBX_BUF_INIT(NAMES_MAX)};
	struct sbx_err ignored = SBX_ERR_INIT;
	const struct dirent *entry = NULL;
	DIR *dir = list(fd);
	struct stat st;
	bool ok = dir && sbx_array_grow(&walk->levels, &walk->cap, walk->n + 1, LEVELS_MAX,
					sizeof(level), &ignored) == 0;

	while (ok && walk->bytes <= walk->most && (entry = next(dir))) {
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			ok = errno == ENOENT;
			continue;
		}
		count(walk, &st);
		if (S_ISDIR(st.st_mode))
			ok = sbx_buf_add(&level.names, entry->d_name, strlen(entry->d_name) + 1,
					 &ignored) == 0;
	}
	ok = ok && (entry || errno == 0 || walk->bytes > walk->most);
	if (dir)
		(void)closedir(dir);
	if (ok) {
		walk->levels[walk->n++] = level;
	} else {
		sbx_buf_release(&level.names);
		sbx_close(fd);
	}
	return ok;
}

/* Goes into the next folder of the deepest level, which is left when there is none. */
static bool go_on(struct walk *walk)
{
	struct level *level = &walk->levels[walk->n - 1];
	const char *name;
	int fd;

	if (level->at == level->names.len) {
		leave(walk);
		return true;
	}
	name = level->names.p + level->at;
	level->at += strlen(name) + 1;
	fd = open_folder(level->fd, name);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
	/* A chain of folders, however deep, takes two descriptors. */
	if (level->at == level->names.len)
		leave(walk);
	return enter(walk, fd);
}

bool sbx_tree_measure(int folder, uint64_t most, uint64_t *ret)
{
	struct walk walk = {.most = most};
	int fd = open_folder(folder, ".");
	bool ok = fd >= 0 && enter(&walk, fd);

	while (ok && walk.n > 0 && walk.bytes <= most)
		ok = go_on(&walk);
	while (walk.n > 0)
		leave(&walk);
	free(walk.levels);
	*ret = walk.bytes;
	return ok;
}

/* ---- removing */

/*
 * A folder that is not empty is moved up to the top, under a number, and emptied there in its turn: so no path is long, no
 * descriptor is held for a level, and one that was begun can be gone on with.
 */
struct removal {
	int top;
	uint64_t number;
};

static int move_up(struct removal *removal, int parent, const char *name)
{
	char to[24];

	do {
		(void)snprintf(to, sizeof(to), "%" PRIu64, removal->number++);
		if (renameat(parent, name, removal->top, to) == 0)
			return 0;
	} while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
	return -1;
}

/* A file, or an empty folder; 0 where it is gone now. */
static int unlink_either(int parent, const char *name)
{
	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return 0;
	return errno == EISDIR || errno == EPERM ? unlinkat(parent, name, AT_REMOVEDIR) : -1;
}

/* Empties a folder of the top, of which what is not empty itself moves up. */
static int strip(struct removal *removal, const char *name)
{
	const struct dirent *entry;
	int fd, num = 0;
	DIR *dir;

	fd = open_folder(removal->top, name);
	dir = fd >= 0 ? list(fd) : NULL;
	if (!dir)
		num = errno;
	while (dir && num == 0 && (entry = next(dir))) {
		if (unlink_either(fd, entry->d_name) < 0 && move_up(removal, fd, entry->d_name) < 0)
			num = errno;
	}
	if (num == 0)
		num = errno;
	/* The top has as many folders as this file system allows: it is emptied first. */
	if (num == EMLINK)
		num = 0;
	if (dir)
		(void)closedir(dir);
	sbx_close(fd);
	errno = num;
	return num == 0 ? 0 : -1;
}

int sbx_tree_empty(int folder, struct sbx_err *err)
{
	struct removal removal = {.top = folder};
	bool again = true;

	while (again) {
		const struct dirent *entry;
		DIR *dir = list(folder);

		again = false;
		if (!dir)
			return sbx_fail_sys(err, errno, "cannot read a folder that is to go");
		while (err->code == SBX_E_OK && (entry = next(dir))) {
			again = true;
			if (unlink_either(folder, entry->d_name) == 0)
				continue;
			if (strip(&removal, entry->d_name) < 0)
				(void)sbx_fail_sys(err, errno, "cannot remove what is in '%s'",
						   entry->d_name);
		}
		(void)closedir(dir);
		if (err->code != SBX_E_OK)
			return -1;
	}
	return 0;
}
