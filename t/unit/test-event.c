#include "lib/event/event.h"

#include <signal.h>
#include <stdlib.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/event/decode.h"
#include "lib/event/sinks.h"
#include "t/unit/tap.h"

#define HEAD(type) "{\"type\":\"" type "\",\"id\":\"r\",\"seq\":7,\"t_ns\":8,"

/* ev is written as want, and want is read back as something that is written as want. */
static void written(struct sbx_event ev, const char *want)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf buf = SBX_BUF_INIT(1 << 20);
	struct sbx_decoded dec = {0};
	struct sbx_err inner = SBX_ERR_INIT, *err = &inner;

	ev.id = "r";
	ev.seq = 7;
	ev.t_ns = 8;
	ok_call(sbx_event_json(&ev, &buf, err));
	ok_str(sbx_buf_str(&buf), want);
	ok_int(sbx_event_decode(sbx_str_of(want), &dec, err), 1);
	ok_str(err->msg, "");
	sbx_buf_reset(&buf);
	if (err->code == SBX_E_OK)
		ok_call(sbx_event_json(&dec.ev, &buf, err));
	ok_str(sbx_buf_str(&buf), want);
	sbx_decoded_release(&dec);
}

TEST(start)
{
	struct sbx_receipt receipt = {0};
	struct sbx_event ev = {.type = SBX_EV_START,
			       .start = {.lang = "python",
					 .backend = "local",
					 .state = "fresh",
					 .time_ns = 1767323045000000009,
					 .receipt = &receipt}};

	sbx_receipt_set(&receipt, SBX_CTL_MEMORY, SBX_HELD_ENFORCED, "cgroup v1");
	sbx_receipt_set(&receipt, SBX_CTL_CPU, SBX_HELD_DEGRADED, "x");
	written(ev, HEAD("start") "\"v\":1,\"time\":\"2026-01-02T03:04:05.000000009Z\","
				  "\"lang\":\"python\",\"backend\":\"local\",\"engine\":null,"
				  "\"image\":null,\"state\":\"fresh\","
				  "\"enforced\":{\"memory\":\"cgroup v1\"},"
				  "\"degraded\":{\"cpu\":\"x\"},\"unsupported\":{}}");
	ev.start.engine = "runsc";
	ev.start.image = "python:3.11";
	ev.start.time_ns = -1;
	receipt = (struct sbx_receipt){0};
	written(ev, HEAD("start") "\"v\":1,\"time\":\"1969-12-31T23:59:59.999999999Z\","
				  "\"lang\":\"python\",\"backend\":\"local\",\"engine\":\"runsc\","
				  "\"image\":\"python:3.11\",\"state\":\"fresh\","
				  "\"enforced\":{},\"degraded\":{},\"unsupported\":{}}");
}

TEST(progress)
{
	struct sbx_event ev = {.type = SBX_EV_PROGRESS, .progress = {.phase = "compile"}};

	written(ev, HEAD("progress") "\"phase\":\"compile\",\"message\":null,\"done\":null,"
				     "\"total\":null}");
	ev.progress.message = "a\nb";
	ev.progress.total = UINT64_MAX;
	written(ev, HEAD("progress") "\"phase\":\"compile\",\"message\":\"a\\nb\",\"done\":0,"
				     "\"total\":18446744073709551615}");
}

TEST(output)
{
	struct sbx_event ev = {
		.type = SBX_EV_STDOUT,
		.output = {.bytes = SBX_STR("\"\\\n\0\x1b\x7f\xe2\x82\xac\xe2\x80\xa8"),
			   .text = true}};

	written(ev,
		HEAD("stdout") "\"data\":\"\\\"\\\\\\n\\u0000\\u001b\\u007f\xe2\x82\xac\\u2028\"}");
	ev = (struct sbx_event){.type = SBX_EV_STDERR, .output = {.bytes = SBX_STR("\xff\0\n")}};
	written(ev, HEAD("stderr") "\"base64\":\"/wAK\"}");
}

TEST(display)
{
	struct sbx_event ev = {.type = SBX_EV_DISPLAY,
			       .display = {.mime = "image/png", .bytes = SBX_STR("\x89PNG")}};

	written(ev, HEAD("display") "\"mime\":\"image/png\",\"title\":null,\"width\":null,"
				    "\"height\":null,\"base64\":\"iVBORw==\"}");
	ev.display = (struct sbx_ev_display){.mime = "text/html",
					     .title = "T",
					     .bytes = SBX_STR("<p>"),
					     .text = true,
					     .width = 640,
					     .height = UINT32_MAX};
	written(ev, HEAD("display") "\"mime\":\"text/html\",\"title\":\"T\",\"width\":640,"
				    "\"height\":4294967295,\"data\":\"<p>\"}");
}

