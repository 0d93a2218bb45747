#include "guest/guest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

/* The number at p, which ends at anything else; 0 where there is none. */
static uint64_t number(const char **p)
{
	uint64_t v = 0;

	while (**p == ' ')
		(*p)++;
	while (**p >= '0' && **p <= '9')
		v = v * 10 + (uint64_t)(*(*p)++ - '0');
	return v;
}

static bool read_small(int dir, const char *pid, const char *file, char buf[static 512])
{
	char path[64];
	size_t n = strlen(pid);
	ssize_t got;
	int fd;

	if (n > 20)
		return false;
	memcpy(path, pid, n);
	path[n] = '/';
	memcpy(path + n + 1, file, strlen(file) + 1);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, buf, 511);
	close(fd);
	if (got <= 0)
		return false;
	buf[got] = 0;
	return true;
}

/*
 * proc_pid_stat(5): fields 14 to 17 are the times of the process and of the children that it has waited for, user and system
 * each; the name in field 2 may hold anything, its last ')' ends it.
 */
static uint64_t cpu_ticks(const char *stat)
{
	const char *p = strrchr(stat, ')');
	uint64_t ticks = 0;

	if (!p)
		return 0;
	for (int field = 2; field < 14 && *p; p++)
		field += *p == ' ';
	for (int i = 0; i < 4; i++)
		ticks += number(&p);
	return ticks;
}

/* "Pss: 1234 kB": its part of what it shares with others.  What it does not let us see counts in full. */
static uint64_t proportional(int dir, const char *pid, gid_t programs, uint64_t rss_bytes)
{
	const char *p = NULL;
	char buf[512];

	/* By the program's own rights, which are those for looking at its memory. */
	setfsgid(programs);
	if (read_small(dir, pid, "smaps_rollup", buf))
		p = strstr(buf, "\nPss:");
	setfsgid(getegid());
	if (!p)
		return rss_bytes;
	p += strlen("\nPss:");
	return number(&p) * 1024;
}

static void measure_one(int dir, const char *pid, gid_t programs, bool exact, struct tree *ret)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const char *p;
	char buf[512];

	p = buf;
	if (read_small(dir, pid, "statm", buf)) {
		uint64_t rss;

		(void)number(&p);
		rss = number(&p) * page;
		ret->memory_bytes += exact ? proportional(dir, pid, programs, rss) : rss;
	}
	if (read_small(dir, pid, "stat", buf))
		ret->cpu_ns += cpu_ticks(buf) * tick_ns;
}

/* All that a namespace shows but process 1, which is this one. */
static void measure_all(DIR *dir, gid_t programs, bool exact, struct tree *ret)
{
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
		    strcmp(entry->d_name, "1") != 0)
			measure_one(dirfd(dir), entry->d_name, programs, exact, ret);
	}
}

static void measure_below(DIR *dir, gid_t programs, bool exact, struct tree *ret)
{
	struct tree_pids pids;

	tree_list(&pids);
	for (size_t i = 0; i < pids.n; i++) {
		char digits[12], *p = digits + sizeof(digits);
		pid_t pid = pids.v[i];

		*--p = '\0';
		do
			*--p = (char)('0' + pid % 10);
		while ((pid /= 10) > 0);
		measure_one(dirfd(dir), p, programs, exact, ret);
	}
	free(pids.v);
}

/*
 * As the group that /proc hides nothing from (its gid=): with the program's, which files are touched with, one that made itself
 * undumpable could not be seen.
 */
void tree_measure(const struct guest *g, bool exact, struct tree *ret)
{
	gid_t programs = (gid_t)setfsgid(getegid());
	DIR *dir = opendir("/proc");

	*ret = (struct tree){0};
	if (dir) {
		(g->bare ? measure_below : measure_all)(dir, programs, exact, ret);
		closedir(dir);
	}
	setfsgid(programs);
}
