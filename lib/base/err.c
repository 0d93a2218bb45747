/*
 * A message may quote hostile bytes (a file's name, an engine's answer), and it ends up in a terminal, in a log and in JSON: so
 * whatever a caller formats is made one line of printable UTF-8 here, once, for everybody.
 */
#include "lib/base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/utf8.h"

static const struct {
	const char *name;
	int exit;
} codes[] = {
#define SBX_CODE(sym, name_, exit_) [SBX_E_##sym] = {(name_), (exit_)},
#include "lib/base/errcode.def"
#undef SBX_CODE
};

/* The buffer is as large as what can be kept of it, so what vsnprintf cuts is cut again. */
static SBX_PRINTF(2, 0) size_t format(char msg[SBX_ERR_MSG_MAX], const char *fmt, va_list ap)
{
	char raw[SBX_ERR_MSG_MAX + 1];

	if (vsnprintf(raw, sizeof(raw), fmt, ap) < 0)
		return sbx_utf8_show(msg, SBX_ERR_MSG_MAX, 0, fmt);
	return sbx_utf8_show(msg, SBX_ERR_MSG_MAX, 0, raw);
}

static SBX_PRINTF(4, 0) void record(struct sbx_err *err, enum sbx_code code, int num,
				    const char *fmt, va_list ap)
{
	size_t len;

	assert(err->code == SBX_E_OK);
	assert(code > SBX_E_OK && code < SBX_E_COUNT_);
	err->code = code;
	err->sys = num;
	len = format(err->msg, fmt, ap);
	if (num) {
		len = sbx_utf8_show(err->msg, SBX_ERR_MSG_MAX, len, ": ");
		(void)sbx_utf8_show(err->msg, SBX_ERR_MSG_MAX, len, sbx_strerror(num));
	}
}

void sbx_fail_(struct sbx_err *err, enum sbx_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	record(err, code, 0, fmt, ap);
	va_end(ap);
}

void sbx_fail_sys_(struct sbx_err *err, int num, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	record(err, SBX_E_SYSTEM, num, fmt, ap);
	va_end(ap);
}

void sbx_wrap_(struct sbx_err *err, const char *fmt, ...)
{
	char inner[SBX_ERR_MSG_MAX];
	va_list ap;
	size_t len;

	assert(err->code != SBX_E_OK);
	memcpy(inner, err->msg, sizeof(inner));
	va_start(ap, fmt);
	len = format(err->msg, fmt, ap);
	va_end(ap);
	len = sbx_utf8_show(err->msg, SBX_ERR_MSG_MAX, len, ": ");
	(void)sbx_utf8_show(err->msg, SBX_ERR_MSG_MAX, len, inner);
}

void sbx_err_clear(struct sbx_err *err)
{
	err->code = SBX_E_OK;
	err->sys = 0;
	err->msg[0] = '\0';
}

const char *sbx_code_name(enum sbx_code code)
{
	assert(code < SBX_E_COUNT_);
	return codes[code].name;
}

int sbx_code_exit(enum sbx_code code)
{
	assert(code < SBX_E_COUNT_);
	return codes[code].exit;
}

const char *sbx_strerror(int num)
{
	const char *words = strerrordesc_np(num);

	return words ? words : "error";
}
