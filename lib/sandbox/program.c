/*
 * One program in the box: a compile step, or the run itself.
 *
 * The guest confines the child and measures it; only when the measurement was judged (and, the first time, said in `start`) is
 * the program let go.  What a compiler writes is kept until it ended: the words of a failed one are the run's stdout and
 * stderr, those of a good one are a progress event, so that they never mix with the program's own.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/proc/tty.h"
#include "lib/sandbox/live.h"

enum { COMPILE_WORDS_MAX = 8 << 20, COMPILE_MESSAGE_MAX = 64 << 10 };
#define ANSWER_NS      30000000000u /* for the guest to confine a child, on a machine that is busy */
#define AFTER_LIMIT_NS 10000000000u /* for the guest to keep the program's own deadline */

/* ---- what the guest says */

static int put_start(struct sbx_live *live, bool refused, struct sbx_err *err)
{
	struct timespec now;
	struct sbx_event ev = {
		.type = SBX_EV_START,
		.start = {.lang = live->plan.lang->name,
			  .backend = live->box->be->ops->name,
			  .state = "fresh",
			  .receipt = &live->receipt,
			  .refused = refused},
	};

	clock_gettime(CLOCK_REALTIME, &now);
	ev.start.time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	live->started_event = true;
	return sbx_emit(&live->em, &ev, err);
}

/* The first answer of a sandbox: until here it came up, whatever was asked of it first. */
static int begin(struct sbx_live *live, bool refused, struct sbx_err *err)
{
	uint64_t waited = sbx_now_ns() - live->spawn_ns;

	live->timing.acquire += waited;
	if (live->is_compile)
		live->timing.compile -=
			waited; /* which the whole stage is added to (modulo 2^64) */
	return put_start(live, refused, err);
}

/* Every program is measured; only the first may decide, a later one must not be held by less. */
static int on_confined(void *ctx, const struct sbx_facts *facts, struct sbx_err *err)
{
	struct sbx_live *live = ctx;
	struct sbx_err why = SBX_ERR_INIT;
	bool refused;

	if (sbx_live_placed(live, err) != 0)
		return -1;
	sbx_live_receipt(live, facts);
	refused = sbx_receipt_judge(&live->receipt, live->req->require_bits, live->req->accept_bits,
				    &why) != 0;
	if (!live->started_event && begin(live, refused, err) != 0)
		return -1;
	if (refused) {
		*err = why;
		return -1;
	}
	if (live->req->timeout_ns == SBX_UNLIMITED)
		live->fuse_ns = SBX_UNLIMITED;
	else
		sbx_live_fuse(live, live->req->timeout_ns + AFTER_LIMIT_NS);
	return sbx_client_go(live->client, live->prog, err);
}

static int on_started(void *ctx, struct sbx_err *err)
{
	struct sbx_live *live = ctx;

	(void)err;
	live->running = true;
	live->ran = !live->is_compile;
	return 0;
}

/* Kept as: stream, length, bytes.  What is beyond the ceiling is dropped: a compiler that writes megabytes is not read. */
static int keep_words(struct sbx_live *live, unsigned int stream, struct sbx_str bytes,
		      struct sbx_err *err)
{
	char head[5] = {(char)stream};
	uint32_t n = (uint32_t)bytes.n;

	if (live->compile_words.len + sizeof head + bytes.n <= live->compile_words.max) {
		memcpy(head + 1, &n, sizeof n);
		if (sbx_buf_add(&live->compile_words, head, sizeof head, err) != 0 ||
		    sbx_buf_add(&live->compile_words, bytes.p, bytes.n, err) != 0)
			return -1;
	}
	return sbx_client_credit(live->client, live->prog, stream, bytes.n, err);
}

static int on_data(void *ctx, unsigned int stream, struct sbx_str bytes, struct sbx_err *err)
{
	struct sbx_live *live = ctx;

	if (stream > SBX_WIRE_STDERR)
		return sbx_fail(err, SBX_E_BACKEND, "the sandbox sent an unknown stream");
	if (live->is_compile)
		return keep_words(live, stream, bytes, err);
	live->ungranted[stream - 1] += bytes.n;
	return sbx_live_output(live, stream, bytes, false, err);
}

static int on_eof(void *ctx, unsigned int stream, uint32_t sys, struct sbx_err *err)
{
	struct sbx_live *live = ctx;

	(void)sys;
	(void)err;
	if (stream == SBX_WIRE_STDIN)
		live->stdin_open = false;
	return 0;
}

static int on_limit(void *ctx, const struct sbx_wire_limit *limit, struct sbx_err *err)
{
	struct sbx_live *live = ctx;

	if (live->is_compile)
		return 0;
	live->limited[limit->stream - 1] = true;
	return sbx_live_limit(live, SBX_CTL_OUTPUT, limit->value, err);
}

static int on_end(void *ctx, const struct sbx_wire_end *end, struct sbx_err *err)
{
	struct sbx_live *live = ctx;

	(void)err;
	live->end = *end;
	(void)snprintf(live->end_step, sizeof live->end_step, "%s", end->step);
	live->end.step = live->end_step;
	live->prog = 0;
	live->running = live->stdin_open = false;
	live->over = true;
	return 0;
}

/* ---- after a compiler */