TEST(file)
{
	struct sbx_event ev = {.type = SBX_EV_FILE,
			       .file = {.path = SBX_STR("a/b.png"),
					.size = 12,
					.sha256 = "00ff",
					.mime = "image/png",
					.change = "added",
					.saved_as = "out/a/b.png"}};

	written(ev, HEAD("file") "\"path\":\"a/b.png\",\"size\":12,\"sha256\":\"00ff\","
				 "\"mime\":\"image/png\",\"change\":\"added\",\"skipped\":null,"
				 "\"saved_as\":\"out/a/b.png\"}");
	ev.file = (struct sbx_ev_file){
		.path = SBX_STR("l\n\xff"), .change = "modified", .skipped = "symlink"};
	written(ev, HEAD("file") "\"path\":\"l\\\\x0a\\\\xff\",\"path_base64\":\"bAr/\",\"size\":0,"
				 "\"sha256\":null,\"mime\":null,\"change\":\"modified\","
				 "\"skipped\":\"symlink\",\"saved_as\":null}");
	ev.file = (struct sbx_ev_file){
		.path = SBX_STR("\n"), .change = "added", .saved_as = "\xc3(\\"};
	written(ev, HEAD("file") "\"path\":\"\\n\",\"size\":0,\"sha256\":null,\"mime\":null,"
				 "\"change\":\"added\",\"skipped\":null,"
				 "\"saved_as\":\"\\\\xc3(\\\\\",\"saved_as_base64\":\"wyhc\"}");
}

TEST(deny_limit_warn)
{
	struct sbx_event ev = {.type = SBX_EV_DENY,
			       .deny = {.kind = "network", .what = "connect 10.0.0.1:80"}};

	written(ev, HEAD("deny") "\"kind\":\"network\",\"what\":\"connect 10.0.0.1:80\","
				 "\"rule\":null,\"hint\":null}");
	ev.deny.rule = "r";
	ev.deny.hint = "h";
	written(ev, HEAD("deny") "\"kind\":\"network\",\"what\":\"connect 10.0.0.1:80\","
				 "\"rule\":\"r\",\"hint\":\"h\"}");
	ev = (struct sbx_event){.type = SBX_EV_LIMIT,
				.limit = {.name = "memory", .value = 1 << 29}};
	written(ev, HEAD("limit") "\"name\":\"memory\",\"value\":536870912}");
	ev = (struct sbx_event){.type = SBX_EV_WARN, .warn = {.code = "bom", .message = "m"}};
	written(ev, HEAD("warn") "\"code\":\"bom\",\"message\":\"m\"}");
}

TEST(end)
{
	struct sbx_err error = SBX_ERR_INIT;
	struct sbx_event ev = {
		.type = SBX_EV_END,
		.end = {.outcome = SBX_OUT_EXITED, .has_exit_code = true, .ran = true}};

	written(ev, HEAD("end") "\"outcome\":\"exited\",\"exit_code\":0,\"signal\":null,"
				"\"ran\":true,\"error\":null,"
				"\"truncated\":{\"stdout\":false,\"stderr\":false},"
				"\"bytes\":{\"stdout\":0,\"stderr\":0},"
				"\"timing\":{\"queue\":0,\"acquire\":0,\"install\":0,\"compile\":0,"
				"\"exec\":0,\"drain\":0,\"teardown\":0,\"total\":0},"
				"\"usage\":{\"cpu_user_ns\":0,\"cpu_sys_ns\":0,"
				"\"memory_peak_bytes\":null,\"pids_peak\":null,\"io\":null,"
				"\"net\":null}}");
	sbx_fail_(&error, SBX_E_LOST, "the guest died");
	ev.end = (struct sbx_ev_end){
		.outcome = SBX_OUT_LOST,
		.signal = SIGKILL,
		.error = &error,
		.phase = "run",
		.hint = "again",
		.truncated_stderr = true,
		.bytes_stdout = 1,
		.bytes_stderr = 2,
		.timing = {1, 2, 3, 4, 5, 6, 7, 8},
		.usage = {1, 2, 3, 4, 5, 6, 7, 8, true, true, true, true},
	};
	written(ev, HEAD("end") "\"outcome\":\"lost\",\"exit_code\":null,\"signal\":\"SIGKILL\","
				"\"ran\":false,\"error\":{\"code\":\"lost\","
				"\"message\":\"the guest died\",\"phase\":\"run\","
				"\"hint\":\"again\"},"
				"\"truncated\":{\"stdout\":false,\"stderr\":true},"
				"\"bytes\":{\"stdout\":1,\"stderr\":2},"
				"\"timing\":{\"queue\":1,\"acquire\":2,\"install\":3,\"compile\":4,"
				"\"exec\":5,\"drain\":6,\"teardown\":7,\"total\":8},"
				"\"usage\":{\"cpu_user_ns\":1,\"cpu_sys_ns\":2,"
				"\"memory_peak_bytes\":3,\"pids_peak\":4,"
				"\"io\":{\"read_bytes\":5,\"write_bytes\":6},"
				"\"net\":{\"sent_bytes\":7,\"received_bytes\":8}}}");
}

