/*
 * llmsbx-guest: process 1 of every sandbox.
 *
 * One process, one poll loop, no threads.  It reaps, starts one program at a time in a confined child, moves its bytes, bounds
 * its time and output, kills what is left of its tree, and puts and gets files with the program's own rights on files (its
 * fsuid), so that no name or link made by the program can make it do more than the program could.  It ends, and everything
 * in its pid namespace with it, when its channel ends.
 *
 * The host checks every frame from here; here every frame from the host is checked as well: one that breaks a rule of
 * lib/guest/wire.h ends the sandbox.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/guest/wire.h"

/* ---- chan.c: the way to the host */

enum {
	CHAN_IN = 2 * (SBX_WIRE_HEADER + SBX_WIRE_PAYLOAD_MAX),
	CHAN_OUT = 2 << 20,
	/* Above this the program's output is not read, so that control frames always find room. */
	CHAN_HIGH = 512 << 10,
};

struct chan {
	int in_fd, out_fd;
	size_t in_len;
	size_t out_head, out_len;
	uint8_t in[CHAN_IN];
	uint8_t out[CHAN_OUT];
};

void chan_frame(struct chan *ch, const struct sbx_frame *f);

/* A message: encode with the coder that begin gives, then end. */
struct sbx_coder chan_begin(struct chan *ch);
void chan_end(struct chan *ch, struct sbx_coder *c, uint8_t type, uint32_t req);
void chan_u32(struct chan *ch, uint8_t type, uint8_t stream, uint32_t req, uint32_t v);

/* Where the payload of a DATA frame may be read to; then send with its length. */
uint8_t *chan_data(struct chan *ch);
void chan_send_data(struct chan *ch, uint8_t stream, uint32_t req, uint32_t n);

size_t chan_pending(const struct chan *ch);
void chan_flush(
	struct chan *ch); /* what can be written now; the guest ends when the host is gone */

struct guest;

/* ---- usage.c: what the tree takes, for bounds that no cgroup holds */

struct tree {
	uint64_t memory_bytes, cpu_ns;
};
/* exact: memory that several share counts once, which takes longer; else it is never less than that. */
void tree_measure(const struct guest *g, bool exact, struct tree *ret);

/* ---- disk.c */

bool disk_fits(
	struct
	guest *g); /* in what the program may write; true also when it is too early to look again */

/* ---- tree.c: who is in it, and its end */

struct tree_pids {
	pid_t *v; /* owned */
	size_t n, cap;
};
void tree_list(struct tree_pids *ret); /* what is below this process */

/* Ends every process of the sandbox but this one; without a namespace, what is forked meanwhile may be left. */
void tree_kill(const struct guest *g);
/* Where this process's end is not theirs: until none is left. */
void tree_end(const struct guest *g);

/* ---- prog.c, spawn.c: the program */

enum prog_state {
	PROG_NONE,    /* leaves by argv, env */
	PROG_COLLECT, /* its vectors come in; leaves by spawn */
	PROG_HELD,    /* confined, waits for GO; leaves by go, kill */
	PROG_RUNNING, /* leaves when its process was reaped */
	PROG_DRAIN,   /* its tree is being killed and its pipes read empty; leaves with END */
};

struct vec {
	char **v;
	uint32_t n, cap;
	size_t bytes;
	bool over; /* there was more than any exec takes */
};

/* What the child tells down the sync pipe: one write, smaller than PIPE_BUF. */
struct sync_record {
	uint32_t failed;
	uint32_t sys;
	char step[32];
	struct sbx_facts facts;
};

struct prog {
	enum prog_state state;
	uint32_t req;
	struct vec argv, env;
	pid_t pid;
	int in, out, err, sync,
		hold; /* our ends, -1: closed; with a tty, in and out are the master */
	bool tty;
	uint8_t *stdin_buf; /* a window's worth and a byte */
	size_t stdin_head, stdin_len;
	bool stdin_eof;
	uint32_t stdin_owed; /* consumed, not yet given back as credit */
	uint32_t credit[3];
	uint64_t bytes[2], max_output, kill_output;
	bool limited[2];
	uint64_t deadline_ns, cpu_limit_ns, timeout_ns, start_ns, end_ns;
	uint64_t
		tick_ns; /* when to kill again what was killed, or to look at bounds that no cgroup holds */
	uint64_t cpu_user_ns, cpu_sys_ns, maxrss_bytes;
	uint8_t how; /* of enum sbx_wire_how; 0: not ended by us */
	int status;  /* of waitpid */
	uint32_t sys;
	char step[32];
};

