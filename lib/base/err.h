/*
 * Errors.
 *
 * A function that can fail returns int (0, or a count >= 0, or -1), takes
 * `struct sbx_err *err` last, and is SBX_MUST_USE.  It returns -1 if and only if
 * it set *err; success leaves *err alone.  Results are written only on success.
 * errno is read in one place: the argument of sbx_fail_sys() directly after the
 * call that set it.  The library does not print; main.c prints the one line.
 *
 * A message starts in lower case, has no full stop, names things in single
 * quotes, is one line, and says what failed, where, and what to do.
 */
#pragma once

#include "lib/base/attr.h"

enum sbx_code {
#define SBX_CODE(sym, name, exit_) SBX_E_##sym,
#include "lib/base/errcode.def"
#undef SBX_CODE
	SBX_E_COUNT_
};

enum { SBX_ERR_MSG_MAX = 1024 };

/*
 * Why the last call failed.  Lives in the caller's frame and never allocates,
 * so that reporting out-of-memory cannot itself fail.  code == SBX_E_OK means
 * that no failure was recorded.
 */
struct sbx_err {
	enum sbx_code code;
	int sys;                   /* errno at the point of failure, or 0 */
	char msg[SBX_ERR_MSG_MAX]; /* outermost context first; valid UTF-8, no control bytes */
};

#define SBX_ERR_INIT             \
	{                        \
		.code = SBX_E_OK \
	}

/*
 * Each is an expression of value -1, to be written `return sbx_fail(err, ...)`.
 * They are macros so that compilers and analyzers see the -1.
 *   sbx_fail      records code and message
 *   sbx_fail_sys  SYSTEM, with ": reason" of num appended (NOT_FOUND for ENOENT is the caller's choice)
 *   sbx_wrap      puts "context: " before the message that is there
 */
#define sbx_fail(err, code, ...)    (sbx_fail_((err), (code), __VA_ARGS__), -1)
#define sbx_fail_sys(err, num, ...) (sbx_fail_sys_((err), (num), __VA_ARGS__), -1)
#define sbx_wrap(err, ...)          (sbx_wrap_((err), __VA_ARGS__), -1)

/* Asserts that nothing was recorded before: a second error would hide the first. */
void sbx_fail_(struct sbx_err *err, enum sbx_code code, const char *fmt, ...) SBX_PRINTF(3, 4);
void sbx_fail_sys_(struct sbx_err *err, int num, const char *fmt, ...) SBX_PRINTF(3, 4);
void sbx_wrap_(struct sbx_err *err, const char *fmt, ...) SBX_PRINTF(2, 3);

/* Forgets what was recorded, for a caller that has dealt with it. */
void sbx_err_clear(struct sbx_err *err);

/* The stable name ("not_found") and the exit status of a code. */
const char *sbx_code_name(enum sbx_code code);
int sbx_code_exit(enum sbx_code code);

/* The kernel's words for an errno, not localised; "unknown error N" in a static buffer never: "error" then. */
const char *sbx_strerror(int num);
