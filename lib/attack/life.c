/* TM: deadlines, survivors, and the death of llmsbx itself. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/attack/test.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/base/rand.h"
#include "lib/base/strv.h"
#include "lib/sandbox/backends.h"
#include "lib/sandbox/run.h"

enum { KILLS = 24, KILL_WITHIN_MS = 64, GONE_MS = 2000, MOUNTS_MAX = 16 << 20 };
#define MS UINT64_C(1000000)

/* ---- deadlines */

/* Of a run that does nothing, here and now. */
static uint64_t start_ns(struct sbx_test *t)
{
	static const struct sbx_try nothing = {.name = "nothing"};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	uint64_t ns;

	sbx_try(t, &nothing, seen);
	ns = seen->wall_ns;
	free(seen);
	return ns;
}

/* Ends with outcome within ms and what a start takes, and nothing of it is left half a second later. */
static void try_deadline(struct sbx_test *t, enum sbx_probe p, const struct sbx_try *try,
			 enum sbx_outcome outcome, unsigned int ms)
{
	struct sbx_seen *seen = sbx_new(struct sbx_seen);

	sbx_try(t, try, seen);
	if (!seen->started) {
		sbx_note(t, p, SBX_VERDICT_UNKNOWN, "no run: %s", seen->error);
	} else {
		int left = sbx_wait_unmarked(t, 500);

		sbx_note_fact(t, p, seen->outcome == outcome && seen->ends == 1, "it ended as '%s'",
			      sbx_outcome_name(seen->outcome));
		sbx_note_fact(t, p, seen->wall_ns < ms * MS + start_ns(t), "after %llu ms",
			      (unsigned long long)(seen->wall_ns / MS));
		if (left < 0)
			sbx_note(t, p, SBX_VERDICT_UNKNOWN, "processes cannot be listed");
		else
			sbx_note_fact(t, p, left == 0, "%d survivors", left);
	}
	free(seen);
}

static void try_deadlines(struct sbx_test *t)
{
	static const struct sbx_try deaf = {.name = "TM01", .set = {{"timeout", "1s"}}};
	static const struct sbx_try daemon = {.name = "TM02", .set = {{"timeout", "20s"}}};
	static const struct sbx_try stopped = {.name = "TM04", .set = {{"timeout", "1s"}}};
	static const struct sbx_try storm = {.name = "TM05",
					     .set = {{"timeout", "1s"}, {"pids", "64"}}};
	static const struct sbx_try busy = {.name = "TM06",
					    .set = {{"cpu-time", "1s"}, {"timeout", "20s"}}};

	/* A second, the half second of the promise, and another half for a start on a busy machine. */
	try_deadline(t, SBX_P_TM01, &deaf, SBX_OUT_TIMEOUT, 2000);
	try_deadline(t, SBX_P_TM02, &daemon, SBX_OUT_EXITED, 1500);
	try_deadline(t, SBX_P_TM04, &stopped, SBX_OUT_TIMEOUT, 2000);
	try_deadline(t, SBX_P_TM05, &storm, SBX_OUT_TIMEOUT, 2500);
	try_deadline(t, SBX_P_TM06, &busy, SBX_OUT_CPU_TIMEOUT, 5000);
}

static void try_codes(struct sbx_test *t)
{
	static const struct {
		const char *name;
		int code;
	} ends[] = {{"124", 124}, {"137", 137}, {"143", 143}, {"159", 159}};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(ends); i++) {
		const struct sbx_try try = {.name = ends[i].name};
		struct sbx_seen *seen = sbx_new(struct sbx_seen);

		sbx_try(t, &try, seen);
		if (sbx_ran(t, SBX_P_TM07, seen))
			sbx_note_fact(t, SBX_P_TM07,
				      seen->outcome == SBX_OUT_EXITED && seen->has_exit_code &&
					      seen->exit_code == ends[i].code,
				      "%d is '%s'", ends[i].code, sbx_outcome_name(seen->outcome));
		free(seen);
	}
}

/*
 * Moving the clock of a machine that others use is not ours to do: only where a test asks for it (SBX_TEST_STEP_CLOCK, on a machine
 * of its own).
 */
static void step_clock(time_t by)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return;
	now.tv_sec += by;
	(void)clock_settime(CLOCK_REALTIME, &now);
}

static void on_clock(struct sbx_test *t, const char *id, const char *key, const char *value)
{
	(void)t;
	(void)id;
	(void)value;
	if (strcmp(key, "ready") == 0)
		step_clock(3600);
}

static void try_clock(struct sbx_test *t)
{
	static const struct sbx_try waiting = {
		.name = "pairA", .set = {{"timeout", "10s"}}, .on_tell = on_clock};
	struct timespec now;

	if (!getenv("SBX_TEST_STEP_CLOCK") || clock_gettime(CLOCK_REALTIME, &now) < 0 ||
	    clock_settime(CLOCK_REALTIME, &now) < 0) {
		sbx_note(
			t, SBX_P_TM10, SBX_VERDICT_UNKNOWN,
			"the clock of this machine is not moved unless SBX_TEST_STEP_CLOCK is set");
		return;
	}
	try_deadline(t, SBX_P_TM10, &waiting, SBX_OUT_EXITED, 5000);
	step_clock(-3600);
}

