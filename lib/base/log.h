/*
 * Lines on stderr for the person who runs us.  The library says debug and trace only, with its unit's name; commands report errors,
 * once.  No line carries values of environment variables, tokens or code.  A message is made printable as an error's is.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"

enum sbx_log_level {
	SBX_LOG_ERROR,
	SBX_LOG_WARN, /* what is shown unless somebody says otherwise */
	SBX_LOG_INFO,
	SBX_LOG_DEBUG,
	SBX_LOG_TRACE,
};

/* The one setting that is the process's own: main.c sets it, from -v, -q and LLMSBX_LOG. */
void sbx_log_set_level(enum sbx_log_level level);
bool sbx_log_level_parse(struct sbx_str name, enum sbx_log_level *ret);

/* unit may be NULL: "llmsbx: message", else "llmsbx: unit: message". */
void sbx_log(enum sbx_log_level level, const char *unit, const char *fmt, ...) SBX_PRINTF(3, 4);
