/* TT: hostile output, as events and on a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "lib/attack/test.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/event/out.h"
#include "lib/event/sinks.h"
#include "lib/json/doc.h"
#include "lib/sandbox/run.h"

enum { OUTPUT_MAX = 1 << 20, SHOWN_MAX = 1 << 20 };
#define TERMINAL_NS UINT64_C(30000000000)

/* ---- every event as its line */

struct lines {
	struct sbx_sink sink;
	unsigned int n, ends, bad;
	uint64_t bytes;  /* of output, as it was sent */
	char first[200]; /* that was bad */
};

/* A terminal obeys C0, DEL and, as UTF-8, C1. */
static bool is_harmless(struct sbx_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		unsigned char next = i + 1 < s.n ? (unsigned char)s.p[i + 1] : 0;

		if (c < ' ' || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0))
			return false;
	}
	return true;
}

static int take_line(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err)
{
	struct lines *l = (struct lines *)(void *)sink;
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(16 << 20);
	struct sbx_err why = SBX_ERR_INIT;
	struct sbx_str line;

	l->n++;
	l->ends += ev->type == SBX_EV_END;
	if (ev->type == SBX_EV_STDOUT || ev->type == SBX_EV_STDERR)
		l->bytes += ev->output.bytes.n;
	if (sbx_event_json(ev, &text, err) < 0)
		return -1;
	line = (struct sbx_str){sbx_buf_str(&text), text.len};
	if (!is_harmless(line) || sbx_json_parse(line, "event", &doc, &why) < 0) {
		if (l->bad++ == 0)
			(void)snprintf(l->first, sizeof(l->first), "event %u: %.150s",
				       (unsigned int)ev->type,
				       why.code ? why.msg : "a control byte");
	}
	return 0;
}

static const struct sbx_sink_ops lines_ops = {.put = take_line};

static bool judge_lines(struct sbx_test *t, enum sbx_probe p, const struct lines *l,
			const struct sbx_seen *seen)
{
	if (!sbx_ran(t, p, seen))
		return false;
	sbx_note_fact(t, p, l->bad == 0, "%s",
		      l->bad ? l->first : "every event is a line of JSON without control bytes");
	sbx_note_fact(t, p, l->ends == 1, "one end");
	return true;
}

static void try_names(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_freep) char *dir = sbx_xasprintf("%s/names", t->plant.folder);
	struct lines l = {.sink = {.ops = &lines_ops}};
	const struct sbx_try try = {
		.name = "TT08", .set = {{"out", "**"}, {"out-dir", dir}}, .also = &l.sink};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	struct sbx_request req;
	struct sbx_err why = SBX_ERR_INIT;

	sbx_try(t, &try, seen);
	if (judge_lines(t, SBX_P_TT08, &l, seen) && seen->n_files == 0)
		sbx_note(t, SBX_P_TT08, SBX_VERDICT_UNKNOWN, "no file came back: %s", seen->error);
	sbx_request_init(&req);
	if (sbx_request_set(&req, "timeout",
			    SBX_STR("\033[2J\xc2\x9b"
				    "2J\a"),
			    "--timeout", &why) == 0)
		sbx_note(t, SBX_P_TT08, SBX_VERDICT_REACHED, "a time of control bytes was taken");
	else
		sbx_note_fact(t, SBX_P_TT08, is_harmless(sbx_str_of(why.msg)),
			      "messages have none");
	sbx_request_release(&req);
	free(seen);
}

static void try_pretending(struct sbx_test *t)
{
	struct lines l = {.sink = {.ops = &lines_ops}};
	const struct sbx_try try = {.name = "TT09", .also = &l.sink};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);

	sbx_try(t, &try, seen);
	if (judge_lines(t, SBX_P_TT09, &l, seen))
		sbx_note_fact(t, SBX_P_TT09, seen->has_exit_code && seen->exit_code == 7,
			      "the end tells the true status");
	free(seen);
}

static void try_bytes(struct sbx_test *t)
{
	struct lines l = {.sink = {.ops = &lines_ops}};
	const struct sbx_try try = {.name = "TT10", .set = {{"max-output", "1m"}}, .also = &l.sink};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);

	sbx_try(t, &try, seen);
	if (!judge_lines(t, SBX_P_TT10, &l, seen)) {
		free(seen);
		return;
	}
	sbx_note_fact(t, SBX_P_TT10, l.bytes <= OUTPUT_MAX, "%llu bytes were kept",
		      (unsigned long long)l.bytes);
	sbx_note_fact(t, SBX_P_TT10, seen->truncated[0], "what was cut is told");
	free(seen);
}