static void try_times(struct sbx_test *t)
{
	static const char *const times[] = {
		"0",   "-1",       "NaN",  "nan",  "1e308",
		"inf", "infinity", "0s",   "-5s",  "",
		" 5",  "5 ",       "0x5",  "1e3s", "99999999999999999999",
		"5y",  "+5",       "1.5.5"};
	static const char *const options[] = {"timeout", "cpu-time"};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(times) * 2; i++) {
		struct sbx_err why = SBX_ERR_INIT;
		struct sbx_request req;
		const char *text = times[i / 2];

		sbx_request_init(&req);
		if (sbx_request_set(&req, options[i % 2], sbx_str_of(text), options[i % 2], &why) ==
		    0)
			sbx_note(t, SBX_P_TM11, SBX_VERDICT_REACHED, "'%s' was taken", text);
		else
			sbx_note(t, SBX_P_TM11, SBX_VERDICT_REFUSED, "%s", sbx_code_name(why.code));
		sbx_request_release(&req);
	}
}

/* ---- the death of llmsbx */

static void kill_child(struct sbx_try_child *child)
{
	(void)kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	sbx_closep(&child->fd);
}

void sbx_test_death(struct sbx_test *t)
{
	static const struct sbx_try hiding = {.name = "TM08"};
	static const enum sbx_probe rows[] = {SBX_P_TM08, SBX_P_PR13};
	struct sbx_try_child child;
	int before, left;

	if (!sbx_try_begin(t, &hiding, &child)) {
		sbx_note(t, SBX_P_TM08, SBX_VERDICT_UNKNOWN, "no process");
		return;
	}
	(void)sbx_wait_marked(t, 5000);
	sbx_sleep_ms(150); /* until it has hidden */
	before = sbx_count_marked(t);
	kill_child(&child);
	left = sbx_wait_unmarked(t, GONE_MS);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++) {
		if (before < 2)
			sbx_note(t, rows[i], SBX_VERDICT_UNKNOWN,
				 "its processes are not visible from here");
		else
			sbx_note_fact(t, rows[i], left == 0, "%d processes before, %d after",
				      before, left);
	}
}

/* ---- what is left */

static unsigned int count_mounts(void)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(MOUNTS_MAX);
	struct sbx_err ignored = SBX_ERR_INIT;
	unsigned int n = 0;

	if (sbx_read_file("/proc/self/mountinfo", &text, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < text.len; i++)
		n += text.p[i] == '\n';
	return n;
}

/* Names of ours below a folder that a process of that number has made. */
static unsigned int count_names(const char *path, int pid, unsigned int depth)
{
	SBX_CLEANUP(sbx_freep) char *part = sbx_xasprintf("-%d-", pid);
	DIR *dir = opendir(path);
	unsigned int n = 0;
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		SBX_CLEANUP(sbx_freep) char *below = sbx_xasprintf("%s/%s", path, d->d_name);

		if (d->d_name[0] == '.' || d->d_type != DT_DIR)
			continue;
		n += strncmp(d->d_name, "llmsbx-", 7) == 0 && strstr(d->d_name, part);
		if (depth > 0)
			n += count_names(below, pid, depth - 1);
	}
	if (dir)
		(void)closedir(dir);
	return n;
}

static unsigned int kill_one(struct sbx_test *t, unsigned int ms, int *ret_pid)
{
	static const struct sbx_try hiding = {.name = "TM08"};
	uint64_t deadline;
	struct sbx_try_child child;

	if (!sbx_try_begin(t, &hiding, &child))
		return 1;
	*ret_pid = child.pid;
	sbx_sleep_ms(ms);
	kill_child(&child);
	/* Whoever is orphaned becomes ours: what ends is waited for, what does not is left. */
	deadline = sbx_deadline(GONE_MS * MS);
	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			return sbx_count_marked(t) > 0;
		if (pid == 0 && sbx_now_ns() > deadline)
			return 1;
		if (pid == 0)
			sbx_sleep_ms(5);
	}
}

static void try_kills(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv removed = {.n = 0};
	struct sbx_err why = SBX_ERR_INIT;
	unsigned int mounts = count_mounts(), left = 0, names = 0;
	int pid[KILLS] = {0};
	char random[KILLS + 1];

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	sbx_random_id(random, KILLS);
	for (unsigned int i = 0; i < KILLS && !t->cancelled_by; i++)
		left += kill_one(t, i * KILL_WITHIN_MS / KILLS + (unsigned int)(random[i] & 3),
				 &pid[i]);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	sbx_note_fact(t, SBX_P_TM12, left == 0, "%d kills within %d ms, %u with processes left",
		      KILLS, KILL_WITHIN_MS, left);
	if (sbx_backends_sweep(&removed, &why) < 0)
		sbx_note(t, SBX_P_TM12, SBX_VERDICT_UNKNOWN, "%s", why.msg);
	for (unsigned int i = 0; i < KILLS; i++)
		names += pid[i] ? count_names("/sys/fs/cgroup", pid[i], 3) +
					  count_names("/run/llmsbx", pid[i], 1)
				: 0;
	sbx_note_fact(t, SBX_P_TM12, names == 0, "%u cgroups and folders left after a sweep of %zu",
		      names, removed.n);
	sbx_note_fact(t, SBX_P_TM12, count_mounts() <= mounts, "no mount is left");
}

void sbx_test_life(struct sbx_test *t)
{
	try_deadlines(t);
	if (t->note[SBX_P_TM08].verdict == SBX_VERDICT_NONE)
		sbx_test_death(t);
	try_codes(t);
	try_clock(t);
	try_times(t);
	try_kills(t);
}
