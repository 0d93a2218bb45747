/*
 * A guest for tests: the real ./llmsbx-guest as process 1 of namespaces of its own, and lib/guest/client at the other end.
 *
 * Root gives it two ids, anybody else (and one_id) only one.  It sees the machine's files; its work directory is a tmpfs on
 * /mnt.  What could run away is held by RLIMIT_NPROC and by an alarm of the test's: its death closes the channel, and that ends
 * the guest with everything in it.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest-digest.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/strv.h"
#include "lib/guest/client.h"
#include "t/unit/tap.h"

#define WORK "/mnt"

enum {
	PROGRAM = 65532,
	GUEST_ID = 0x60000000,
	PROGRAM_ID = 0x60000001,
	PROCESSES = 800,
	SECONDS = 20
};

struct box {
	/* asked for */
	bool one_id, limit_memory;
	uint64_t memory, pids; /* 0: none */
	const char *disk;      /* of the tmpfs, "16m" by default */

	pid_t outer;
	int fd; /* of the stream */
	struct sbx_stream *stream;
	struct sbx_client *client;
};

/* ---- making it */

static inline bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	sbx_close(fd);
	return done;
}

static inline bool map_ids(pid_t pid, bool two)
{
	static const char *const maps[] = {"uid_map", "gid_map"};
	char path[64], text[128];
	bool root = geteuid() == 0;

	(void)snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
	if (!root && !write_text(path, "deny"))
		return false;
	for (int i = 0; i < 2; i++) {
		unsigned int own = i == 0 ? geteuid() : getegid();

		(void)snprintf(path, sizeof path, "/proc/%d/%s", pid, maps[i]);
		(void)snprintf(text, sizeof text, two ? "0 %u 1\n%d %d 1\n" : "0 %u 1\n",
			       root ? GUEST_ID : own, PROGRAM, PROGRAM_ID);
		if (!write_text(path, text))
			return false;
	}
	return true;
}

static inline void SBX_NORETURN say(const char *what)
{
	fprintf(stderr, "# guest: %s: errno %d\n", what, errno);
	_exit(99);
}

/* Process 1: its mounts, then the guest. */
static inline void SBX_NORETURN inner_main(const struct box *box, int channel)
{
	const char *build = getenv("SBX_BUILDDIR");
	const struct rlimit processes = {PROCESSES, PROCESSES};
	char path[4096], options[64];

	(void)snprintf(path, sizeof path, "%s/llmsbx-guest", build ? build : ".");
	(void)snprintf(options, sizeof options, "mode=0777,size=%s", box->disk ? box->disk : "16m");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		say("mount /");
	if (mount("tmpfs", WORK, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
		say("mount " WORK);
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
		say("mount /proc");
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620") != 0 ||
	    mount("/dev/pts/ptmx", "/dev/ptmx", NULL, MS_BIND, NULL) != 0)
		say("mount /dev/pts");
	if (setrlimit(RLIMIT_NPROC, &processes) != 0 || dup2(channel, 3) != 3)
		say("setrlimit");
	execl(path, "llmsbx-guest", "3", "3", (char *)NULL);
	say(path);
}

static inline void SBX_NORETURN outer_main(const struct box *box, int channel, int ready, int go)
{
	char byte = 0;
	int status = 0;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC) != 0)
		say("unshare");
	if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
		_exit(99);
	if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)
		say("setresuid");
	pid = fork();
	if (pid == 0)
		inner_main(box, channel);
	close(channel);
	(void)waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
}

/* The process that holds the namespaces, with the other end of the channel; false if it could not be. */
static inline bool box_fork(struct box *box)
{
	int pair[2], ready[2], go[2];
	char byte = 0;
	bool mapped;

	fflush(stdout);
	alarm(SECONDS);
	if (geteuid() != 0)
		box->one_id = true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
	    pipe2(ready, O_CLOEXEC) != 0 || pipe2(go, O_CLOEXEC) != 0)
		return false;
	box->outer = fork();
	if (box->outer == 0) {
		close(pair[0]);
		outer_main(box, pair[1], ready[1], go[0]);
	}
	close(pair[1]);
	close(ready[1]);
	close(go[0]);
	box->fd = pair[0];
	(void)fcntl(box->fd, F_SETFL, O_NONBLOCK);
	mapped = box->outer > 0 && read(ready[0], &byte, 1) == 1 &&
		 map_ids(box->outer, !box->one_id) && write(go[1], &byte, 1) == 1;
	close(ready[0]);
	close(go[1]);
	return mapped;
}

