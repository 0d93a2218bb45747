#include "lib/base/str.h"

#include <inttypes.h>

#include "lib/base/err.h"
#include "lib/base/mem.h"

/* How much of a bad value a message quotes; how long words are that are compared. */
enum { QUOTE_MAX = 80, DISTANCE_MAX = 64 };

bool sbx_str_eq(struct sbx_str a, const char *b)
{
	return strlen(b) == a.n && (a.n == 0 || memcmp(a.p, b, a.n) == 0);
}

bool sbx_str_has_prefix(struct sbx_str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return n <= s.n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

bool sbx_str_has_suffix(struct sbx_str s, const char *suffix)
{
	size_t n = strlen(suffix);

	return n <= s.n && (n == 0 || memcmp(s.p + s.n - n, suffix, n) == 0);
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct sbx_str sbx_str_trim(struct sbx_str s)
{
	while (s.n > 0 && is_space(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n > 0 && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

bool sbx_str_split(struct sbx_str *rest, char sep, struct sbx_str *part)
{
	const char *end;

	if (rest->n == 0)
		return false;
	end = memchr(rest->p, sep, rest->n);
	part->p = rest->p;
	part->n = end ? (size_t)(end - rest->p) : rest->n;
	rest->p += part->n;
	rest->n -= part->n;
	if (end) {
		rest->p++;
		rest->n--;
	}
	return true;
}

char *sbx_str_dup(struct sbx_str s)
{
	char *copy = sbx_xcalloc(s.n + 1, 1);

	if (s.n > 0)
		memcpy(copy, s.p, s.n);
	return copy;
}

int sbx_str_u64(struct sbx_str s, uint64_t max, const char *what, uint64_t *ret,
		struct sbx_err *err)
{
	int quoted = s.n < QUOTE_MAX ? (int)s.n : QUOTE_MAX;
	uint64_t v = 0;

	if (s.n == 0)
		return sbx_fail(err, SBX_E_USAGE, "%s: must be a number, not empty", what);
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return sbx_fail(err, SBX_E_USAGE, "%s: must be a number, not '%.*s'", what,
					quoted, s.p);
	}
	for (size_t i = 0; i < s.n; i++) {
		unsigned int digit = (unsigned int)(s.p[i] - '0');

		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v) ||
		    v > max)
			return sbx_fail(err, SBX_E_USAGE, "%s: %.*s is more than %" PRIu64, what,
					quoted, s.p, max);
	}
	*ret = v;
	return 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool sbx_str_eq_nocase(struct sbx_str a, const char *b)
{
	if (strlen(b) != a.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		if (lower(a.p[i]) != lower(b[i]))
			return false;
	}
	return true;
}

static unsigned int min(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

size_t sbx_str_distance(struct sbx_str a, const char *b)
{
	unsigned char d[DISTANCE_MAX + 1][DISTANCE_MAX + 1];
	size_t n = strlen(b);

	if (a.n > DISTANCE_MAX || n > DISTANCE_MAX)
		return SIZE_MAX;
	for (size_t i = 0; i <= a.n; i++) {
		for (size_t j = 0; j <= n; j++) {
			unsigned int best = (unsigned int)(i + j);

			if (i > 0 && j > 0) {
				best = d[i - 1][j - 1];
				best += lower(a.p[i - 1]) != lower(b[j - 1]);
				best = min(best, min(d[i - 1][j], d[i][j - 1]) + 1U);
			}
			if (i > 1 && j > 1 && lower(a.p[i - 1]) == lower(b[j - 2]) &&
			    lower(a.p[i - 2]) == lower(b[j - 1]))
				best = min(best, d[i - 2][j - 2] + 1U);
			d[i][j] = (unsigned char)best;
		}
	}
	return d[a.n][n];
}
