/* What exhausts something shared, alone in a run with small limits.  Each stops by itself well above them: then it was reached. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.h"

enum { BOMB_MS = 700, SPIN_MS = 1500, MANY = 1000, MIB = 1 << 20, STEP = 4 << 20, PAGE = 4096 };

/* Beyond this the limit did not hold. */
static uint64_t far_too_much(const struct attack *a)
{
	return a->plant->memory == UINT64_MAX ? (uint64_t)1 << 30 : 4 * a->plant->memory;
}

/* ---- processes */

struct crowd {
	int alive, most, refused;
};

static void note_alive(struct crowd *c)
{
	int now = __atomic_add_fetch(&c->alive, 1, __ATOMIC_RELAXED);
	int most = __atomic_load_n(&c->most, __ATOMIC_RELAXED);

	while (now > most && !__atomic_compare_exchange_n(&c->most, &most, now, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Every child does the same: that is what makes it a bomb. */
static void bomb(struct crowd *c, uint64_t deadline)
{
	while (now_ms() < deadline) {
		pid_t pid = fork();

		if (pid == 0)
			note_alive(c);
		else if (pid < 0)
			(void)__atomic_add_fetch(&c->refused, 1, __ATOMIC_RELAXED);
		if (__atomic_load_n(&c->most, __ATOMIC_RELAXED) > MANY)
			return;
	}
}

static void rl01(struct attack *a)
{
	struct crowd *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t self = getpid();

	if (c == MAP_FAILED) {
		say(a, UNKNOWN, "no memory");
		return;
	}
	note_alive(c);
	bomb(c, now_ms() + BOMB_MS);
	if (getpid() != self) {
		(void)__atomic_sub_fetch(&c->alive, 1, __ATOMIC_RELAXED);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	must_hold(a, c->refused > 0 && (uint64_t)c->most <= a->plant->pids,
		  "%d at once, %d refused", c->most, c->refused);
}

static void *hang(void *arg)
{
	(void)arg;
	for (;;)
		(void)pause();
	return NULL;
}

static int count_threads(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int n = 0;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, 64 << 10);
	while (n < MANY && pthread_create(&thread, &attr, hang, NULL) == 0)
		n++;
	return n;
}

static void rl02(struct attack *a)
{
	int zombies = 0, threads;
	pid_t pid = 0;

	while (zombies < MANY && (pid = fork()) > 0)
		zombies++;
	if (pid == 0)
		_exit(0);
	must_hold(a, zombies < MANY && (uint64_t)zombies <= a->plant->pids, "%d zombies", zombies);
	while (wait(NULL) > 0)
		;
	threads = count_threads();
	must_hold(a, threads < MANY && (uint64_t)threads <= a->plant->pids, "%d threads", threads);
}

static void spin(void *arg)
{
	uint64_t deadline = now_ms() + *(unsigned int *)arg;

	while (now_ms() < deadline)
		;
}

static void spin_all(unsigned int ms)
{
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			spin(&ms);
			_exit(0);
		}
	}
	spin(&ms);
	while (wait(NULL) > 0)
		;
}

static void rl11(struct attack *a)
{
	(void)a;
	spin_all(SPIN_MS);
}

static void spin_long(struct attack *a)
{
	(void)a;
	spin_all(60000);
}

/* ---- memory */

static void enough(struct attack *a, uint64_t got, const char *what)
{
	if (got >= far_too_much(a))
		say(a, REACHED, "%llu MiB of %s", (unsigned long long)(got / MIB), what);
	else
		say(a, CONTAINED, "%s after %llu MiB of %s", error_name(errno),
		    (unsigned long long)(got / MIB), what);
}

static void rl03(struct attack *a)
{
	uint64_t got = 0;

	while (got < far_too_much(a)) {
		void *p = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (p == MAP_FAILED)
			break;
		memset(p, 0x5a, STEP);
		got += STEP;
		if (got % (16 << 20) == 0)
			tell(a, "mib", "%llu", (unsigned long long)(got / MIB));
	}
	enough(a, got, "memory");
}

/* Each page of a table maps 2 MiB: a byte read of each costs 4 KiB that no RLIMIT counts. */
static void rl04(struct attack *a)
{
	const size_t span = (size_t)512 << 30, step = 2 << 20;
	const volatile char *p =
		mmap(NULL, span, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t got = 0;

	if (p == MAP_FAILED) {
		say(a, CONTAINED, "%s for 512 GiB of addresses", error_name(errno));
		return;
	}
	(void)madvise((void *)(uintptr_t)p, span, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < span && got < far_too_much(a); at += step, got += PAGE)
		(void)p[at];
	errno = 0;
	enough(a, got, "page tables");
}

/* Until an error; the bytes that were written. */
static uint64_t fill(int fd, uint64_t max)
{
	static char block[MIB]; /* what everything is filled with */
	uint64_t got = 0;
	ssize_t n;

	memset(block, 'x', sizeof(block));
	while (got < max && (n = write(fd, block, sizeof(block))) > 0)
		got += (uint64_t)n;
	return got;
}

static void rl05(struct attack *a)
{
	const char *dirs[] = {a->plant->workdir, "/tmp", "/dev/shm"};
	uint64_t size = 0, got = 0;
	int fd;

	for (size_t i = 0; i < LENGTH(dirs); i++) {
		struct statvfs fs;
		char path[300];

		if (statvfs(dirs[i], &fs) == 0)
			size += (uint64_t)fs.f_blocks * fs.f_frsize;
		(void)snprintf(path, sizeof(path), "%s/fill", dirs[i]);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			got += fill(fd, far_too_much(a));
	}
	tell(a, "scratch", "%llu", (unsigned long long)size);
	tell(a, "filled", "%llu", (unsigned long long)got);
	fd = memfd_create("fill", MFD_CLOEXEC);
	if (fd >= 0)
		got += fill(fd, far_too_much(a));
	enough(a, got, "memfd and tmpfs");
}

static void rl06(struct attack *a)
{
	size_t size = (size_t)far_too_much(a);
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (p == (void *)-1) {
		say(a, CONTAINED, "%s for %zu MiB", error_name(errno), size / MIB);
		return;
	}
	(void)shmctl(id, IPC_RMID, NULL);
	for (size_t at = 0; at < size; at += PAGE)
		p[at] = 1;
	enough(a, size, "System V memory");
}

/* Full pipes and sockets: memory of the kernel's. */
static void rl07(struct attack *a)
{
	uint64_t got = 0;
	int n = 0, p[2];

	while (n < 2000 && pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0) {
		(void)fcntl(p[1], F_SETPIPE_SZ, MIB);
		got += fill(p[1], MIB);
		n++;
		if (n == 300)
			break;
	}
	while (n < 2000 &&
	       socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p) == 0) {
		int size = MIB;

		(void)setsockopt(p[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		got += fill(p[0], MIB);
		n++;
	}
	if (n >= 2000)
		say(a, REACHED, "%d pipes and sockets", n);
	else
		enough(a, got, "pipes and sockets");
}

/* ---- crashes */

static void rl13(struct attack *a)
{
	volatile int *volatile nowhere = BAD;

	(void)a;
	*nowhere = 0;
}

static unsigned int __attribute__((noinline)) deeper(unsigned int n)
{
	volatile char frame[PAGE] = {0};

	frame[n % PAGE] = (char)n;
	return n == UINT32_MAX ? 0 : deeper(n + 1) + (unsigned int)frame[0];
}

static void recurse(struct attack *a)
{
	say(a, deeper(1) ? REACHED : UNKNOWN, "the stack has no end");
}

/* ---- output */

static void dk04(struct attack *a)
{
	static char block[64 << 10]; /* as much as a pipe takes */

	(void)a;
	memset(block, 'x', sizeof(block));
	for (;;) {
		if (write(STDOUT_FILENO, block, sizeof(block)) < 0 ||
		    write(STDERR_FILENO, block, sizeof(block)) < 0)
			return;
	}
}

const struct probe alone_bombs[] = {
	{"RL01", rl01},
	{"RL02", rl02},
	{"RL03", rl03},
	{"RL04", rl04},
	{"RL05", rl05},
	{"RL06", rl06},
	{"RL07", rl07},
	{"RL11", rl11},
	{"RL13", rl13},
	{"DK04", dk04},
	{"recurse", recurse},
	{"spin", spin_long},
	{0},
};
