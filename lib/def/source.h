/* What a source text says of itself: the interpreter of its `#!` line, the names of its file and of its class. */
#pragma once

#include "lib/base/attr.h"
#include "lib/base/str.h"

struct sbx_err;
struct sbx_lang;

/* Only this much of the code is looked at, and nothing behind a NUL: it may be 64 MiB of hostile text, and no limit holds yet. */
enum { SBX_SOURCE_LOOK = 256 << 10 };

/*
 * The program that a first line `#!...` starts, borrowed from code: its last path component, env and its options skipped
 * (`#!/usr/bin/env -S python3.11 -u` gives python3.11). n is 0 when there is none.
 */
struct sbx_str sbx_source_interpreter(struct sbx_str code);

struct sbx_source_names {
	char *file; /* owned; what the code is called in the work directory: Foo.java */
	char *stem; /* owned; without its suffix */
	char *main; /* owned; the class to start, with its package; the stem where the code does not tell */
};

/*
 * basename is that of the user's file, which is kept, or NULL when the code came without one: then it is the language's `file`, its
 * stem replaced by what `file_pattern` finds in the code.  A pattern is an ERE that is tried on each line; its last group is the name.
 */
void sbx_source_names(const struct sbx_lang *lang, const char *basename, struct sbx_str code,
		      struct sbx_source_names *ret);
void sbx_source_names_release(struct sbx_source_names *names);
