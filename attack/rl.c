/* RL: limits that a program meets without harm to itself.  Those that end it run alone: bombs.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack/attack.h"

enum { MANY = 100000, CHILDREN = 10, SOME = 16 << 20 };

static void control(struct attack *a)
{
	unsigned int ended = 0;
	char *p;

	for (int i = 0; i < CHILDREN; i++)
		if (fork() == 0)
			_exit(0);
	while (wait(NULL) > 0)
		ended++;
	must_work(a, ended == CHILDREN, "ten processes");
	p = malloc(SOME);
	if (p)
		memset(p, 1, SOME);
	must_work(a, p != NULL, "16 MiB of memory");
	free(p);
}

static void rl08(struct attack *a)
{
	static const int refuses[] = {ENOMEM, EAGAIN, 0};
	void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		say(a, UNKNOWN, "no memory: %s", error_name(errno));
		return;
	}
	must_fail_or(a, "mlock of 1 MiB", mlock(p, 1 << 20), refuses);
	must_fail_or(a, "mlockall", mlockall(MCL_FUTURE), refuses);
	(void)munmap(p, 1 << 20);
}

/* What is executed is there, so that only the size can be refused. */
static void rl09(struct attack *a)
{
	static const int refuses[] = {E2BIG, ENOMEM, 0};
	enum { WORDS = 104, WORD = 128 << 10 };
	static char
		word[WORD]; /* one word of the largest size that the kernel takes, less its end */
	static char ids[] = "ids";
	char *many[WORDS + 1] = {NULL}, *one[] = {ids, ids, ids, NULL};

	memset(word, 'x', sizeof(word) - 1);
	for (int i = 0; i < WORDS; i++)
		many[i] = word;
	must_fail_or(a, "13 MiB of environment", execve("/proc/self/exe", one, many), refuses);
	must_fail_or(a, "13 MiB of arguments", execve("/proc/self/exe", many, one + 3), refuses);
}

static long until_error(long (*make)(void))
{
	long n = 0;

	while (n < MANY && make() >= 0)
		n++;
	return n;
}

static long make_timer(void)
{
	timer_t timer;
	struct sigevent ev = {.sigev_notify = SIGEV_NONE};

	return timer_create(CLOCK_MONOTONIC, &ev, &timer);
}

static long make_watch(void)
{
	return inotify_init1(IN_CLOEXEC);
}

static long make_epoll(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

static void rl10(struct attack *a)
{
	static long (*const makers[])(void) = {make_timer, make_watch, make_epoll};
	static const char *const names[] = {"timers", "watches", "epolls"};

	for (size_t i = 0; i < LENGTH(makers); i++) {
		long n = until_error(makers[i]);

		must_hold(a, n < MANY, "%ld %s, then %s", n, names[i], error_name(errno));
	}
}

/* The second wall, which is the only one where there is no cgroup: a little further out, and the guest may count as well. */
static void rl15(struct attack *a)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	(void)getrlimit(RLIMIT_NPROC, &limit);
	must_hold(a,
		  limit.rlim_max != RLIM_INFINITY &&
			  (a->plant->pids == UINT64_MAX || limit.rlim_max <= a->plant->pids + 3),
		  "RLIMIT_NPROC is %llu", (unsigned long long)limit.rlim_max);
	if (getrlimit(RLIMIT_DATA, &limit) == 0)
		tell(a, "data", "%llu", (unsigned long long)limit.rlim_max);
}

const struct probe rl_probes[] = {
	{"RL00", control}, {"RL08", rl08}, {"RL09", rl09}, {"RL10", rl10}, {"RL15", rl15}, {0},
};