/* -1: the decoder fails saying words; else what it returns. */
static void decoded(const char *line, int want, const char *words)
{
	struct sbx_decoded dec = {0};
	struct sbx_err err = SBX_ERR_INIT;

	ok_int(sbx_event_decode(sbx_str_of(line), &dec, &err), want);
	if (!ok(strstr(err.msg, words) != NULL))
		printf("#   of %s: '%s' has no '%s'\n", line, err.msg, words);
	sbx_decoded_release(&dec);
}

TEST(decode_passes_over_what_it_does_not_know)
{
	decoded(HEAD("sparkle") "\"x\":[]}", 0, "");
	decoded(HEAD("warn") "\"code\":\"c\",\"new\":{\"a\":[1]},\"message\":\"m\"}", 1, "");
	decoded("{\"type\":\"limit\",\"id\":\"r\",\"seq\":1,\"t_ns\":2,\"name\":\"n\",\"value\":3}",
		1, "");
}

TEST(decode_refuses)
{
	decoded("", -1, "event");
	decoded("[]", -1, "must be an object, not an array");
	decoded("{\"type\":1}", -1, "'type' must be a string");
	decoded("{}", -1, "no 'type'");
	decoded("{\"type\":\"warn\"}", -1, "no 'id'");
	decoded("{\"type\":\"warn\",\"id\":\"\",\"seq\":-1,\"t_ns\":0}", -1, "seq");
	decoded(HEAD("warn") "\"code\":null,\"message\":\"m\"}", -1,
		"'code' must be a string, not null");
	decoded(HEAD("warn") "\"code\":\"\\u0000\",\"message\":\"m\"}", -1, "NUL in 'code'");
	decoded(HEAD("limit") "\"name\":\"n\",\"value\":1e3}", -1, "value");
	decoded(HEAD("stdout") "\"x\":1}", -1, "no 'base64'");
	decoded(HEAD("stdout") "\"base64\":\"*\"}", -1, "'base64'");
	decoded(HEAD("file") "\"path\":\"x\",\"path_base64\":\"AA==\",\"size\":0,\"sha256\":null,"
			     "\"mime\":null,\"change\":\"added\",\"skipped\":null,"
			     "\"saved_as\":null}",
		-1, "NUL in 'path_base64'");
	decoded(HEAD("start") "\"lang\":\"\",\"backend\":\"\",\"engine\":null,\"image\":null,"
			      "\"state\":\"\",\"v\":2}",
		-1, "v");
	decoded(HEAD("start") "\"lang\":\"\",\"backend\":\"\",\"engine\":null,\"image\":null,"
			      "\"state\":\"\",\"v\":1,\"time\":\"2026-01-02T03:04:05Z\"}",
		-1, "not a time");
	decoded(HEAD("start") "\"lang\":\"\",\"backend\":\"\",\"engine\":null,\"image\":null,"
			      "\"state\":\"\",\"v\":1,\"time\":\"9999-01-02T03:04:05.000000000Z\"}",
		-1, "too far");
	decoded(HEAD("end") "\"outcome\":\"odd\"}", -1, "no such outcome");
	decoded(HEAD("end") "\"outcome\":\"exited\",\"exit_code\":0,\"signal\":\"SIGNAL\"}", -1,
		"no such signal");
}

TEST(signals)
{
	ok_str(sbx_signal_name(1), "SIGHUP");
	ok_str(sbx_signal_name(9), "SIGKILL");
	ok_str(sbx_signal_name(31), "SIGSYS");
	ok_str(sbx_signal_name(34), "SIGRTMIN");
	ok_str(sbx_signal_name(35), "SIGRTMIN+1");
	ok_str(sbx_signal_name(64), "SIGRTMIN+30");
	ok_str(sbx_signal_name(0), "unknown");
	ok_str(sbx_signal_name(-1), "unknown");
	ok_str(sbx_signal_name(65), "unknown");
	for (int i = 1; i <= 64; i++) {
		ok(strncmp(sbx_signal_name(i), "SIG", 3) == 0);
		for (int k = 1; k < i; k++)
			ok(strcmp(sbx_signal_name(i), sbx_signal_name(k)) != 0);
	}
}

