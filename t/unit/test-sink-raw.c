#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/event/out.h"
#include "lib/event/sinks.h"
#include "lib/event/text.h"
#include "t/unit/tap.h"

struct rig {
	int fds[2];
	struct sbx_out out, errout;
	struct sbx_sink *sink;
	char text[12288];
	size_t n;
};

/* shared: stdout and stderr are one place. */
static void rig_open(struct rig *rig, bool shared, struct sbx_sink_raw_opts opts)
{
	struct sbx_err inner = SBX_ERR_INIT, *err = &inner;

	rig->fds[0] = memfd_create("out", MFD_CLOEXEC);
	rig->fds[1] = shared ? dup(rig->fds[0]) : memfd_create("errout", MFD_CLOEXEC);
	ok_call(sbx_out_open(&rig->out, rig->fds[0], 1 << 20, err));
	ok_call(sbx_out_open(&rig->errout, rig->fds[1], 1 << 20, err));
	opts.out = &rig->out;
	opts.errout = &rig->errout;
	rig->sink = sbx_sink_raw(&opts);
}

static void rig_close(struct rig *rig)
{
	sbx_sink_free(rig->sink);
	sbx_out_release(&rig->out);
	sbx_out_release(&rig->errout);
	close(rig->fds[0]);
	close(rig->fds[1]);
}

static const char *text(struct rig *rig, int which)
{
	ssize_t n = pread(rig->fds[which], rig->text, sizeof(rig->text) - 1, 0);

	rig->n = n < 0 ? 0 : (size_t)n;
	rig->text[rig->n] = '\0';
	return rig->text;
}

static void put(struct rig *rig, struct sbx_event ev)
{
	struct sbx_err inner = SBX_ERR_INIT, *err = &inner;

	ok_call(rig->sink->ops->put(rig->sink, &ev, err));
}

static void put_bytes(struct rig *rig, enum sbx_event_type type, struct sbx_str bytes)
{
	put(rig, (struct sbx_event){.type = type, .output = {.bytes = bytes}});
}

static void put_limit(struct rig *rig, const char *name, uint64_t value)
{
	put(rig, (struct sbx_event){.type = SBX_EV_LIMIT, .limit = {.name = name, .value = value}});
}

static void put_end(struct rig *rig, struct sbx_ev_end end)
{
	put(rig, (struct sbx_event){.type = SBX_EV_END, .end = end});
}

static void put_receipt(struct rig *rig, struct sbx_receipt *receipt)
{
	put(rig, (struct sbx_event){.type = SBX_EV_START, .start = {.receipt = receipt}});
}

static const struct sbx_ev_end exited = {.outcome = SBX_OUT_EXITED, .has_exit_code = true};

TEST(what_is_weak_is_said)
{
	struct sbx_receipt receipt = {0};
	struct rig rig;

	sbx_receipt_set(&receipt, SBX_CTL_NETWORK, SBX_HELD_ENFORCED, "network namespace");
	sbx_receipt_set(&receipt, SBX_CTL_MEMORY, SBX_HELD_DEGRADED, "polling");
	sbx_receipt_set(&receipt, SBX_CTL_PIDS, SBX_HELD_DEGRADED, "RLIMIT_NPROC");
	sbx_receipt_set(&receipt, SBX_CTL_CPU, SBX_HELD_UNSUPPORTED, "no cgroup");
	rig_open(&rig, false, (struct sbx_sink_raw_opts){.quiet = false});
	put_receipt(&rig, &receipt);
	ok_str(text(&rig, 0), "");
	ok_str(text(&rig, 1),
	       "llmsbx: degraded: memory, pids; not held: cpu (llmsbx doctor tells why)\n");
	rig_close(&rig);

	rig_open(&rig, false, (struct sbx_sink_raw_opts){.quiet = true});
	put_receipt(&rig, &receipt);
	ok_str(text(&rig, 1), "");
	rig_close(&rig);
}

