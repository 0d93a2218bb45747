/*
 * Defaults of options that a person keeps: config.json in share/ (what is built in but data), in /etc/llmsbx and in
 * $XDG_CONFIG_HOME/llmsbx, then LLMSBX_* variables.
 *
 * A file is one object: keys are long options' names with underscores, values strings, numbers, booleans, or arrays of strings for
 * options that may be repeated.  A variable's name is LLMSBX_ and the same name in capitals; an empty one counts as unset.
 * LLMSBX_SHARE and LLMSBX_LOG are no options.  Which names and values an option has is the caller's to know: it refuses the others.
 */
#pragma once

#include <stddef.h>

#include "lib/base/attr.h"

struct sbx_err;

struct sbx_conf_entry {
	char *name;  /* "max_output" */
	char *value; /* as it would stand on the command line: "64m", "2", "true" */
	char *where; /* for messages: "/etc/llmsbx/config.json: max_output", "LLMSBX_MAX_OUTPUT" */
};

struct sbx_conf {
	struct sbx_conf_entry *v; /* the stronger ones behind the weaker */
	size_t n, cap;
};

/* Fails naming file and place if a file cannot be read or is not of that shape; a file that is not there is none. */
int sbx_conf_load(struct sbx_conf *ret, struct sbx_err *err) SBX_MUST_USE;
/* One file, which must be there. */
int sbx_conf_load_file(const char *path, struct sbx_conf *ret, struct sbx_err *err) SBX_MUST_USE;
void sbx_conf_release(struct sbx_conf *conf);
