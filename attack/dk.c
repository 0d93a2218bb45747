/* DK: disk, inodes, descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack/attack.h"

enum { MANY = 100000 };

static void control(struct attack *a)
{
	static char block[1 << 20]; /* what is stored */
	struct stat st;

	memset(block, 'x', sizeof(block));
	must_work(a,
		  write_text("mebibyte", block, sizeof(block), 0600) == 0 &&
			  stat("mebibyte", &st) == 0 && st.st_size == sizeof(block),
		  "store 1 MiB");
	(void)unlink("mebibyte");
}

static void dk02(struct attack *a)
{
	char name[64];
	int made = 0, num;

	if (mkdir("inodes", 0700) < 0 || chdir("inodes") < 0) {
		say(a, UNKNOWN, "no folder could be made");
		return;
	}
	for (; made < MANY; made++) {
		(void)snprintf(name, sizeof(name), "%d", made);
		if (write_text(name, "", 0, 0600) < 0)
			break;
	}
	num = errno;
	must_hold(a, made < MANY, "%d files, then %s", made, error_name(num));
	while (made-- > 0) {
		(void)snprintf(name, sizeof(name), "%d", made);
		(void)unlink(name);
	}
	(void)chdir("..");
	(void)rmdir("inodes");
}

/* A hole costs nothing; what counts is what is taken. */
static void dk03(struct attack *a)
{
	static const int refuses[] = {ENOSPC, EFBIG, EDQUOT, EOPNOTSUPP, 0};
	int fd = open("sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0) {
		say(a, UNKNOWN, "no file could be made");
		return;
	}
	if (ftruncate(fd, (off_t)1 << 50) < 0)
		must_fail_or(a, "1 PiB", -1, refuses);
	else
		must_hold(a, fstat(fd, &st) == 0 && st.st_blocks == 0,
			  "1 PiB is a hole of no blocks");
	(void)ftruncate(fd, 0);
	must_fail_or(a, "10 GiB", fallocate(fd, 0, 0, (off_t)10 << 30), refuses);
	close(fd);
	(void)unlink("sparse");
}

static void dk05(struct attack *a)
{
	int n = 0;

	while (n < MANY && dup(STDIN_FILENO) >= 0)
		n++;
	must_hold(a, n < MANY, "%d descriptors, then %s", n, error_name(errno));
}

const struct probe dk_probes[] = {
	{"DK00", control}, {"DK02", dk02}, {"DK03", dk03}, {"DK05", dk05}, {0}};