/* ---- on a terminal */

/* The run's own process: its controlling terminal, stdout and stderr are the slave. */
static void SBX_NORETURN in_terminal(struct sbx_test *t, int slave)
{
	struct sbx_out out = {.fd = -1};
	struct sbx_err why = SBX_ERR_INIT;
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	struct sbx_try try = {.name = "TT07"};

	(void)setsid();
	(void)ioctl(slave, TIOCSCTTY, 0);
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(slave, fd);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGTTOU, SIG_IGN);
	if (sbx_out_open(&out, STDOUT_FILENO, 16 << 20, &why) == 0) {
		try.also = sbx_sink_raw(&(struct sbx_sink_raw_opts){
			.out = &out, .errout = &out, .escape_out = true, .escape_err = true});
		sbx_try(t, &try, seen);
		(void)!sbx_out_drain(&out, sbx_deadline(TERMINAL_NS / 2), &why);
	}
	_exit(seen->started ? 0 : 1);
}

/* Everything that comes out of the master until its other end is closed. */
static void read_master(int master, struct sbx_buf *shown)
{
	uint64_t deadline = sbx_deadline(TERMINAL_NS);
	struct pollfd p = {.fd = master, .events = POLLIN};
	struct sbx_err full = SBX_ERR_INIT;
	char bytes[4096];
	ssize_t n;

	while (poll(&p, 1, sbx_poll_ms(deadline)) > 0 &&
	       (n = read(master, bytes, sizeof(bytes))) > 0)
		if (sbx_buf_add(shown, bytes, (size_t)n, &full) < 0)
			return;
}

static void judge_terminal(struct sbx_test *t, int slave, const struct termios *before,
			   struct sbx_buf *shown)
{
	struct termios after;
	int waiting = 0;

	/* The terminal itself adds the carriage returns. */
	for (size_t i = 0; i < shown->len; i++)
		if (shown->p[i] == '\r' || shown->p[i] == '\n' || shown->p[i] == '\t')
			shown->p[i] = ' ';
	sbx_note_fact(t, SBX_P_TT07, is_harmless((struct sbx_str){sbx_buf_str(shown), shown->len}),
		      "no control byte reached the terminal");
	if (!memmem(sbx_buf_str(shown), shown->len, "\\x1b", 4))
		sbx_note(t, SBX_P_TT07, SBX_VERDICT_UNKNOWN, "the sequences were not shown at all");
	sbx_note_fact(t, SBX_P_TT05, ioctl(slave, FIONREAD, &waiting) == 0 && waiting == 0,
		      "nothing was typed into the caller's terminal");
	sbx_note_fact(t, SBX_P_TT06,
		      tcgetattr(slave, &after) == 0 && after.c_lflag == before->c_lflag &&
			      after.c_iflag == before->c_iflag && after.c_oflag == before->c_oflag,
		      "the caller's terminal is as it was");
}

static void try_terminal(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf shown = SBX_BUF_INIT(SHOWN_MAX);
	SBX_CLEANUP(sbx_closep)
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1, watch = -1;
	struct termios before;
	char name[64];
	int status = -1;
	pid_t pid;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, name, sizeof(name)) != 0 ||
	    (slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0 ||
	    tcgetattr(slave, &before) < 0) {
		sbx_note(t, SBX_P_TT07, SBX_VERDICT_UNKNOWN, "there is no pseudo terminal here");
		return;
	}
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		in_terminal(t, slave);
	/* While it is open here the master does not end. */
	sbx_closep(&slave);
	read_master(master, &shown);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	watch = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (status != 0 || watch < 0)
		sbx_note(t, SBX_P_TT07, SBX_VERDICT_UNKNOWN, "the run on a terminal failed");
	else
		judge_terminal(t, watch, &before, &shown);
}

void sbx_test_terminal(struct sbx_test *t)
{
	try_terminal(t);
	try_names(t);
	try_pretending(t);
	try_bytes(t);
}
