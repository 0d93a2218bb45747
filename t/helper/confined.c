/*
 * confined [-1] -- PROGRAM [ARG...]: runs a program as the guest does, without a sandbox around it: limits, Landlock (what may be
 * written is below /tmp, /dev, /proc and the working directory), id 65532 when started by root, no capabilities, the filter.
 * -1: keeps the id, and takes the filter that goes with that.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "guest/confine.h"

enum { PROGRAM_ID = 65532, CANNOT_CONFINE = 125, CANNOT_START = 127 };

int main(int argc, char **argv)
{
	struct confine c = {
		.uid = PROGRAM_ID,
		.gid = PROGRAM_ID,
		.seccomp = true,
		.landlock = true,
		.rlimit = {{RLIMIT_CORE, 0}, {RLIMIT_NOFILE, 1024}, {RLIMIT_MSGQUEUE, 0}},
		.n_rlimits = 3,
		.umask = 077,
		.oom_score_adj = 1000};
	struct confine_fail fail;
	char cwd[PATH_MAX];
	int opt;

	while ((opt = getopt(argc, argv, "+1")) == '1')
		c.one_id = true;
	if (opt != -1 || optind == argc || !getcwd(cwd, sizeof(cwd))) {
		fputs("usage: confined [-1] -- PROGRAM [ARG...]\n", stderr);
		return CANNOT_CONFINE;
	}
	c.one_id = c.one_id || geteuid() != 0;
	c.writable[0] = "/tmp";
	c.writable[1] = "/dev";
	c.writable[2] = "/proc";
	c.writable[3] = cwd;
	if (confine_apply(&c, &fail) < 0) {
		fprintf(stderr, "confined: %s: errno %d\n", fail.step, fail.sys);
		return CANNOT_CONFINE;
	}
	execvp(argv[optind], argv + optind);
	fprintf(stderr, "confined: cannot start %s: errno %d\n", argv[optind], errno);
	return CANNOT_START;
}
