/*
 * Functions that are not used here are compile errors: the build puts this header before every file of ours (-include), after the
 * system's own headers that declare them.
 */
#pragma once

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/* No bound on what they write.  clang has macros of that name under _FORTIFY_SOURCE. */
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat stpcpy sprintf vsprintf gets
/* Cut in silence, leave no NUL, or fill the rest. */
#pragma GCC poison strncpy strncat
/* Take anything for a number: sbx_str_u64 and the parsers of clock.h. */
#pragma GCC poison atoi atol atoll atof strtol strtoul strtoll strtoull strtoimax strtoumax strtod \
	sscanf vsscanf
/* A shell between us and the program. */
#pragma GCC poison system popen wordexp
/* Hidden state, or a name that somebody else can take first. */
#pragma GCC poison strtok mktemp tmpnam tempnam tmpfile readdir_r asctime ctime localtime gmtime
/* sbx_strerror: not localised, no buffer. */
#pragma GCC poison strerror perror
