/* PR: processes, signals and IPC across the boundary. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.h"

static void nap(void *arg)
{
	(void)arg;
	sleep_ms(5000);
}

static void control(struct attack *a)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "\0llmsbx-attack-own"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), id, status;
	void *p;

	must_work(a,
		  fd >= 0 && bind(fd, (struct sockaddr *)&un, sizeof(un)) == 0 &&
			  listen(fd, 1) == 0,
		  "an abstract socket of one's own");
	if (fd >= 0)
		close(fd);
	id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	p = id >= 0 ? shmat(id, NULL, 0) : (void *)-1;
	must_work(a, p != (void *)-1, "shared memory of one's own");
	if (p != (void *)-1)
		(void)shmdt(p);
	if (id >= 0)
		(void)shmctl(id, IPC_RMID, NULL);
	status = in_child(nap, NULL, 20); /* killed after 20 ms */
	must_work(a, status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		  "kill a child");
}

static void pr01(struct attack *a)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	unsigned int n = 0;

	while (dir && (d = readdir(dir))) {
		char path[300];
		struct stat st;

		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		n++;
		(void)snprintf(path, sizeof(path), "/proc/%s", d->d_name);
		if (stat(path, &st) < 0)
			continue;
		/* The guest is 1, another user's unless there is one id. */
		must_hold(a, strcmp(d->d_name, "1") == 0 || st.st_uid == getuid(),
			  "own processes only");
	}
	if (dir)
		(void)closedir(dir);
	else
		must_fail(a, "/proc", -1);
	must_hold(a, n < 10, "%u processes", n);
}

static void pr03(struct attack *a)
{
	must_not_open(a, "/proc/1/mem", O_RDWR);
	must_not_open(a, "/proc/1/mem", O_RDONLY);
	must_not_open(a, "/proc/1/environ", O_RDONLY);
	must_not_open(a, "/proc/1/auxv", O_RDONLY);
	must_not_open(a, "/proc/1/fd/3", O_RDWR);
	must_fail(a, "ptrace 1", syscall(SYS_ptrace, 16 /* ATTACH */, 1, 0, 0));
	must_fail(a, "seize 1", syscall(SYS_ptrace, 0x4206 /* SEIZE */, 1, 0, 0));
}

static void see_guest(struct walk *w, const char *path, unsigned char type)
{
	/* It runs: that is asked before whether its mount is read-only. */
	static const int busy[] = {ETXTBSY, 0};
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	(void)type;
	must_fail_or(w->attack, path, fd, busy);
	if (fd >= 0)
		close(fd);
	must_fail(w->attack, "chmod", chmod(path, 0777));
	must_fail(w->attack, "unlink", unlink(path));
}

static void pr04(struct attack *a)
{
	static const int busy[] = {ETXTBSY, 0};
	struct walk w = {.see = see_guest, .attack = a, .left = 100};
	uint64_t end = now_ms() + 50;

	do
		must_fail_or(a, "/proc/self/exe", open("/proc/self/exe", O_WRONLY | O_CLOEXEC),
			     busy);
	while (now_ms() < end && a->verdict != REACHED);
	must_fail_or(a, "/proc/1/exe", open("/proc/1/exe", O_WRONLY | O_CLOEXEC), busy);
	must_fail_or(a, "/proc/1/exe", open("/proc/1/exe", O_WRONLY | O_TRUNC | O_CLOEXEC), busy);
	walk_tree(&w, "/.llmsbx", 2);
}

static void pr05(struct attack *a)
{
	int key = (int)a->plant->key;

	must_fail(a, "shmget", shmget(key, 0, 0));
	must_fail(a, "semget", semget(key, 0, 0));
	must_fail(a, "msgget", msgget(key, 0));
}

static void pr06(struct attack *a)
{
	static const int full[] = {EMFILE, 0};
	mqd_t q = mq_open("/llmsbx-attack", O_CREAT | O_RDWR, 0600, NULL);
	struct stat st;

	must_fail_or(a, "mq_open", q, full);
	if (q >= 0)
		(void)mq_unlink("/llmsbx-attack");
	must_fail(a, "/dev/mqueue", stat("/dev/mqueue", &st));
}