TEST(bytes_go_through)
{
	static const struct sbx_receipt receipt;
	struct rig rig;

	rig_open(&rig, false, (struct sbx_sink_raw_opts){.quiet = false});
	put(&rig, (struct sbx_event){.type = SBX_EV_START, .start = {.receipt = &receipt}});
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("a\0\xff\x1b[31m"));
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR("\xe2\x82"));
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR(""));
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR("\xac\0"));
	put_end(&rig, exited);
	(void)text(&rig, 0);
	ok_mem(rig.text, rig.n, "a\0\xff\x1b[31m", 8);
	(void)text(&rig, 1);
	ok_mem(rig.text, rig.n, "\xe2\x82\xac\0", 4);
	rig_close(&rig);
}

/* The one line that ends a run on errout. */
static void ends(struct sbx_ev_end end, const char *limit, uint64_t value, const char *want)
{
	struct rig rig;

	rig_open(&rig, false, (struct sbx_sink_raw_opts){.quiet = false});
	if (limit)
		put_limit(&rig, limit, value);
	put_end(&rig, end);
	ok_str(text(&rig, 1), want);
	ok_str(text(&rig, 0), "");
	rig_close(&rig);
}

#define OUTCOME(name) ((struct sbx_ev_end){.outcome = SBX_OUT_##name})

TEST(limits_that_ended_it)
{
	const uint64_t second = 1000000000;

	ends(OUTCOME(TIMEOUT), "wall_time", 2 * second,
	     "llmsbx: killed after the time limit of 2s (--timeout)\n");
	ends(OUTCOME(TIMEOUT), "wall_time", 90 * second,
	     "llmsbx: killed after the time limit of 90s (--timeout)\n");
	ends(OUTCOME(TIMEOUT), "wall_time", second / 2,
	     "llmsbx: killed after the time limit of 500ms (--timeout)\n");
	ends(OUTCOME(TIMEOUT), "wall_time", second * 3 / 2,
	     "llmsbx: killed after the time limit of 1.5s (--timeout)\n");
	ends(OUTCOME(TIMEOUT), "wall_time", second + 50000000,
	     "llmsbx: killed after the time limit of 1.05s (--timeout)\n");
	ends(OUTCOME(TIMEOUT), NULL, 0, "llmsbx: killed after the time limit (--timeout)\n");
	ends(OUTCOME(CPU_TIMEOUT), "cpu_time", second,
	     "llmsbx: killed after the processor time limit of 1s (--cpu-time)\n");
	ends(OUTCOME(OOM), "memory", 512 << 20,
	     "llmsbx: killed for want of memory at the limit of 512MiB (--memory)\n");
	ends(OUTCOME(OOM), "memory", 1000,
	     "llmsbx: killed for want of memory at the limit of 1000 bytes (--memory)\n");
	ends(OUTCOME(DISK), "disk", 1ULL << 41,
	     "llmsbx: killed with its disk full at the limit of 2TiB (--disk or --memory)\n");
	ends(OUTCOME(OUTPUT), "output", 64 << 20,
	     "llmsbx: killed for output far above the limit of 64MiB (--max-output)\n");
}

TEST(limits_that_it_survived)
{
	ends(exited, "pids", 128, "llmsbx: the program met the pids limit of 128 (--pids)\n");
	ends(exited, "cpu", 2250, "llmsbx: the program met the cpu limit of 2.250 (--cpus)\n");
	ends(exited, "output", 0,
	     "llmsbx: the program met the output limit of 0 bytes (--max-output)\n");
	ends(exited, "landlock", 1, "");
	ends(exited, "nonsense", 1, "");
	ends((struct sbx_ev_end){.outcome = SBX_OUT_SIGNALED, .signal = SIGSEGV}, "memory", 1 << 20,
	     "llmsbx: the program met the memory limit of 1MiB (--memory)\n"
	     "llmsbx: killed by SIGSEGV\n");
}

TEST(failures)
{
	struct sbx_err error = SBX_ERR_INIT;
	struct sbx_ev_end end = {.error = &error, .hint = "install the package python3"};

	sbx_fail_(&error, SBX_E_NOT_FOUND, "no 'python3' in the sandbox");
	end.outcome = SBX_OUT_FAILED;
	ends(end, NULL, 0, "llmsbx: no 'python3' in the sandbox; install the package python3\n");
	end.hint = NULL;
	end.outcome = SBX_OUT_LOST;
	ends(end, NULL, 0, "llmsbx: the sandbox was lost: no 'python3' in the sandbox\n");
	end.outcome = SBX_OUT_DENIED;
	ends(end, NULL, 0, "llmsbx: denied: no 'python3' in the sandbox\n");
	ends(OUTCOME(FAILED), NULL, 0, "llmsbx: failed\n");
	ends(OUTCOME(CANCELLED), NULL, 0, "llmsbx: cancelled\n");
	ends(OUTCOME(COMPILE_FAILED), NULL, 0, "llmsbx: the compilation failed\n");
	ends(OUTCOME(INSTALL_FAILED), NULL, 0, "llmsbx: the installation failed\n");
	error = (struct sbx_err)SBX_ERR_INIT; /* an error that is none */
	end.outcome = SBX_OUT_FAILED;
	ends(end, NULL, 0, "llmsbx: failed\n");
}

