/* Which paths inside a caller may choose for the work directory and for --mount. */
#pragma once

#include <stdbool.h>

#include "lib/base/attr.h"

struct sbx_err;

/* Whether path is dir or below it; both absolute and in normal form. */
bool sbx_path_is_below(const char *path, const char *dir);

/* An absolute path in normal form that hides nothing that the sandbox needs; else SBX_E_USAGE, beginning with where. */
int sbx_place_check_workdir(const char *path, const char *where, struct sbx_err *err) SBX_MUST_USE;
int sbx_place_check_mount(const char *path, const char *where, struct sbx_err *err) SBX_MUST_USE;
