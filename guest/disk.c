/*
 * What the program's files take where no file system of its own bounds them.  What has no name any more is not seen: a file of the
 * largest size for each descriptor.  A tree that is deeper than any honest one is as good as too large.
 */
#include "guest/guest.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEPTH = 200,
	BLOCK = 512,     /* of st_blocks */
	PER_NAME = 1024, /* what a name and an inode take at least */
	REST_NS = 100000000,
	REST_TIMES = 20, /* of the time that the last look took */
};

/* Takes the sizes off *left; false when nothing is left of it. */
static bool take(int dir, const char *name, int depth, uint64_t *left)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *entry;
	bool fits = depth > 0;
	DIR *list;

	/* Nothing can be made in one that the program has shut to itself. */
	list = fd >= 0 ? fdopendir(fd) : NULL;
	if (!list) {
		if (fd >= 0)
			close(fd);
		return true;
	}
	while (fits && (entry = readdir(list))) {
		struct stat st;
		uint64_t size;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		size = (uint64_t)st.st_blocks * BLOCK + PER_NAME;
		fits = size <= *left;
		*left -= fits ? size : 0;
		if (fits && S_ISDIR(st.st_mode))
			fits = take(fd, entry->d_name, depth - 1, left);
	}
	closedir(list);
	return fits;
}

bool disk_fits(struct guest *g)
{
	uint64_t start = now_ns(), left = g->disk_bytes, took;
	bool fits = true;

	if (!g->bare || g->disk_bytes == UINT64_MAX || start < g->disk_next_ns)
		return true;
	for (uint32_t i = 0; fits && i < g->n_writable; i++)
		fits = take(AT_FDCWD, g->writable[i], DEPTH, &left);
	took = now_ns() - start;
	g->disk_next_ns = start + (took * REST_TIMES > REST_NS ? took * REST_TIMES : REST_NS);
	return fits;
}