static int put_words(struct sbx_live *live, struct sbx_err *err)
{
	const struct sbx_buf *words = &live->compile_words;
	size_t at = 0;

	while (at < words->len) {
		unsigned int stream = (unsigned char)words->p[at];
		uint32_t n;

		memcpy(&n, words->p + at + 1, sizeof n);
		at += 5;
		if (sbx_live_output(live, stream, (struct sbx_str){words->p + at, n}, false, err))
			return -1;
		at += n;
	}
	for (unsigned int s = 1; s <= 2; s++)
		if (sbx_live_output(live, s, SBX_STR(""), true, err) != 0)
			return -1;
	return 0;
}

static int put_warnings(struct sbx_live *live, struct sbx_err *err)
{
	struct sbx_buf text = SBX_BUF_INIT(COMPILE_MESSAGE_MAX);
	struct sbx_event ev = {.type = SBX_EV_PROGRESS, .progress = {.phase = "compile"}};
	const struct sbx_buf *words = &live->compile_words;
	size_t at = 0, partial;
	int r = 0;

	while (r == 0 && at < words->len) {
		size_t room = text.max - text.len - 1;
		uint32_t n;

		memcpy(&n, words->p + at + 1, sizeof n);
		r = sbx_buf_add(&text, words->p + at + 5, n < room ? n : room, err);
		at += 5 + n;
	}
	if (r == 0 && text.len > 0) {
		text.p[sbx_utf8_prefix(text.p, text.len, &partial)] = 0;
		ev.progress.message = text.p;
		r = sbx_emit(&live->em, &ev, err);
	}
	sbx_buf_release(&text);
	return r;
}

/* ---- the program */

static uint64_t in_ms(uint64_t ns)
{
	return ns == SBX_UNLIMITED ? UINT64_MAX : (ns + 999999) / 1000000;
}

static int spawn(struct sbx_live *live, const struct sbx_strv *argv, struct sbx_err *err)
{
	const struct sbx_request *req = live->req;
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_wire_spawn m = {
		.timeout_ms = in_ms(req->timeout_ns),
		.cpu_time_ms = UINT64_MAX,
		.max_output = req->max_output,
		.kill_output =
			req->max_output > UINT64_MAX / 16 ? UINT64_MAX : req->max_output * 16,
		.cwd = live->box->bare ? live->box->bare->workdir : req->workdir,
	};

	if (req->cpu_time_ns != SBX_UNLIMITED &&
	    (live->box->be->ops->stats(live->box->be, live->box, &live->stats, &ignored) != 0 ||
	     !live->stats.has_cpu))
		m.cpu_time_ms = in_ms(req->cpu_time_ns);
	if (req->tty && !live->is_compile) {
		m.flags |= SBX_WIRE_SPAWN_TTY;
		sbx_tty_size(STDOUT_FILENO, &m.rows, &m.cols);
	}
	return sbx_client_spawn(live->client, live->prog, &m, argv, &live->plan.env, err);
}

static int feed(struct sbx_live *live, struct sbx_err *err)
{
	live->stdin_open = true;
	live->stdin_at = 0;
	if (!live->is_compile && live->req->stdin_kind != SBX_STDIN_EMPTY) {
		if (live->req->stdin_kind == SBX_STDIN_FD)
			live->input = sbx_input_open(live->req->stdin_fd);
		return 0;
	}
	live->stdin_open = false;
	return sbx_client_eof(live->client, live->prog, err);
}

static int finish_words(struct sbx_live *live, struct sbx_err *err)
{
	bool good = live->end.how == SBX_WIRE_EXITED && live->end.code == 0;
	int r;

	if (live->is_compile) {
		r = good ? put_warnings(live, err) : put_words(live, err);
		sbx_buf_release(&live->compile_words);
		return r;
	}
	for (unsigned int s = 1; s <= 2; s++)
		if (sbx_live_output(live, s, SBX_STR(""), true, err) != 0)
			return -1;
	return 0;
}

int sbx_live_program(struct sbx_live *live, const struct sbx_strv *argv, bool is_compile,
		     struct sbx_err *err)
{
	static const struct sbx_call_ops ops = {.confined = on_confined,
						.started = on_started,
						.data = on_data,
						.eof = on_eof,
						.limit = on_limit,
						.end = on_end};
	struct sbx_tty tty = {.fd = -1};
	int r = 0;

	live->argv = argv;
	live->is_compile = is_compile;
	live->over = live->running = false;
	live->compile_words.max = COMPILE_WORDS_MAX;
	memset(live->tail, 0, sizeof live->tail);
	memset(live->ungranted, 0, sizeof live->ungranted);
	live->spawn_ns = sbx_now_ns();
	if (sbx_client_request(live->client, &ops, live, &live->prog, err) != 0 ||
	    spawn(live, argv, err) != 0 || feed(live, err) != 0)
		return -1;
	sbx_live_fuse(live, ANSWER_NS);
	if (live->req->tty && !is_compile && live->req->stdin_kind == SBX_STDIN_FD)
		sbx_tty_raw(&tty, live->req->stdin_fd);
	while (r == 0 && !live->over)
		r = sbx_live_turn(live, err);
	sbx_tty_restore(&tty);
	sbx_input_release(&live->input);
	return r == 0 ? finish_words(live, err) : -1;
}