static inline struct sbx_wire_setup box_setup(const struct box *box)
{
	return (struct sbx_wire_setup){.version = SBX_WIRE_VERSION,
				       .digest = SBX_GUEST_DIGEST,
				       .uid = box->one_id ? 0 : PROGRAM,
				       .gid = box->one_id ? 0 : PROGRAM,
				       .one_id = box->one_id,
				       .limit_memory = box->limit_memory,
				       .memory_bytes = box->memory ? box->memory : UINT64_MAX,
				       .pids = box->pids ? box->pids : UINT64_MAX,
				       .nofile = 256,
				       .workdir = WORK,
				       .n_writable = 4,
				       .writable = {WORK, "/tmp", "/dev", "/proc"}};
}

static inline bool box_start(struct box *box, struct sbx_err *err)
{
	struct sbx_wire_setup setup;

	if (!ok(box_fork(box)))
		return false;
	setup = box_setup(box);
	box->stream = sbx_stream_fd(box->fd);
	return ok_call(sbx_client_open(box->stream, &setup, &box->client, err));
}

/* Closes the channel; the exit status of the guest, -1 if it did not end. */
static inline int box_end(struct box *box)
{
	int status = -1;

	if (box->stream)
		sbx_stream_free(box->stream);
	else
		sbx_close(box->fd);
	sbx_client_free(box->client);
	if (box->outer <= 0 || waitpid(box->outer, &status, 0) != box->outer)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* One poll and what comes of it; -1 with err. */
static inline int box_turn(struct box *box, int ms, struct sbx_err *err)
{
	struct pollfd fd = {.fd = box->fd, .events = sbx_client_events(box->client)};

	if (poll(&fd, 1, ms) <= 0)
		return 0;
	return sbx_client_pump(box->client, err);
}

/* ---- a program in it */

struct job {
	/* asked for */
	const char *input; /* its stdin, at once and then its end; NULL: job_feed, job_eof */
	uint64_t feed;     /* bytes of a pattern to feed and to expect back */
	bool hold;         /* no GO by itself */
	bool deaf;         /* no credit is given back */
	struct sbx_wire_spawn spawn;

	struct box *box;
	uint32_t req;
	struct sbx_buf out[2];
	uint64_t fed, got[2];
	bool confined, started, over, refused, limited[2], mixed_up;
	struct sbx_facts facts;
	struct sbx_wire_end end;
	char step[32];
};

/* The byte at a place of a long stream: no period that a buffer could have. */
static inline char pattern(uint64_t at)
{
	return (char)((at * 0x9e3779b97f4a7c15u) >> 56);
}

static inline int on_confined(void *ctx, const struct sbx_facts *facts, struct sbx_err *err)
{
	struct job *job = ctx;

	job->confined = true;
	job->facts = *facts;
	return job->hold ? 0 : sbx_client_go(job->box->client, job->req, err);
}

static inline int on_started(void *ctx, struct sbx_err *err SBX_UNUSED)
{
	((struct job *)ctx)->started = true;
	return 0;
}

static inline int on_data(void *ctx, unsigned int stream, struct sbx_str s, struct sbx_err *err)
{
	struct job *job = ctx;
	uint64_t at = job->got[stream - 1];

	for (size_t i = 0; job->feed && i < s.n; i++)
		job->mixed_up |= s.p[i] != pattern(at + i);
	job->got[stream - 1] += s.n;
	if (!job->feed && job->out[stream - 1].len < 1 << 20 &&
	    sbx_buf_add(&job->out[stream - 1], s.p, s.n, err) != 0)
		return -1;
	return job->deaf ? 0 : sbx_client_credit(job->box->client, job->req, stream, s.n, err);
}

static inline int on_eof(void *ctx, unsigned int stream, uint32_t sys SBX_UNUSED,
			 struct sbx_err *err SBX_UNUSED)
{
	((struct job *)ctx)->refused |= stream == SBX_WIRE_STDIN;
	return 0;
}

static inline int on_limit(void *ctx, const struct sbx_wire_limit *limit,
			   struct sbx_err *err SBX_UNUSED)
{
	((struct job *)ctx)->limited[limit->stream - 1] = true;
	return 0;
}

static inline int on_end(void *ctx, const struct sbx_wire_end *end, struct sbx_err *err SBX_UNUSED)
{
	struct job *job = ctx;

	job->end = *end;
	(void)snprintf(job->step, sizeof job->step, "%s", end->step);
	job->over = true;
	return 0;
}

/* argv NULL: the shell's -c script */
static inline bool job_start(struct job *job, struct box *box, const struct sbx_strv *argv,
			     const char *script, struct sbx_err *err)
{
	static const struct sbx_call_ops ops = {.confined = on_confined,
						.started = on_started,
						.data = on_data,
						.eof = on_eof,
						.limit = on_limit,
						.end = on_end};
	static const char *const names[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C",
					    "ASAN_OPTIONS=detect_leaks=0"};
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv env = {0}, shell = {0};
	struct sbx_wire_spawn *m = &job->spawn;
	bool done;

	job->box = box;
	job->out[0].max = job->out[1].max = 4 << 20;
	m->timeout_ms = m->timeout_ms ? m->timeout_ms : UINT64_MAX;
	m->cpu_time_ms = m->cpu_time_ms ? m->cpu_time_ms : UINT64_MAX;
	m->max_output = m->max_output ? m->max_output : UINT64_MAX;
	m->kill_output = m->kill_output ? m->kill_output : UINT64_MAX;
	m->cwd = m->cwd ? m->cwd : WORK;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++)
		if (sbx_strv_add(&env, names[i], err) != 0)
			return false;
	if (!argv && (sbx_strv_add(&shell, "/bin/sh", err) != 0 ||
		      sbx_strv_add(&shell, "-c", err) != 0 || sbx_strv_add(&shell, script, err)))
		return false;
	done = ok_call(sbx_client_request(box->client, &ops, job, &job->req, err)) &&
	       ok_call(sbx_client_spawn(box->client, job->req, m, argv ? argv : &shell, &env, err));
	if (done && job->input)
		done = ok_call(sbx_client_data(box->client, job->req, sbx_str_of(job->input),
					       err)) &&
		       ok_call(sbx_client_eof(box->client, job->req, err));
	return done;
}

