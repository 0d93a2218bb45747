#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/event/out.h"
#include "lib/event/sinks.h"
#include "lib/json/doc.h"
#include "t/unit/tap.h"

struct rig {
	int fd;
	struct sbx_out out;
	struct sbx_sink *sink;
	struct sbx_json_doc *doc;
};

static void rig_open(struct rig *rig, uint64_t max_bytes)
{
	struct sbx_err inner = SBX_ERR_INIT, *err = &inner;

	*rig = (struct rig){.fd = memfd_create("out", MFD_CLOEXEC)};
	ok_call(sbx_out_open(&rig->out, rig->fd, 100, err));
	rig->sink = sbx_sink_json(&rig->out, max_bytes);
}

static void rig_close(struct rig *rig)
{
	sbx_sink_free(rig->sink);
	sbx_out_release(&rig->out);
	sbx_json_freep(&rig->doc);
	close(rig->fd);
}

static void put(struct rig *rig, struct sbx_event ev)
{
	struct sbx_err inner = SBX_ERR_INIT, *err = &inner;

	ev.id = "r";
	ok_call(rig->sink->ops->put(rig->sink, &ev, err));
}

static void put_bytes(struct rig *rig, enum sbx_event_type type, struct sbx_str bytes, bool is_text)
{
	put(rig, (struct sbx_event){.type = type, .output = {.bytes = bytes, .text = is_text}});
}

/* Puts the end; what was written then is one line, parsed. */
static void finish(struct rig *rig, struct sbx_ev_end end)
{
	struct sbx_err inner = SBX_ERR_INIT, *err = &inner;
	off_t n = lseek(rig->fd, 0, SEEK_END);
	char *text;

	ok_int(n, 0);
	put(rig, (struct sbx_event){.type = SBX_EV_END, .seq = 3, .t_ns = 4, .end = end});
	n = lseek(rig->fd, 0, SEEK_END);
	text = sbx_xcalloc((size_t)n + 1, 1);
	ok_int(pread(rig->fd, text, (size_t)n, 0), n);
	ok(n > 0 && strchr(text, '\n') == text + n - 1);
	ok_call(sbx_json_parse(sbx_str_of(text), "object", &rig->doc, err));
	free(text);
}

/* The member as it stands in the text; NULL: there is none. */
static void has(struct rig *rig, const char *key, const char *want)
{
	struct sbx_json v;
	struct sbx_str raw;

	if (!rig->doc || !sbx_json_get(sbx_json_root(rig->doc), key, &v)) {
		ok_str(NULL, want);
		return;
	}
	raw = sbx_json_raw(v);
	if (ok(want != NULL))
		ok_mem(raw.p, raw.n, want, strlen(want));
}

static const struct sbx_ev_end exited = {
	.outcome = SBX_OUT_EXITED, .has_exit_code = true, .exit_code = 7, .ran = true};

TEST(nothing_happened)
{
	struct rig rig;

	rig_open(&rig, 100);
	finish(&rig, (struct sbx_ev_end){.outcome = SBX_OUT_FAILED});
	has(&rig, "type", NULL);
	has(&rig, "id", "\"r\"");
	has(&rig, "seq", "3");
	has(&rig, "t_ns", "4");
	has(&rig, "outcome", "\"failed\"");
	has(&rig, "exit_code", "null");
	has(&rig, "stdout", "\"\"");
	has(&rig, "stdout_base64", NULL);
	has(&rig, "stderr", "\"\"");
	has(&rig, "plots", "[]");
	has(&rig, "files", "[]");
	has(&rig, "limits", "[]");
	has(&rig, "denies", "[]");
	has(&rig, "warnings", "[]");
	has(&rig, "start", "null");
	has(&rig, "ran", "false");
	has(&rig, "signal", "null");
	has(&rig, "error", "null");
	has(&rig, "truncated", "{\"stdout\":false,\"stderr\":false}");
	has(&rig, "bytes", "{\"stdout\":0,\"stderr\":0}");
	has(&rig, "timing",
	    "{\"queue\":0,\"acquire\":0,\"install\":0,\"compile\":0,\"exec\":0,"
	    "\"drain\":0,\"teardown\":0,\"total\":0}");
	has(&rig, "usage",
	    "{\"cpu_user_ns\":0,\"cpu_sys_ns\":0,\"memory_peak_bytes\":null,"
	    "\"pids_peak\":null,\"io\":null,\"net\":null}");
	rig_close(&rig);
}

