#include <stdlib.h>
#include <unistd.h>

#include "cmd/jobs.h"
#include "lib/base/limits.h"
#include "t/unit/tap.h"

/* The input comes through a pipe, as much at a time as a test wants. */
static int feed[2];

static void open_input(struct sbx_lines *l)
{
	ok_int(pipe(feed), 0);
	sbx_lines_init(l, feed[0]);
}

static void give(struct sbx_lines *l, const char *text, struct sbx_err *err)
{
	ok_int(write(feed[1], text, strlen(text)), (long long)strlen(text));
	ok_call(sbx_lines_fill(l, err));
}

static void end(struct sbx_lines *l, struct sbx_err *err)
{
	(void)close(feed[1]);
	ok_call(sbx_lines_fill(l, err));
	ok(l->eof);
}

static void close_input(struct sbx_lines *l)
{
	(void)close(feed[0]);
	sbx_lines_release(l);
}

/* The next line as a string in place, "(none)" when there is none, "(long)" for one that was cut. */
static const char *next(struct sbx_lines *l)
{
	static char text[64];
	struct sbx_str line;
	bool is_long;

	if (!sbx_lines_next(l, &line, &is_long))
		return "(none)";
	if (is_long)
		return "(long)";
	(void)snprintf(text, sizeof(text), "%.*s", (int)line.n, line.p);
	return text;
}

TEST(lines)
{
	struct sbx_lines l;

	open_input(&l);
	ok_str(next(&l), "(none)");
	give(&l, "a\n\n  \nbc", err);
	ok_str(next(&l), "a");
	ok_int(l.number, 1);
	ok_str(next(&l), "(none)"); /* blank ones are skipped, half of one is not given */
	give(&l, "d\ne", err);
	ok_str(next(&l), "bcd");
	ok_int(l.number, 4);
	ok_str(next(&l), "(none)");
	end(&l, err);
	ok_str(next(&l), "e");
	ok_str(next(&l), "(none)");
	ok_str(next(&l), "(none)");
	close_input(&l);
}

TEST(empty)
{
	struct sbx_lines l;

	open_input(&l);
	end(&l, err);
	ok_str(next(&l), "(none)");
	close_input(&l);
}

/* A line of more than the ceiling is read to its end, in bounded memory, and said to be long. */
TEST(long_line)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf chunk = SBX_BUF_INIT(32 << 10);
	struct sbx_lines l;
	char *room;

	ok_call(sbx_buf_reserve(&chunk, (32 << 10) - 1, &room, err));
	memset(room, 'x', (32 << 10) - 1);
	room[(32 << 10) - 1] = '\0';
	open_input(&l);
	for (size_t n = 0; n <= (size_t)SBX_JOB_LINE_MAX + (1 << 20); n += 32 << 10) {
		give(&l, room, err);
		if (n % (4 << 20) == 0)
			ok_str(next(&l), "(none)");
	}
	ok(l.buf.cap <= (size_t)SBX_JOB_LINE_MAX + (1 << 20));
	give(&l, "\nshort\n", err);
	ok_str(next(&l), "(long)");
	ok_int(l.number, 1);
	ok_str(next(&l), "short");
	ok_int(l.number, 2);
	end(&l, err);
	ok_str(next(&l), "(none)");
	close_input(&l);
}

TEST(seen)
{
	struct sbx_seen seen = {.n = 0};
	char id[16];

	ok(sbx_seen_add(&seen, "a"));
	ok(sbx_seen_add(&seen, "b"));
	ok(!sbx_seen_add(&seen, "a"));
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(id, sizeof(id), "%d", i);
		ok(sbx_seen_add(&seen, id));
	}
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(id, sizeof(id), "%d", i);
		ok(!sbx_seen_add(&seen, id));
	}
	ok(!sbx_seen_add(&seen, "b"));
	ok_int(seen.n, 5002);
	sbx_seen_release(&seen);
}

TAP_MAIN(RUN(lines), RUN(empty), RUN(long_line), RUN(seen))
