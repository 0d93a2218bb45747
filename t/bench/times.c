/*
 * Runs commands in turn, A B C A B C ..., and prints the median of each in microseconds.
 *
 * usage: times ROUNDS COMMAND [ARG...] :: COMMAND [ARG...] ...
 *
 * One line a command: median, least, greatest wall time, and the greatest resident set of any of its processes in KiB.  Standard
 * input and output are /dev/null, for a command that begins with `<FILE` input is FILE.  A command that fails (its status is not
 * 0) ends it all with status 1: a time of a failure is no time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS = 16, ROUNDS = 1000 };

struct command {
	char **argv;
	const char *input;
	long us[ROUNDS];
	long rss_kib;
};

static long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void child(const struct command *c)
{
	int in = open(c->input, O_RDONLY), out = open("/dev/null", O_WRONLY);

	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(126);
	close(in);
	close(out);
	execvp(c->argv[0], c->argv);
	_exit(127);
}

static void run(struct command *c, int round)
{
	long start = now_us();
	struct rusage usage;
	pid_t pid = vfork();
	int status;

	if (pid == 0)
		child(c);
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || status != 0) {
		fprintf(stderr, "times: '%s' failed with status %#x\n", c->argv[0], status);
		exit(1);
	}
	c->us[round] = now_us() - start;
	if (usage.ru_maxrss > c->rss_kib)
		c->rss_kib = usage.ru_maxrss;
}

static int compare(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	static struct command commands[COMMANDS];
	int n = 0, rounds = argc > 2 ? atoi(argv[1]) : 0;

	if (rounds < 1 || rounds > ROUNDS) {
		fprintf(stderr, "usage: times ROUNDS COMMAND [ARG...] [:: COMMAND [ARG...]]...\n");
		return 2;
	}
	for (int i = 2; i < argc && n < COMMANDS; n++) {
		commands[n].input = "/dev/null";
		if (argv[i][0] == '<')
			commands[n].input = argv[i++] + 1;
		commands[n].argv = &argv[i];
		while (i < argc && strcmp(argv[i], "::") != 0)
			i++;
		if (i < argc)
			argv[i++] = NULL;
	}
	for (int c = 0; c < n; c++) /* once to warm up */
		run(&commands[c], 0);
	for (int round = 0; round < rounds; round++)
		for (int c = 0; c < n; c++)
			run(&commands[c], round);
	for (int c = 0; c < n; c++) {
		qsort(commands[c].us, (size_t)rounds, sizeof(long), compare);
		printf("%ld %ld %ld %ld\n", commands[c].us[rounds / 2], commands[c].us[0],
		       commands[c].us[rounds - 1], commands[c].rss_kib);
	}
	return 0;
}
