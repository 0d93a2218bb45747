#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/event/out.h"
#include "lib/event/sinks.h"
#include "t/unit/tap.h"

struct place {
	int fd;
	struct sbx_out out;
	char text[4096];
};

static void place_open(struct place *place, struct sbx_err *err)
{
	place->fd = memfd_create("out", MFD_CLOEXEC);
	ok_call(sbx_out_open(&place->out, place->fd, 2048, err));
}

static const char *place_text(struct place *place)
{
	ssize_t n = pread(place->fd, place->text, sizeof(place->text) - 1, 0);

	place->text[n < 0 ? 0 : n] = '\0';
	return place->text;
}

static void place_close(struct place *place)
{
	sbx_out_release(&place->out);
	close(place->fd);
}

static int put_warn(struct sbx_sink *sink, const char *message, struct sbx_err *err)
{
	struct sbx_event ev = {
		.type = SBX_EV_WARN, .id = "r", .warn = {.code = "c", .message = message}};

	return sink->ops->put(sink, &ev, err);
}

#define LINE(message)                                                                      \
	"{\"type\":\"warn\",\"id\":\"r\",\"seq\":0,\"t_ns\":0,\"code\":\"c\",\"message\":" \
	"\"" message "\"}\n"

TEST(each_event_is_a_line_at_once)
{
	struct place place;
	struct sbx_sink *sink;

	place_open(&place, err);
	sink = sbx_sink_jsonl(&place.out, false);
	ok_call(put_warn(sink, "one\r\n", err));
	ok_str(place_text(&place), LINE("one\\r\\n"));
	ok_call(put_warn(sink, "two", err));
	ok_str(place_text(&place), LINE("one\\r\\n") LINE("two"));
	sbx_sink_free(sink);
	place_close(&place);
}

TEST(record_separators)
{
	struct place place;
	struct sbx_sink *sink;

	place_open(&place, err);
	sink = sbx_sink_jsonl(&place.out, true);
	ok_call(put_warn(sink, "one", err));
	ok_call(put_warn(sink, "two", err));
	ok_str(place_text(&place), "\x1e" LINE("one") "\x1e" LINE("two"));
	sbx_sink_free(sink);
	place_close(&place);
}

/* Not a byte of a line that is too long gets out. */
TEST(line_beyond_the_ceiling)
{
	struct place place;
	struct sbx_sink *sink;
	char message[3000];

	memset(message, 'x', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	place_open(&place, err);
	sink = sbx_sink_jsonl(&place.out, false);
	ok_fail(put_warn(sink, message, err), SBX_E_LIMIT, "2048 bytes");
	ok_call(put_warn(sink, "two", err));
	ok_str(place_text(&place), LINE("two"));
	sbx_sink_free(sink);
	place_close(&place);
}

TEST(tee)
{
	struct place one, two;
	struct sbx_sink *sink;

	place_open(&one, err);
	place_open(&two, err);
	sink = sbx_sink_tee(sbx_sink_jsonl(&one.out, false), sbx_sink_jsonl(&two.out, true));
	ok_call(put_warn(sink, "one", err));
	ok_str(place_text(&one), LINE("one"));
	ok_str(place_text(&two), "\x1e" LINE("one"));
	sbx_sink_free(sink);
	place_close(&one);
	place_close(&two);
}

/* Whichever place fails, the other hears of the event, and the failure is told. */
TEST(tee_outlives_a_failure)
{
	struct place one, two;
	struct sbx_sink *sink;

	for (int broken = 0; broken < 2; broken++) {
		place_open(&one, err);
		place_open(&two, err);
		sink = sbx_sink_tee(sbx_sink_jsonl(&one.out, false),
				    sbx_sink_jsonl(&two.out, false));
		close(broken ? two.fd : one.fd);
		ok_fail(put_warn(sink, "x", err), SBX_E_OUTPUT, "Bad file descriptor");
		ok_str(place_text(broken ? &one : &two), LINE("x"));
		sbx_sink_free(sink);
		place_close(&one);
		place_close(&two);
	}
}

TEST(no_sink)
{
	sbx_sink_free(NULL);
}

TAP_MAIN(RUN(each_event_is_a_line_at_once), RUN(record_separators), RUN(line_beyond_the_ceiling),
	 RUN(tee), RUN(tee_outlives_a_failure), RUN(no_sink))
