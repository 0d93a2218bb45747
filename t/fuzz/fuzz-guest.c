/*
 * The guest against a host that sends anything.  Its frames, its files and its bytes are the real ones; die() comes back here
 * instead of ending a namespace, and no process is ever made: prog_start has pipes that hold what the input says.
 *
 * Files are made on a tmpfs of our own, as nobody where we are root.
 */
#include "guest/guest.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/attr.h"
#include "t/fuzz/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORK   "/mnt"
#define DIGEST "d"

enum { NOBODY = 65534, PID = 0x7fffffff, IDLE_TURNS = 16, FRAMES = 300 };

/* What the program that is none does: one byte of the input each. */
struct script {
	uint8_t turns, out, err, sync, status, reads;
};

static jmp_buf dead;
static struct script script;
static int program_stdin = -1; /* the program's end */

void die(const char *why SBX_UNUSED)
{
	longjmp(dead, 1);
}

/* ---- a program that is none */

static int full_pipe(size_t n)
{
	static const char text[4096] = "output\n";
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0 || write(fds[1], text, n) != (ssize_t)n)
		abort();
	close(fds[1]);
	return fds[0];
}

static int sync_pipe(void)
{
	struct sync_record r = {.failed = script.sync & 1, .sys = ENOENT, .step = "exec"};
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		abort();
	if (!(script.sync & 2) && write(fds[1], &r, sizeof r) != (ssize_t)sizeof r)
		abort();
	close(fds[1]);
	return fds[0];
}

bool prog_start(struct guest *g, const struct sbx_wire_spawn *m)
{
	struct prog *p = &g->prog;
	int pair[2];

	assert(p->argv.n > 0 && p->argv.v[p->argv.n] == NULL && strlen(m->cwd) < SIZE_MAX);
	if (script.sync & 4)
		return prog_fail(p, "fork", EAGAIN);
	close_fd(&program_stdin);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
		abort();
	p->in = pair[0];
	program_stdin = pair[1];
	p->out = p->tty ? p->in : full_pipe(script.out * 16u);
	p->err = p->tty ? -1 : full_pipe(script.err * 16u);
	p->sync = sync_pipe();
	p->pid = PID;
	return true;
}

/* It reads, and at some time it ends. */
static void program_turn(struct guest *g)
{
	struct rusage usage = {.ru_maxrss = 1};
	char sink[65536];

	if (script.reads & 1)
		close_fd(&program_stdin);
	else if (script.reads & 2 && program_stdin >= 0)
		(void)!read(program_stdin, sink, sizeof sink);
	if (g->prog.pid != PID || script.turns-- > 0)
		return;
	close_fd(&program_stdin);
	prog_ended(g, PID, script.status << 8, &usage);
}

/* ---- a host */

static void send_frame(int fd, const struct sbx_frame *f)
{
	static uint8_t bytes[SBX_WIRE_HEADER + SBX_WIRE_PAYLOAD_MAX];

	sbx_wire_header(bytes, f);
	if (f->n)
		memcpy(bytes + SBX_WIRE_HEADER, f->p, f->n);
	if (write(fd, bytes, SBX_WIRE_HEADER + f->n) != (ssize_t)(SBX_WIRE_HEADER + f->n))
		abort();
}

static void send_setup(int fd, uint8_t flags)
{
	uint8_t p[256];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_wire_setup m = {.version = SBX_WIRE_VERSION,
				   .digest = DIGEST,
				   .uid = NOBODY,
				   .gid = NOBODY,
				   .one_id = geteuid() != 0,
				   .limit_memory = flags & 1,
				   .memory_bytes = flags & 2 ? 1 : UINT64_MAX,
				   .pids = 10,
				   .workdir = WORK};

	sbx_code_setup(&c, &m);
	send_frame(fd, &(struct sbx_frame){.type = SBX_WIRE_SETUP, .p = p, .n = (uint32_t)c.at});
}