static int status(enum sbx_outcome outcome, int exit_code, int sig, enum sbx_code code)
{
	struct sbx_err error = SBX_ERR_INIT;
	struct sbx_ev_end end = {.outcome = outcome,
				 .has_exit_code = exit_code >= 0,
				 .exit_code = exit_code,
				 .signal = sig};

	if (code != SBX_E_OK) {
		sbx_fail_(&error, code, "x");
		end.error = &error;
	}
	return sbx_end_status(&end);
}

TEST(status_of_the_program)
{
	ok_int(status(SBX_OUT_EXITED, 0, 0, SBX_E_OK), 0);
	ok_int(status(SBX_OUT_EXITED, 7, 0, SBX_E_OK), 7);
	ok_int(status(SBX_OUT_EXITED, 255, 0, SBX_E_OK), 255);
	ok_int(status(SBX_OUT_EXITED, -1, 0, SBX_E_OK), 125);
	ok_int(status(SBX_OUT_SIGNALED, -1, SIGSEGV, SBX_E_OK), 139);
	ok_int(status(SBX_OUT_SIGNALED, -1, 64, SBX_E_OK), 192);
	ok_int(status(SBX_OUT_TIMEOUT, -1, SIGKILL, SBX_E_OK), 124);
	ok_int(status(SBX_OUT_CPU_TIMEOUT, -1, SIGKILL, SBX_E_OK), 124);
	ok_int(status(SBX_OUT_OOM, -1, 0, SBX_E_OK), 137);
	ok_int(status(SBX_OUT_DISK, -1, SIGKILL, SBX_E_OK), 137);
	ok_int(status(SBX_OUT_OUTPUT, -1, SIGKILL, SBX_E_OK), 137);
	ok_int(status(SBX_OUT_DENIED, -1, SIGSYS, SBX_E_DENIED), 126);
	ok_int(status(SBX_OUT_CANCELLED, -1, SIGINT, SBX_E_CANCELLED), 130);
	ok_int(status(SBX_OUT_CANCELLED, -1, 0, SBX_E_CANCELLED), 125);
	ok_int(status(SBX_OUT_COMPILE_FAILED, 1, 0, SBX_E_OK), 1);
	ok_int(status(SBX_OUT_COMPILE_FAILED, 0, 0, SBX_E_OK), 125);
	ok_int(status(SBX_OUT_COMPILE_FAILED, 256, 0, SBX_E_OK), 125);
	ok_int(status(SBX_OUT_COMPILE_FAILED, -1, SIGKILL, SBX_E_OK), 137);
	ok_int(status(SBX_OUT_INSTALL_FAILED, 1, 0, SBX_E_NOT_FOUND), 125);
	ok_int(status(SBX_OUT_LOST, -1, 0, SBX_E_LOST), 125);
}

TEST(status_of_failures)
{
	for (int i = SBX_E_OK; i < SBX_E_COUNT_; i++) {
		enum sbx_code code = (enum sbx_code)i;
		int want = 125;

		if (code == SBX_E_NOT_FOUND)
			want = 127;
		if (code == SBX_E_NOT_EXECUTABLE)
			want = 126;
		ok_int(status(SBX_OUT_FAILED, -1, 0, code), want);
	}
}

struct spy {
	struct sbx_sink base;
	struct sbx_event last;
};

static int spy_put(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err)
{
	((struct spy *)sink)->last = *ev;
	return ev->type == SBX_EV_WARN ? sbx_fail(err, SBX_E_OUTPUT, "full") : 0;
}

TEST(emitter)
{
	static const struct sbx_sink_ops ops = {.put = spy_put};
	struct spy spy = {.base = {.ops = &ops}};
	struct sbx_emitter em = {.sink = &spy.base, .id = "x", .start_ns = sbx_now_ns()};
	struct sbx_event ev = {.type = SBX_EV_LIMIT};
	uint64_t t_ns;

	ok_call(sbx_emit(&em, &ev, err));
	ok_str(spy.last.id, "x");
	ok_int(spy.last.seq, 0);
	t_ns = spy.last.t_ns;
	ev.type = SBX_EV_WARN;
	ok_fail(sbx_emit(&em, &ev, err), SBX_E_OUTPUT, "full");
	ev.type = SBX_EV_END;
	ok(!em.ended);
	ok_call(sbx_emit(&em, &ev, err));
	ok(em.ended);
	ok_int(spy.last.seq, 2);
	ok(spy.last.t_ns >= t_ns && spy.last.t_ns < 60000000000);
}

TAP_MAIN(RUN(start), RUN(progress), RUN(output), RUN(display), RUN(file), RUN(deny_limit_warn),
	 RUN(end), RUN(decode_passes_over_what_it_does_not_know), RUN(decode_refuses), RUN(signals),
	 RUN(status_of_the_program), RUN(status_of_failures), RUN(emitter))
