/* Borrowed text: a pointer and a length, not terminated.  And numbers, parsed strictly. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/attr.h"

struct sbx_err;

struct sbx_str {
	const char *p;
	size_t n;
};

#define SBX_STR(lit) ((struct sbx_str){.p = (lit), .n = sizeof(lit) - 1})

static inline struct sbx_str sbx_str_of(const char *s)
{
	return (struct sbx_str){.p = s, .n = strlen(s)};
}

bool sbx_str_eq(struct sbx_str a, const char *b);
bool sbx_str_has_prefix(struct sbx_str s, const char *prefix);
bool sbx_str_has_suffix(struct sbx_str s, const char *suffix);
struct sbx_str sbx_str_trim(struct sbx_str s); /* ASCII white space at both ends */

/* Takes the part of *rest before the next sep into *part and moves *rest behind it; false when nothing is left (so a sep at the end adds no empty part). */
bool sbx_str_split(struct sbx_str *rest, char sep, struct sbx_str *part);

/* A copy as a C string, owned by the caller (aborts when out of memory: for text we hold already). */
char *sbx_str_dup(struct sbx_str s);

/*
 * Digits only, no sign, no blanks, no leading '+', at most max; what names the value in the message.
 * Fails with SBX_E_USAGE.
 */
int sbx_str_u64(struct sbx_str s, uint64_t max, const char *what, uint64_t *ret,
		struct sbx_err *err) SBX_MUST_USE;

/* true when strcasecmp would say so, in ASCII whatever the locale. */
bool sbx_str_eq_nocase(struct sbx_str a, const char *b);

/*
 * How many insertions, deletions, replacements and swaps of neighbours lead from a to b, case ignored; SIZE_MAX for more than 64
 * bytes. For "did you mean".
 */
size_t sbx_str_distance(struct sbx_str a, const char *b);