static void check(const struct guest *g)
{
	const struct prog *p = &g->prog;

	assert(g->chan.out_head <= g->chan.out_len && g->chan.out_len <= CHAN_OUT);
	assert(g->chan.in_len < SBX_WIRE_HEADER + SBX_WIRE_PAYLOAD_MAX);
	assert(p->stdin_head <= p->stdin_len && p->stdin_len <= SBX_WIRE_WINDOW + 1);
	assert(p->credit[1] <= SBX_WIRE_WINDOW && p->credit[2] <= SBX_WIRE_WINDOW);
	assert(g->files.get_credit <= SBX_WIRE_WINDOW);
	assert((g->files.walk != NULL) == (g->files.get_req != 0));
	assert(p->state == PROG_NONE || p->req != 0);
}

static void turn(struct guest *g)
{
	guest_turn(g);
	program_turn(g);
	check(g);
}

/* Every frame on its own, then time for what goes on by itself. */
static void talk(struct guest *g, int host, struct fuzz_bytes *in)
{
	static const uint8_t nothing[4];
	const struct sbx_frame idle = {
		.type = SBX_WIRE_CREDIT, .req = 0x7fffffff, .p = nothing, .n = 4};
	struct sbx_frame f;

	turn(g);
	for (int i = 0; i < FRAMES && fuzz_frame(in, &f); i++) {
		send_frame(host, &f);
		turn(g);
	}
	for (int i = 0; i < IDLE_TURNS; i++) {
		send_frame(host, &idle);
		turn(g);
	}
}

/* Whole frames with known numbers, as far as they were written. */
static void check_answers(int fd)
{
	static uint8_t bytes[SBX_WIRE_HEADER + SBX_WIRE_PAYLOAD_MAX];
	struct sbx_frame f;
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(fd, bytes, sizeof bytes, at);
		long used = n > 0 ? sbx_wire_parse(bytes, (size_t)n, &f) : 0;

		assert(used >= 0);
		if (used == 0)
			break;
		assert(f.type >= SBX_WIRE_DATA && f.type <= SBX_WIRE_END);
		assert((f.type == SBX_WIRE_HELLO) == (at == 0) && f.req < 16);
		at += used;
	}
}

/* ---- one input */

/* Before any thread is there, which could not come along. */
static void __attribute__((constructor)) contain(void)
{
	int flags = CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);

	(void)signal(SIGPIPE, SIG_IGN); /* process 1 has it blocked */
	if (unshare(flags) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", WORK, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0777,size=32k") != 0) {
		(void)!write(2, "fuzz-guest: no tmpfs of its own\n", 32);
		_exit(1);
	}
}

static int remove_one(const char *path, const struct stat *st SBX_UNUSED, int flag SBX_UNUSED,
		      struct FTW *ftw)
{
	return ftw->level > 0 ? remove(path) : 0;
}

static struct guest *new_guest(int in, int out)
{
	static struct guest g;

	/* Not its buffers, whose contents nobody may look at. */
	memset((uint8_t *)&g + sizeof g.chan, 0, sizeof g - sizeof g.chan);
	g.chan.in_len = g.chan.out_head = g.chan.out_len = 0;
	guest_init(&g, in, out, DIGEST);
	return &g;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = {data, size};
	struct guest *volatile g = NULL;
	int pair[2], out = memfd_create("out", MFD_CLOEXEC);

	if (out < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		abort();
	script = (struct script){fuzz_byte(&in), fuzz_byte(&in), fuzz_byte(&in),
				 fuzz_byte(&in), fuzz_byte(&in), fuzz_byte(&in)};
	g = new_guest(pair[0], out);
	send_setup(pair[1], script.reads >> 4);
	if (setjmp(dead) == 0)
		talk(g, pair[1], &in);
	setfsuid(geteuid());
	setfsgid(getegid());
	guest_release(g);
	close_fd(&program_stdin);
	check_answers(out);
	close(out);
	close(pair[0]);
	close(pair[1]);
	(void)nftw(WORK, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