TEST(everything_happened)
{
	struct sbx_receipt receipt = {0};
	struct rig rig;

	rig_open(&rig, SBX_UNLIMITED);
	put(&rig, (struct sbx_event){.type = SBX_EV_PROGRESS, .progress = {.phase = "compile"}});
	put(&rig, (struct sbx_event){.type = SBX_EV_START,
				     .start = {.lang = "c",
					       .backend = "local",
					       .state = "fresh",
					       .receipt = &receipt}});
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("a\n"), true);
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR("e"), true);
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("\xe2\x82\xac"), true);
	put(&rig, (struct sbx_event){.type = SBX_EV_LIMIT, .limit = {"pids", 3}});
	put(&rig, (struct sbx_event){.type = SBX_EV_LIMIT, .limit = {"cpu", 1000}});
	put(&rig, (struct sbx_event){.type = SBX_EV_DENY, .deny = {"path", "/x", NULL, NULL}});
	put(&rig, (struct sbx_event){.type = SBX_EV_WARN, .warn = {"c", "m"}});
	put(&rig, (struct sbx_event){.type = SBX_EV_FILE,
				     .file = {.path = SBX_STR("p"), .change = "added"}});
	put(&rig, (struct sbx_event){.type = SBX_EV_DISPLAY,
				     .display = {.mime = "image/svg+xml",
						 .bytes = SBX_STR("<svg>"),
						 .text = true,
						 .width = 5}});
	finish(&rig, exited);
	has(&rig, "exit_code", "7");
	has(&rig, "stdout", "\"a\\n\xe2\x82\xac\"");
	has(&rig, "stdout_base64", NULL);
	has(&rig, "stderr", "\"e\"");
	has(&rig, "limits", "[{\"name\":\"pids\",\"value\":3},{\"name\":\"cpu\",\"value\":1000}]");
	has(&rig, "denies", "[{\"kind\":\"path\",\"what\":\"/x\",\"rule\":null,\"hint\":null}]");
	has(&rig, "warnings", "[{\"code\":\"c\",\"message\":\"m\"}]");
	has(&rig, "files",
	    "[{\"path\":\"p\",\"size\":0,\"sha256\":null,\"mime\":null,"
	    "\"change\":\"added\",\"skipped\":null,\"saved_as\":null}]");
	has(&rig, "plots",
	    "[{\"format\":\"svg\",\"content_base64\":\"PHN2Zz4=\","
	    "\"mime\":\"image/svg+xml\",\"title\":null,\"width\":5,"
	    "\"height\":null}]");
	has(&rig, "start",
	    "{\"v\":1,\"time\":\"1970-01-01T00:00:00.000000000Z\",\"lang\":\"c\","
	    "\"backend\":\"local\",\"engine\":null,\"image\":null,"
	    "\"state\":\"fresh\",\"enforced\":{},\"degraded\":{},"
	    "\"unsupported\":{}}");
	rig_close(&rig);
}

TEST(not_utf8)
{
	struct rig rig;

	rig_open(&rig, 100);
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("a\xff"), false);
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("\0\n"), true);
	finish(&rig, exited);
	has(&rig, "stdout", "\"a\\ufffd\\u0000\\n\"");
	has(&rig, "stdout_base64", "\"Yf8ACg==\"");
	has(&rig, "stderr_base64", NULL);
	rig_close(&rig);
}

TEST(more_than_it_holds)
{
	struct rig rig;
	struct sbx_ev_end end = exited;

	rig_open(&rig, 5);
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("12345"), true);
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR("123"), true);
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR("\xe2\x82\xac"), true);
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR("4"), true); /* not behind a gap */
	end.bytes_stderr = 7;
	finish(&rig, end);
	has(&rig, "stdout", "\"12345\"");
	has(&rig, "stderr", "\"123\"");
	has(&rig, "stderr_base64", NULL);
	has(&rig, "truncated", "{\"stdout\":false,\"stderr\":true}");
	has(&rig, "bytes", "{\"stdout\":0,\"stderr\":7}");
	rig_close(&rig);
}

/* A list has its ceiling: what does not fit is counted, and the result comes all the same. */
TEST(too_many_plots)
{
	enum { SIZE = 50 << 20 };
	char *image = sbx_xcalloc(SIZE, 1), tail[1024] = "";
	struct sbx_event ev = {.type = SBX_EV_DISPLAY, .display = {.mime = "image/png"}};
	const size_t sizes[] = {SIZE, SIZE / 2, SIZE / 2, 3};
	struct rig rig;
	off_t n;

	rig_open(&rig, 100);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(sizes); i++) {
		ev.display.bytes = (struct sbx_str){image, sizes[i]};
		put(&rig, ev);
	}
	put(&rig, (struct sbx_event){.type = SBX_EV_WARN, .warn = {"c", "m"}});
	put(&rig, (struct sbx_event){.type = SBX_EV_END, .end = exited});
	free(image);
	n = lseek(rig.fd, 0, SEEK_END);
	ok(n > SIZE / 2 && n < SIZE);
	ok(pread(rig.fd, tail, sizeof(tail) - 1, n - (off_t)sizeof(tail) + 1) > 0);
	ok(strstr(tail, "\"content_base64\":\"AAAA\"") != NULL);
	ok(strstr(tail, "\"warnings\":[{\"code\":\"c\",\"message\":\"m\"},"
			"{\"code\":\"dropped\",\"message\":\"2 more did not fit\"}]") != NULL);
	rig_close(&rig);
}

TAP_MAIN(RUN(nothing_happened), RUN(everything_happened), RUN(not_utf8), RUN(more_than_it_holds),
	 RUN(too_many_plots))