static void try_connect(struct attack *a, const char *what, const struct sockaddr_un *un,
			size_t len)
{
	static const int refuses[] = {ECONNREFUSED, 0};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must_fail_or(a, what, connect(fd, (const struct sockaddr *)un, (socklen_t)len), refuses);
	if (fd >= 0)
		close(fd);
}

static void pr07(struct attack *a)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	size_t n = strlen(a->plant->abstract);

	memcpy(un.sun_path + 1, a->plant->abstract, n);
	try_connect(a, "the abstract socket", &un, offsetof(struct sockaddr_un, sun_path) + 1 + n);
	un = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%.107s", a->plant->socket);
	try_connect(a, "the socket by path", &un, sizeof(un));
}

static void pr08(struct attack *a)
{
	must_fail(a, "add_key", syscall(SYS_add_key, "user", "llmsbx", "x", 1, -4));
	must_fail(a, "search", syscall(SYS_keyctl, 10, -4, "user", "llmsbx", 0));
}

/* ---- against the guest, and against others' share of the machine */

static void raise_priority(struct attack *a)
{
	struct sched_param fifo = {.sched_priority = 1};

	must_fail(a, "setpriority -20", setpriority(PRIO_PROCESS, 0, -20));
	must_fail(a, "nice -1", setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - 1));
	must_fail(a, "SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &fifo));
	must_fail(a, "real-time io",
		  syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
			  IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 0)));
}

static void bend_guest(struct attack *a)
{
	static const int none[] = {ESRCH, 0}; /* a /proc and a kill that do not show it */
	struct rlimit small = {1, 1};
	struct sched_param plain = {.sched_priority = 0};
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	must_fail_or(a, "prlimit 1", syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, &small, NULL), none);
	must_fail_or(a, "setpriority 1", setpriority(PRIO_PROCESS, 1, 19), none);
	must_fail_or(a, "sched_setaffinity 1", sched_setaffinity(1, sizeof(cpus), &cpus), none);
	must_fail_or(a, "sched_setscheduler 1", sched_setscheduler(1, SCHED_IDLE, &plain), none);
	must_fail_or(a, "ioprio_set 1",
		     syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 1,
			     IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)),
		     none);
	must_fail_or(a, "SIGSTOP 1", kill(1, SIGSTOP), none);
}

/* Every signal: if one of them ended the guest, the run would be lost, and so would what is said here. */
static void pr11(struct attack *a)
{
	raise_priority(a);
	bend_guest(a);
	for (int sig = 1; sig <= 64; sig++)
		(void)kill(1, sig);
	sleep_ms(20);
	say(a, CONTAINED, "64 signals to process 1");
}

/* ---- cores */

static _Noreturn void crash(void *arg)
{
	(void)arg;
	(void)signal(SIGABRT, SIG_DFL);
	abort();
}

static void see_core(struct walk *w, const char *path, unsigned char type)
{
	(void)type;
	if (strstr(path, "/core"))
		w->hits++;
}

static void pr12(struct attack *a)
{
	struct walk w = {.see = see_core, .attack = a, .left = 10000};
	int status = in_child(crash, NULL, 5000);
	struct rlimit core;

	if (status < 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
		say(a, UNKNOWN, "abort did not abort");
		return;
	}
	must_hold(a, !WCOREDUMP(status), "no core was dumped");
	if (getrlimit(RLIMIT_CORE, &core) != 0)
		core.rlim_max = RLIM_INFINITY;
	must_hold(a, core.rlim_max <= 1, "RLIMIT_CORE is %llu", (unsigned long long)core.rlim_max);
	walk_tree(&w, a->plant->workdir, 2);
	walk_tree(&w, "/tmp", 2);
	must_hold(a, w.hits == 0, "no core file");
}

const struct probe pr_probes[] = {
	{"PR00", control},
	{"PR01", pr01},
	{"PR03", pr03},
	{"PR04", pr04},
	{"PR05", pr05},
	{"PR06", pr06},
	{"PR07", pr07},
	{"PR08", pr08},
	{"PR11", pr11},
	{"PR12", pr12},
	{0},
};
