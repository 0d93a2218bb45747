#include "lib/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/utf8.h"

enum { LINE_MAX_BYTES = 2048 };

static enum sbx_log_level shown = SBX_LOG_WARN;

void sbx_log_set_level(enum sbx_log_level level)
{
	shown = level;
}

bool sbx_log_level_parse(struct sbx_str name, enum sbx_log_level *ret)
{
	static const char *const names[] = {
		[SBX_LOG_ERROR] = "error", [SBX_LOG_WARN] = "warn",   [SBX_LOG_INFO] = "info",
		[SBX_LOG_DEBUG] = "debug", [SBX_LOG_TRACE] = "trace",
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++) {
		if (!sbx_str_eq_nocase(name, names[i]))
			continue;
		*ret = (enum sbx_log_level)i;
		return true;
	}
	return false;
}

void sbx_log(enum sbx_log_level level, const char *unit, const char *fmt, ...)
{
	char raw[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
	size_t len;
	va_list ap;

	if (level > shown)
		return;
	va_start(ap, fmt);
	if (vsnprintf(raw, sizeof(raw), fmt, ap) < 0)
		raw[0] = '\0';
	va_end(ap);
	len = sbx_utf8_show(line, sizeof(line) - 1, 0, "llmsbx: ");
	if (unit) {
		len = sbx_utf8_show(line, sizeof(line) - 1, len, unit);
		len = sbx_utf8_show(line, sizeof(line) - 1, len, ": ");
	}
	len = sbx_utf8_show(line, sizeof(line) - 1, len, raw);
	line[len++] = '\n';
	/* One write, so that lines of several processes do not mix; nobody is left to tell when it fails. */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}