/* ---- files.c: in and out */

struct walk;
struct mark;

struct files {
	int workdir; /* O_PATH */
	/* put */
	uint32_t put_req; /* 0: none */
	int put_fd, put_sys;
	uint32_t put_owed;
	/* get */
	uint32_t get_req; /* 0: none */
	struct walk *walk;
	int get_fd;
	uint32_t get_credit, get_left_files;
	uint64_t get_left_bytes; /* that files to come may have */
	uint64_t get_fd_left;    /* of the one that is sent */
	uint32_t n_globs;
	char *globs[SBX_WIRE_LIST_MAX];
	/* mark */
	struct mark *marks;
	size_t n_marks, cap_marks;
	int64_t marked_ns; /* where there were too many to remember: older files are no news */
};

struct guest {
	struct chan chan;
	const char *digest;
	bool bare;  /* no namespace holds the program: this process is no process 1 */
	bool ready; /* SETUP came */
	uint32_t uid, gid;
	bool one_id, limit_memory, limit_pids;
	uint64_t memory_bytes, pids, nofile;
	uint32_t n_writable, n_readable;
	char *writable[SBX_WIRE_LIST_MAX], *readable[SBX_WIRE_LIST_MAX];
	uint64_t disk_bytes, disk_next_ns;
	int signal_fd;
	struct prog prog;
	struct files files;
};

/* Each takes a checked frame of its type; a broken one ends the guest. */
void prog_strings(struct guest *g, const struct sbx_frame *f);
void prog_spawn(struct guest *g, const struct sbx_frame *f);
void prog_go(struct guest *g, const struct sbx_frame *f);
void prog_kill(struct guest *g, const struct sbx_frame *f);
void prog_resize(struct guest *g, const struct sbx_frame *f);
void prog_stdin(struct guest *g, const struct sbx_frame *f);
void prog_stdin_eof(struct guest *g);

/* The program's process and its pipes, held until GO.  A failure has step and sys, and is false. */
bool prog_start(struct guest *g, const struct sbx_wire_spawn *m);
bool prog_fail(struct prog *p, const char *step, int sys);

/* The loop's hooks: what to poll, what came of it, children, time. */
struct pollfd;
struct rusage;
void prog_init(struct prog *p);
void prog_release(struct prog *p); /* back to none */
unsigned int prog_poll(struct guest *g, struct pollfd *fds);
void prog_ready(struct guest *g, const struct pollfd *fds, unsigned int n);
void prog_reap(struct guest *g);
void prog_ended(struct guest *g, pid_t pid, int status,
		const struct rusage *usage); /* of any child */
uint64_t
prog_next_ns(const struct guest *g); /* when prog_tick wants to be called; UINT64_MAX: never */
void prog_tick(struct guest *g);

void files_put(struct guest *g, const struct sbx_frame *f);
void files_put_data(struct guest *g, const struct sbx_frame *f);
void files_put_eof(struct guest *g);
void files_mark(struct guest *g, const struct sbx_frame *f);
void files_get(struct guest *g, const struct sbx_frame *f);
bool files_get_can(const struct guest *g); /* there is more to send, and credit and room for it */
void files_get_step(struct guest *g);      /* one more piece */
void files_release(struct files *fs);

/* ---- loop.c */

void guest_init(struct guest *g, int in_fd, int out_fd, const char *digest);
void guest_release(struct guest *g); /* of one that is not process 1 */
void guest_turn(struct guest *g);    /* waits for what comes first, and deals with it */

/* ---- main.c; a fuzzer has its own */

/* NULL: there is nothing to tell, it is over. */
void die(const char *why)
	__attribute__((noreturn)); /* ends the sandbox; the host sees the stream end */

/* ---- what all use */

uint64_t now_ns(void);
void close_fd(int *fd); /* if it is open; leaves -1 */
void *grab(size_t n);   /* calloc or die */
void *regrab(void *p, size_t n);
char *keep(const char *s);
