#include "lib/base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fd.h"
#include "t/unit/tap.h"

/* What is written to stderr between the two. */
struct capture {
	int saved, fds[2];
};

static struct capture begin(void)
{
	struct capture c = {.saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};

	ok_int(pipe2(c.fds, O_CLOEXEC), 0);
	ok_int(dup2(c.fds[1], STDERR_FILENO), STDERR_FILENO);
	return c;
}

static void end(struct capture *c, const char *want, struct sbx_err *err)
{
	struct sbx_buf buf = SBX_BUF_INIT(1 << 16);

	ok_int(dup2(c->saved, STDERR_FILENO), STDERR_FILENO);
	sbx_closep(&c->saved);
	sbx_closep(&c->fds[1]);
	ok_call(sbx_read_all(c->fds[0], "stderr", &buf, err));
	ok_str(sbx_buf_str(&buf), want);
	sbx_closep(&c->fds[0]);
	sbx_buf_release(&buf);
}

TEST(levels)
{
	struct capture c = begin();

	sbx_log(SBX_LOG_ERROR, NULL, "no language '%s'", "x");
	sbx_log(SBX_LOG_WARN, NULL, "warned");
	sbx_log(SBX_LOG_INFO, NULL, "not shown");
	sbx_log_set_level(SBX_LOG_DEBUG);
	sbx_log(SBX_LOG_DEBUG, "loop", "%d events", 3);
	sbx_log(SBX_LOG_TRACE, "loop", "not shown");
	end(&c, "llmsbx: no language 'x'\nllmsbx: warned\nllmsbx: loop: 3 events\n", err);
}

TEST(hostile)
{
	struct capture c = begin();

	sbx_log(SBX_LOG_ERROR, NULL, "%s", "a\nb\x1b[2J");
	end(&c, "llmsbx: a\\x0ab\\x1b[2J\n", err);
}

TEST(names)
{
	enum sbx_log_level level = SBX_LOG_WARN;

	ok(sbx_log_level_parse(SBX_STR("Debug"), &level));
	ok_int(level, SBX_LOG_DEBUG);
	ok(!sbx_log_level_parse(SBX_STR("loud"), &level));
	ok_int(level, SBX_LOG_DEBUG);
}

TAP_MAIN(RUN(levels), RUN(hostile), RUN(names))
