/*
 * Tests in process, told as TAP for prove: one point a TEST, one binary a unit.
 *
 *	TEST(empty)
 *	{
 *		struct sbx_buf buf = SBX_BUF_INIT(8);
 *
 *		ok_call(sbx_buf_adds(&buf, "12345678", err));
 *		ok_fail(sbx_buf_addc(&buf, '9', err), SBX_E_LIMIT, "8 bytes");
 *		ok_str(sbx_buf_str(&buf), "12345678");
 *		sbx_buf_release(&buf);
 *	}
 *	TAP_MAIN(RUN(empty))
 *
 * Each check prints both sides and its place when it fails, yields whether it held, and lets the test go on.  The value that was
 * got comes first, the right one second.  err is the test's own and empty at its beginning.
 */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/attr.h"
#include "lib/base/err.h"

struct tap_test {
	const char *name;
	void (*run)(struct sbx_err *err);
};

static int tap_failures; /* in the test that runs now */

#define TEST(name) static void test_##name(struct sbx_err *err SBX_UNUSED)
#define RUN(name)                  \
	{                          \
#name, test_##name \
	}
#define TAP_MAIN(...)                                                    \
	int main(void)                                                   \
	{                                                                \
		static const struct tap_test tests[] = {__VA_ARGS__};    \
		return tap_run(tests, sizeof(tests) / sizeof(tests[0])); \
	}

#define ok(condition) tap_true((condition), __FILE__, __LINE__, #condition)
#define ok_int(got, want) \
	tap_int((long long)((got) + 0), (long long)((want) + 0), __FILE__, __LINE__, #got)
#define ok_str(got, want) tap_str((got), (want), __FILE__, __LINE__, #got)
#define ok_mem(got, got_n, want, want_n) \
	tap_mem((got), (got_n), (want), (want_n), __FILE__, __LINE__, #got)

/* A call that must succeed (>= 0), and one that must fail with this code and a message that contains words. */
#define ok_call(call)              tap_call((call), err, __FILE__, __LINE__, #call)
#define ok_fail(call, code, words) tap_fail((call), err, (code), (words), __FILE__, __LINE__, #call)

static inline bool tap_true(bool held, const char *file, int line, const char *what)
{
	if (!held) {
		tap_failures++;
		printf("# %s:%d: not true: %s\n", file, line, what);
	}
	return held;
}

static inline bool tap_int(long long got, long long want, const char *file, int line,
			   const char *what)
{
	if (got != want) {
		tap_failures++;
		printf("# %s:%d: %s\n#   got  %lld (%#llx)\n#   want %lld (%#llx)\n", file, line,
		       what, got, (unsigned long long)got, want, (unsigned long long)want);
	}
	return got == want;
}

static inline void tap_quote(const char *label, const char *p, size_t n)
{
	printf("#   %s %zu bytes '", label, n);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		printf(isprint(c) && c != '\\' ? "%c" : "\\x%02x", c);
	}
	printf("'\n");
}

static inline bool tap_mem(const void *got, size_t got_n, const void *want, size_t want_n,
			   const char *file, int line, const char *what)
{
	if (got_n == want_n && (want_n == 0 || memcmp(got, want, want_n) == 0))
		return true;
	tap_failures++;
	printf("# %s:%d: %s\n", file, line, what);
	tap_quote("got ", got, got_n);
	tap_quote("want", want, want_n);
	return false;
}

static inline bool tap_str(const char *got, const char *want, const char *file, int line,
			   const char *what)
{
	if (got && want)
		return tap_mem(got, strlen(got), want, strlen(want), file, line, what);
	if (got == want)
		return true;
	tap_failures++;
	printf("# %s:%d: %s\n#   got  %s\n#   want %s\n", file, line, what, got ? got : "NULL",
	       want ? want : "NULL");
	return false;
}

static inline bool tap_call(long long result, struct sbx_err *err, const char *file, int line,
			    const char *what)
{
	bool held = result >= 0 && err->code == SBX_E_OK;

	if (!held) {
		tap_failures++;
		printf("# %s:%d: %s\n#   got  %lld, %s: %s\n", file, line, what, result,
		       sbx_code_name(err->code), err->msg);
	}
	sbx_err_clear(err);
	return held;
}

static inline bool tap_fail(long long result, struct sbx_err *err, enum sbx_code code,
			    const char *words, const char *file, int line, const char *what)
{
	bool held = result == -1 && err->code == code && strstr(err->msg, words);

	if (!held) {
		tap_failures++;
		printf("# %s:%d: %s\n#   got  %lld, %s: %s\n#   want -1, %s: ...%s...\n", file,
		       line, what, result, sbx_code_name(err->code), err->msg, sbx_code_name(code),
		       words);
	}
	sbx_err_clear(err);
	return held;
}

static inline int tap_run(const struct tap_test *tests, size_t n)
{
	int failed = 0;

	(void)setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not swallow what was said before */
	printf("1..%zu\n", n);
	for (size_t i = 0; i < n; i++) {
		struct sbx_err err = SBX_ERR_INIT;

		tap_failures = 0;
		tests[i].run(&err);
		failed += tap_failures > 0;
		printf("%sok %zu - %s\n", tap_failures > 0 ? "not " : "", i + 1, tests[i].name);
	}
	return failed > 0;
}
