/* Finding a program as it will be found inside. */
#pragma once

#include "lib/base/attr.h"

struct sbx_err;
struct sbx_host;
struct sbx_strv;

/*
 * The absolute path of program: in dirs (may be NULL), then in the sandbox's own PATH (/usr/local/bin:/usr/bin:/bin); a name with a
 * slash must be absolute.  A link counts only if every step of it is seen inside.  *ret is owned; SBX_E_NOT_FOUND.
 */
int sbx_which(const struct sbx_host *host, const char *program, const struct sbx_strv *dirs,
	      char **ret, struct sbx_err *err) SBX_MUST_USE;
