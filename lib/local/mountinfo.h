/* Reading /proc/self/mountinfo (proc(5)). */
#pragma once

#include <stdbool.h>

#include "lib/base/str.h"

/* Borrowed from the text; paths as the kernel writes them, with \040 for a blank. */
struct sbx_mountinfo {
	struct sbx_str device; /* major:minor */
	struct sbx_str root;   /* which folder of the file system is mounted */
	struct sbx_str point;  /* where */
	struct sbx_str type;
	struct sbx_str options; /* of the file system, by comma */
};

/* Takes the next line; false at the end.  A line that is not of the form is passed over. */
bool sbx_mountinfo_next(struct sbx_str *rest, struct sbx_mountinfo *ret);

/* Whether word stands in a list by comma. */
bool sbx_list_has(struct sbx_str list, const char *word);