/* Sends what there is room for of the pattern, and its end. */
static inline int job_feed(struct job *job, struct sbx_err *err)
{
	char piece[32768];
	size_t n = sbx_client_room(job->box->client, job->req);

	if (job->fed == job->feed || n == 0)
		return 0;
	n = n < sizeof piece ? n : sizeof piece;
	n = n < job->feed - job->fed ? n : (size_t)(job->feed - job->fed);
	for (size_t i = 0; i < n; i++)
		piece[i] = pattern(job->fed + i);
	job->fed += n;
	if (sbx_client_data(job->box->client, job->req, (struct sbx_str){piece, n}, err) != 0)
		return -1;
	return job->fed == job->feed ? sbx_client_eof(job->box->client, job->req, err) : 0;
}

/* Until *what, which a handler sets, or SECONDS. */
static inline bool job_until(struct job *job, const bool *what, struct sbx_err *err)
{
	uint64_t end = sbx_deadline(SECONDS * 1000000000ull / 2);

	while (!*what && sbx_now_ns() < end)
		if (!ok_call(job_feed(job, err)) || !ok_call(box_turn(job->box, 50, err)))
			return false;
	return ok(*what);
}

static inline bool job_until_output(struct job *job, const char *text, struct sbx_err *err)
{
	uint64_t end = sbx_deadline(SECONDS * 1000000000ull / 2);

	while (!strstr(sbx_buf_str(&job->out[0]), text) && sbx_now_ns() < end)
		if (!ok_call(box_turn(job->box, 50, err)))
			return false;
	return ok(strstr(sbx_buf_str(&job->out[0]), text) != NULL);
}

static inline void job_release(struct job *job)
{
	sbx_buf_release(&job->out[0]);
	sbx_buf_release(&job->out[1]);
}

/* The whole run of a shell's script. */
static inline bool job_run(struct job *job, struct box *box, const char *script,
			   struct sbx_err *err)
{
	if (!job->input && !job->feed)
		job->input = "";
	return job_start(job, box, NULL, script, err) && job_until(job, &job->over, err);
}

static inline void ok_end(const struct job *job, enum sbx_wire_how how, unsigned int code)
{
	ok_int(job->end.how, how);
	ok_int(job->end.code, code);
}

#define ok_out(job, stream, want) \
	ok_mem(sbx_buf_str(&(job)->out[(stream)-1]), (job)->out[(stream)-1].len, want, strlen(want))

/* ---- files in and out of it */

struct put {
	bool over;
	uint32_t sys, more;
};

static inline int on_done(void *ctx, const struct sbx_wire_done *done,
			  struct sbx_err *err SBX_UNUSED)
{
	struct put *put = ctx;

	*put = (struct put){.over = true, .sys = done->sys, .more = done->more};
	return 0;
}

/* The errno that DONE told, or -1. */
static inline int box_put(struct box *box, const char *path, unsigned int mode, struct sbx_str data,
			  struct sbx_err *err)
{
	static const struct sbx_call_ops ops = {.done = on_done};
	struct put put = {0};
	uint32_t req;

	if (!ok_call(sbx_client_request(box->client, &ops, &put, &req, err)) ||
	    !ok_call(sbx_client_put(box->client, req, path, mode, err)))
		return -1;
	for (bool ended = false; !put.over;) {
		size_t room = sbx_client_room(box->client, req), n = data.n < room ? data.n : room;

		if (!ok_call(sbx_client_data(box->client, req, (struct sbx_str){data.p, n}, err)))
			return -1;
		data.p += n;
		data.n -= n;
		if (data.n == 0 && !ended) {
			ended = true;
			if (!ok_call(sbx_client_eof(box->client, req, err)))
				return -1;
		}
		if (!ok_call(box_turn(box, 1000, err)))
			return -1;
	}
	return (int)put.sys;
}