/* A limit whose `end` names a reason too says both. */
TEST(limit_and_error)
{
	struct sbx_err error = SBX_ERR_INIT;
	struct sbx_ev_end end = {.outcome = SBX_OUT_TIMEOUT, .error = &error};

	sbx_fail_(&error, SBX_E_TIMEOUT, "while compiling");
	ends(end, NULL, 0, "llmsbx: killed after the time limit (--timeout): while compiling\n");
}

TEST(a_line_begins_at_a_line)
{
	const struct sbx_ev_end killed = {.outcome = SBX_OUT_SIGNALED, .signal = SIGKILL};
	struct rig rig;

	rig_open(&rig, false, (struct sbx_sink_raw_opts){.quiet = false});
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR("oops"));
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("x\n"));
	put_end(&rig, killed);
	ok_str(text(&rig, 1), "oops\nllmsbx: killed by SIGKILL\n");
	rig_close(&rig);

	rig_open(&rig, false, (struct sbx_sink_raw_opts){.quiet = false});
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR("oops\n"));
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR(""));
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("x"));
	put_end(&rig, killed);
	ok_str(text(&rig, 1), "oops\nllmsbx: killed by SIGKILL\n");
	rig_close(&rig);

	rig_open(&rig, true, (struct sbx_sink_raw_opts){.quiet = false});
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR("oops\n"));
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("x"));
	put_end(&rig, killed);
	ok_str(text(&rig, 1), "oops\nx\nllmsbx: killed by SIGKILL\n");
	rig_close(&rig);
}

static void put_notices(struct rig *rig)
{
	struct sbx_event progress = {.type = SBX_EV_PROGRESS,
				     .progress = {.phase = "compile", .message = "main.c"}};

	put(rig, progress);
	progress.progress.done = 1;
	put(rig, progress);
	progress.progress.message = NULL;
	put(rig, progress);
	put(rig, (struct sbx_event){.type = SBX_EV_WARN, .warn = {"c", "a\nb\x1b\xff"}});
	put(rig, (struct sbx_event){.type = SBX_EV_DENY, .deny = {"path", "/x", NULL, NULL}});
	put(rig, (struct sbx_event){.type = SBX_EV_DENY, .deny = {"path", "/x", "r", "h"}});
	put(rig, (struct sbx_event){.type = SBX_EV_FILE,
				    .file = {.path = SBX_STR("a"), .saved_as = "o/a"}});
	put(rig, (struct sbx_event){.type = SBX_EV_FILE,
				    .file = {.path = SBX_STR("\r\x9b"), .skipped = "symlink"}});
	put_limit(rig, "pids", 3);
	put_end(rig, (struct sbx_ev_end){.outcome = SBX_OUT_CANCELLED});
}

#define NOTICES                                \
	"llmsbx: warning: a\\x0ab\\x1b\\xff\n" \
	"llmsbx: denied path /x\n"             \
	"llmsbx: denied path /x (r); h\n"

#define LAST_NOTICES                                             \
	"llmsbx: did not save '\\x0d\\x9b': symlink\n"           \
	"llmsbx: the program met the pids limit of 3 (--pids)\n" \
	"llmsbx: cancelled\n"

