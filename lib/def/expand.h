/* Placeholders of language files: {file} {stem} {workdir} {memory_mib} {cpus} {args}; into argument vectors, never through a shell. */
#pragma once

#include "lib/base/attr.h"
#include "lib/base/strv.h"

struct sbx_err;

struct sbx_expand {
	const char *file;    /* as the program sees it, relative to the work directory: main.py */
	const char *stem;    /* without its suffix */
	const char *workdir; /* /sandbox */
	uint64_t memory_mib; /* 0: not limited; then an element with {memory_mib} is left out */
	uint64_t cpus;	     /* whole processors, rounded up; 0: not limited, the same */
	const struct sbx_strv *args; /* the program's; stands where {args} stands as a whole element, else at the end */
};

/* Appends the expansion of in to out; `{{` and `}}` are braces; an unknown placeholder was refused when the file was read. */
int sbx_expand_argv(const struct sbx_expand *ex, const struct sbx_strv *in, bool append_args,
		    struct sbx_strv *out, struct sbx_err *err) SBX_MUST_USE;
/* NULL when every placeholder of text is known, else the first unknown one's name is in bad[]. */
const char *sbx_expand_wrong(const char *text, char bad[64]);
