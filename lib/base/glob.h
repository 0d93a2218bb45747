/*
 * The patterns of --out, on paths relative to the work directory: `*` and `?` within a component, `[...]` with ranges and
 * `!` or `^`, `**` as a whole component for any number of components.  A component that begins with a dot is matched only by a
 * pattern component that begins with a dot.  Bytes, not characters; never slower than pattern length times path length times depth.
 * Used by host and guest alike; no allocation, no recursion on input depth beyond SBX_GLOB_DEPTH components.
 */
#pragma once

#include <stdbool.h>

enum { SBX_GLOB_MAX = 1024, SBX_GLOB_DEPTH = 64 };

/* NULL when the pattern can be used, else what is wrong with it ("empty", "absolute", "has a '..'", "bracket not closed", "too long"). */
const char *sbx_glob_wrong(const char *pattern);

bool sbx_glob_match(const char *pattern, const char *path);

/* Whether anything below the folder path could match: lets a walk skip whole trees. */
bool sbx_glob_may_descend(const char *pattern, const char *path);