TEST(notices)
{
	struct rig rig;

	rig_open(&rig, false, (struct sbx_sink_raw_opts){.quiet = false});
	put_notices(&rig);
	ok_str(text(&rig, 1), NOTICES LAST_NOTICES);
	rig_close(&rig);

	rig_open(&rig, false, (struct sbx_sink_raw_opts){.escape_err = true});
	put_notices(&rig);
	ok_str(text(&rig, 1), "llmsbx: compile: main.c\nllmsbx: compile\n" NOTICES
			      "llmsbx: saved 'o/a'\n" LAST_NOTICES);
	rig_close(&rig);

	rig_open(&rig, false, (struct sbx_sink_raw_opts){.escape_err = true, .quiet = true});
	put_notices(&rig);
	ok_str(text(&rig, 1), "llmsbx: cancelled\n");
	rig_close(&rig);
}

TEST(endless_message)
{
	static char message[100000];
	struct rig rig;

	memset(message, '\x1b', sizeof(message) - 1);
	rig_open(&rig, false, (struct sbx_sink_raw_opts){.escape_err = true});
	for (int i = 0; i < 2; i++)
		put(&rig,
		    (struct sbx_event){.type = SBX_EV_PROGRESS, .progress = {.phase = message}});
	put(&rig, (struct sbx_event){.type = SBX_EV_WARN, .warn = {"c", message}});
	(void)text(&rig, 1);
	ok(rig.n > 4000 && rig.n < 10000);
	ok(strstr(rig.text, "...\nllmsbx: warning: \\x1b") != NULL);
	rig_close(&rig);
}

TEST(escapes_across_chunks)
{
	struct rig rig;

	rig_open(&rig, false, (struct sbx_sink_raw_opts){.escape_out = true, .escape_err = true});
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("\xe2"));
	put_bytes(&rig, SBX_EV_STDERR, SBX_STR("\x1b[2J"));
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("\x82"));
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("\xac\xc2"));
	put_bytes(&rig, SBX_EV_STDOUT, SBX_STR("\x9b\n\xf0\x9f"));
	put_end(&rig, exited);
	ok_str(text(&rig, 0), "\xe2\x82\xac\\xc2\\x9b\n\\xf0\\x9f");
	ok_str(text(&rig, 1), "\\x1b[2J");
	rig_close(&rig);
}

static void shown(struct sbx_str bytes, const char *want)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf whole = SBX_BUF_INIT(4096);
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf parts = SBX_BUF_INIT(4096);
	struct sbx_err inner = SBX_ERR_INIT, *err = &inner;
	struct sbx_text state = {0};

	ok_call(sbx_text_add(&state, bytes, &whole, err));
	ok_call(sbx_text_finish(&state, &whole, err));
	ok_str(sbx_buf_str(&whole), want);
	for (size_t i = 0; i < bytes.n; i++)
		ok_call(sbx_text_add(&state, (struct sbx_str){bytes.p + i, 1}, &parts, err));
	ok_call(sbx_text_finish(&state, &parts, err));
	ok_str(sbx_buf_str(&parts), want);
}

TEST(what_is_escaped)
{
	shown(SBX_STR(""), "");
	shown(SBX_STR("plain \\ ~\n\tx"), "plain \\ ~\n\tx");
	shown(SBX_STR("\0\x01\x08\r\x1b\x1f\x7f"), "\\x00\\x01\\x08\\x0d\\x1b\\x1f\\x7f");
	shown(SBX_STR("\x80\x9b\x9d\x9f\xa0\xff"), "\\x80\\x9b\\x9d\\x9f\\xa0\\xff");
	shown(SBX_STR("\xc2\x80|\xc2\x9b|\xc2\x9d|\xc2\x9f|\xc2\xa0"),
	      "\\xc2\\x80|\\xc2\\x9b|\\xc2\\x9d|\\xc2\\x9f|\xc2\xa0");
	shown(SBX_STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8d"),
	      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8d");
	shown(SBX_STR("\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80"),
	      "\\xc0\\x9b\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
	shown(SBX_STR("\xe2\x82"
		      "A\xe2\xe2\x82\xac\xf0\x9f\x1b"),
	      "\\xe2\\x82"
	      "A\\xe2\xe2\x82\xac\\xf0\\x9f\\x1b");
}

TAP_MAIN(RUN(what_is_weak_is_said), RUN(bytes_go_through), RUN(limits_that_ended_it),
	 RUN(limits_that_it_survived), RUN(failures), RUN(limit_and_error),
	 RUN(a_line_begins_at_a_line), RUN(notices), RUN(endless_message),
	 RUN(escapes_across_chunks), RUN(what_is_escaped))
