#include "lib/base/err.h"

#include <errno.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "t/unit/tap.h"

TEST(fail)
{
	ok_int(sbx_fail(err, SBX_E_NOT_FOUND, "no language '%s'", "x"), -1);
	ok_int(err->code, SBX_E_NOT_FOUND);
	ok_int(err->sys, 0);
	ok_str(err->msg, "no language 'x'");
	sbx_err_clear(err);
	ok_int(err->code, SBX_E_OK);
	ok_str(err->msg, "");
}

TEST(fail_sys)
{
	ok_int(sbx_fail_sys(err, ENOSPC, "cannot write '%s'", "f"), -1);
	ok_int(err->code, SBX_E_SYSTEM);
	ok_int(err->sys, ENOSPC);
	ok_str(err->msg, "cannot write 'f': No space left on device");
	sbx_err_clear(err);
}

TEST(wrap)
{
	(void)sbx_fail_sys(err, ENOENT, "cannot open 'f'");
	ok_int(sbx_wrap(err, "image '%s'", "a"), -1);
	ok_str(err->msg, "image 'a': cannot open 'f': No such file or directory");
	ok_int(err->code, SBX_E_SYSTEM);
	ok_int(err->sys, ENOENT);
	sbx_err_clear(err);
}

TEST(hostile_names)
{
	(void)sbx_fail(err, SBX_E_INVALID, "'%s'", "a\nb\x1b[2J\x7f\\");
	ok_str(err->msg, "'a\\x0ab\\x1b[2J\\x7f\\'");
	sbx_err_clear(err);
	(void)sbx_fail(err, SBX_E_INVALID, "'%s'", "\xff\xc3(\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	ok_str(err->msg, "'\\xff\\xc3(\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80'");
	sbx_err_clear(err);
	/* The second set of controls, a line separator, a mark that reverses the text behind it. */
	(void)sbx_fail(err, SBX_E_INVALID, "%s", "\xc2\x9b\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xac");
	ok_str(err->msg, "\\xc2\\x9b\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xe2\\x80\\xac");
	(void)sbx_wrap(err, "%s", "\t");
	ok_str(err->msg, "\\x09: \\xc2\\x9b\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xe2\\x80\\xac");
	sbx_err_clear(err);
}

/* Messages of every length around the ceiling, of characters of two bytes so that some would be cut inside. */
TEST(too_long)
{
	char text[2 * SBX_ERR_MSG_MAX + 8];

	for (size_t n = SBX_ERR_MSG_MAX - 8; n < SBX_ERR_MSG_MAX + 8; n++) {
		for (size_t odd = 0; odd < 2; odd++) {
			size_t len;

			memset(text, 'x', odd);
			for (size_t i = odd; i < n; i += 2)
				memcpy(text + i, "\xc3\xa9", 3);
			(void)sbx_fail_sys(err, EPERM, "%s", text);
			len = strlen(err->msg);
			ok(len < SBX_ERR_MSG_MAX);
			ok(sbx_utf8_valid(err->msg, len));
			ok_str(err->msg + len - 3, "...");
			(void)sbx_wrap(err, "%s", text);
			len = strlen(err->msg);
			ok(len < SBX_ERR_MSG_MAX && sbx_utf8_valid(err->msg, len));
			sbx_err_clear(err);
		}
	}
	memset(text, 'x', SBX_ERR_MSG_MAX - 1);
	text[SBX_ERR_MSG_MAX - 1] = '\0';
	(void)sbx_fail(err, SBX_E_INVALID, "%s", text);
	ok_str(err->msg, text);
	sbx_err_clear(err);
}

TEST(names)
{
	ok_str(sbx_code_name(SBX_E_OK), "ok");
	ok_str(sbx_code_name(SBX_E_NOT_FOUND), "not_found");
	ok_int(sbx_code_exit(SBX_E_OK), 0);
	ok_int(sbx_code_exit(SBX_E_TIMEOUT), 124);
	ok_int(sbx_code_exit(SBX_E_SYSTEM), 125);
	ok_int(sbx_code_exit(SBX_E_DENIED), 126);
	ok_int(sbx_code_exit(SBX_E_NOT_FOUND), 127);
	ok_str(sbx_strerror(EACCES), "Permission denied");
	ok_str(sbx_strerror(123456), "error");
	ok_str(sbx_strerror(-1), "error");
}

TAP_MAIN(RUN(fail), RUN(fail_sys), RUN(wrap), RUN(hostile_names), RUN(too_long), RUN(names))
