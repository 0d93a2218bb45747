/*
 * Theory of operation: a pattern is a row of components, and a bit set holds how many of them may have been used up by the path so
 * far (bit i: the components before i).  Each component of the path moves the set on, so time is bounded by the product of the
 * lengths whatever the pattern is, and there is neither backtracking over components nor recursion.
 */
#include "lib/base/glob.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/attr.h"

struct part {
	const char *p;
	size_t n;
};

/* One bit a component and one for the end. */
_Static_assert(SBX_GLOB_DEPTH <= 64, "the components of a pattern are bits of a word");

struct parts {
	struct part v[SBX_GLOB_DEPTH - 1];
	size_t n;
};

static bool part_is(struct part part, const char *s)
{
	return part.n == strlen(s) && memcmp(part.p, s, part.n) == 0;
}

/* The next component of *rest, over empty ones and `.`; false at the end. */
static bool next_part(const char **rest, struct part *part)
{
	for (;;) {
		*rest += strspn(*rest, "/");
		if (**rest == '\0')
			return false;
		part->p = *rest;
		part->n = strcspn(*rest, "/");
		*rest += part->n;
		if (!part_is(*part, "."))
			return true;
	}
}

/* Behind the `]` that closes the bracket whose inside begins at p, or NULL.  *hit: whether c is one of those meant. */
static const char *bracket(const char *p, const char *end, unsigned char c, bool *hit)
{
	bool negated = p < end && (*p == '!' || *p == '^'), found = false;
	const char *first = negated ? p + 1 : p;

	for (p = first; p < end; p++) {
		unsigned char low = (unsigned char)*p, high = low;

		if (low == ']' && p > first) {
			*hit = found != negated;
			return p + 1;
		}
		if (end - p > 2 && p[1] == '-' && p[2] != ']') {
			high = (unsigned char)p[2];
			p += 2;
		}
		found = found || (c >= low && c <= high);
	}
	return NULL;
}

/* Whether the pattern's character at *p, which is no `*`, means c; moves *p behind it. */
static bool one_matches(const char **p, const char *end, unsigned char c)
{
	bool hit = false;
	const char *behind;

	if (**p == '[') {
		behind = bracket(*p + 1, end, c, &hit);
		*p = behind ? behind : end;
		return behind && hit;
	}
	hit = **p == '?' || (unsigned char)**p == c;
	++*p;
	return hit;
}

/* Components without `/`.  Only the last `*` is ever taken back: what an earlier one could gain, it can as well. */
static bool part_matches(struct part pattern, struct part name)
{
	const char *p = pattern.p, *end = p + pattern.n, *s = name.p, *s_end = s + name.n;
	const char *star = NULL, *star_s = NULL;

	if (*s == '.' && *p != '.')
		return false;
	while (s < s_end || p < end) {
		if (p < end && *p == '*') {
			star = ++p;
			star_s = s;
			continue;
		}
		if (p < end && s < s_end && one_matches(&p, end, (unsigned char)*s)) {
			s++;
			continue;
		}
		if (!star || star_s == s_end)
			return false;
		p = star;
		s = ++star_s;
	}
	return true;
}

static bool brackets_close(struct part part)
{
	const char *p = part.p, *end = p + part.n;
	bool hit;

	while (p && p < end)
		p = *p == '[' ? bracket(p + 1, end, 0, &hit) : p + 1;
	return p != NULL;
}

static const char *split(const char *pattern, struct parts *parts)
{
	struct part part;

	parts->n = 0;
	if (strnlen(pattern, SBX_GLOB_MAX + 1) > SBX_GLOB_MAX)
		return "too long";
	if (*pattern == '/')
		return "absolute";
	while (next_part(&pattern, &part)) {
		if (part_is(part, ".."))
			return "has a '..'";
		if (!brackets_close(part))
			return "bracket not closed";
		if (parts->n == SBX_ARRAY_SIZE(parts->v))
			return "too deep";
		parts->v[parts->n++] = part;
	}
	return parts->n > 0 ? NULL : "empty";
}

const char *sbx_glob_wrong(const char *pattern)
{
	struct parts parts;

	return split(pattern, &parts);
}

/* Adds what is reached by a `**` that stands for nothing; one at the end stands for something, the folder itself is no match. */
static uint64_t skip_empty(const struct parts *parts, uint64_t set)
{
	for (size_t i = 0; i + 1 < parts->n; i++) {
		if (set >> i & 1 && part_is(parts->v[i], "**"))
			set |= UINT64_C(2) << i;
	}
	return set;
}

static uint64_t step(const struct parts *parts, uint64_t set, struct part name)
{
	uint64_t next = 0;

	for (size_t i = 0; i < parts->n; i++) {
		if (!(set >> i & 1))
			continue;
		if (!part_matches(parts->v[i], name))
			continue;
		if (part_is(parts->v[i], "**"))
			next |= UINT64_C(1) << i;
		if (!part_is(parts->v[i], "**") || i + 1 == parts->n)
			next |= UINT64_C(2) << i;
	}
	return skip_empty(parts, next);
}

/* The set after the whole path. */
static uint64_t run(const struct parts *parts, const char *path)
{
	uint64_t set = skip_empty(parts, 1);
	struct part name;

	while (set && next_part(&path, &name))
		set = step(parts, set, name);
	return set;
}

bool sbx_glob_match(const char *pattern, const char *path)
{
	struct parts parts;

	return !split(pattern, &parts) && (run(&parts, path) >> parts.n & 1);
}

bool sbx_glob_may_descend(const char *pattern, const char *path)
{
	struct parts parts;

	return !split(pattern, &parts) && (run(&parts, path) & ((UINT64_C(1) << parts.n) - 1));
}
