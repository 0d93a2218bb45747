/*
 * Placeholders of language files, into argument vectors and environments, never through a shell:
 *
 *	{file}		the code's file: main.py
 *	{stem}		its name without the suffix: main
 *	{main}		the class to start, as sbx_source_names() found it: com.example.Main
 *	{workdir}	/sandbox
 *	{build}		a folder for what a compiler makes: /tmp
 *	{memory_mib}	the whole memory limit in MiB
 *	{heap_mib}	the part of it a runtime may use for its heap, 70 %, so that it fails before the kernel kills it
 *	{cpus}		processors, rounded up
 *	{args}		the program's arguments, an element each; only as a whole element of `run`
 *
 * `{{` and `}}` are braces.  An element with a limit that is not set is left out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/attr.h"
#include "lib/base/strv.h"

struct sbx_err;

struct sbx_expand {
	const char *file; /* as the program sees it, relative to the work directory: main.py */
	const char *stem; /* without its suffix */
	const char *main; /* NULL: the stem */
	const char *workdir;
	const char *build;           /* NULL: /tmp */
	uint64_t memory_mib;         /* 0: not limited */
	uint64_t cpus;               /* whole processors, rounded up; 0: not limited */
	const struct sbx_strv *args; /* the program's; NULL: none */
};

/*
 * Appends the expansion of in to out.  With append_args the arguments follow at the end unless {args} stood somewhere.  A {file} that
 * an interpreter would take for an option or a list of options (it begins with one of -+@) gets "./" in front.
 */
int sbx_expand_argv(const struct sbx_expand *ex, const struct sbx_strv *in, bool append_args,
		    struct sbx_strv *out, struct sbx_err *err) SBX_MUST_USE;

/* NULL when every placeholder of text is known and every brace has its partner, else what is wrong, shortened, in bad[]. */
const char *sbx_expand_wrong(const char *text, char bad[64]);
