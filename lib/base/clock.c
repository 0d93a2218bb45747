#include "lib/base/clock.h"

#include <limits.h>
#include <time.h>

#include "lib/base/err.h"

enum { QUOTE_MAX = 80 };

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)
#define KIB       UINT64_C(1024)

struct unit {
	const char *name;
	uint64_t factor;
};

uint64_t sbx_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

int sbx_poll_ms(uint64_t deadline_ns)
{
	uint64_t now = sbx_now_ns(), ms;

	if (deadline_ns == SBX_UNLIMITED)
		return -1;
	if (deadline_ns <= now)
		return 0;
	ms = (deadline_ns - now - 1) / NS_PER_MS + 1;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

uint64_t sbx_deadline(uint64_t span_ns)
{
	uint64_t deadline;

	return __builtin_add_overflow(sbx_now_ns(), span_ns, &deadline) ? SBX_UNLIMITED : deadline;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Takes "12" or "1.5" from the front of *s: the whole part (saturating) and billionths.  False when that is not there. */
static bool take_decimal(struct sbx_str *s, uint64_t *whole, uint64_t *nanos)
{
	size_t digits = 0;

	*whole = *nanos = 0;
	for (; s->n > 0 && is_digit(s->p[0]); s->p++, s->n--, digits++) {
		if (__builtin_mul_overflow(*whole, 10, whole) ||
		    __builtin_add_overflow(*whole, (uint64_t)(s->p[0] - '0'), whole))
			*whole = UINT64_MAX;
	}
	if (digits == 0 || s->n == 0 || s->p[0] != '.')
		return digits > 0;
	digits = 0;
	/* What comes after nine places is too small for any unit here. */
	for (s->p++, s->n--; s->n > 0 && is_digit(s->p[0]); s->p++, s->n--) {
		if (digits++ < 9)
			*nanos = *nanos * 10 + (uint64_t)(s->p[0] - '0');
	}
	for (size_t i = digits; i < 9; i++)
		*nanos *= 10;
	return digits > 0;
}

/* A kind of quantity: its units (the one named "" is that of a bare number), and its form for messages. */
struct quantity {
	const char *form;
	struct unit units[16];
	bool zero; /* allowed */
};

static const struct unit *find_unit(const struct quantity *q, struct sbx_str name)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(q->units) && q->units[i].name; i++) {
		if (sbx_str_eq_nocase(name, q->units[i].name))
			return &q->units[i];
	}
	return NULL;
}

static int parse(const struct quantity *q, struct sbx_str s, const char *what, uint64_t *ret,
		 struct sbx_err *err)
{
	int quoted = s.n < QUOTE_MAX ? (int)s.n : QUOTE_MAX;
	uint64_t whole, nanos, part, v;
	struct sbx_str rest = s;
	const struct unit *unit;

	if (sbx_str_eq(s, "none")) {
		*ret = SBX_UNLIMITED;
		return 0;
	}
	if (!take_decimal(&rest, &whole, &nanos) || !(unit = find_unit(q, rest)))
		return sbx_fail(err, SBX_E_USAGE, "%s: '%.*s' is not %s", what, quoted, s.p,
				q->form);
	/* The fraction in two steps, each of which fits in 64 bits. */
	part = nanos * (unit->factor / NS_PER_S) + nanos * (unit->factor % NS_PER_S) / NS_PER_S;
	if (__builtin_mul_overflow(whole, unit->factor, &v) ||
	    __builtin_add_overflow(v, part, &v) || v == SBX_UNLIMITED)
		return sbx_fail(err, SBX_E_USAGE,
				"%s: '%.*s' is too large, write 'none' for no limit", what, quoted,
				s.p);
	if (v == 0 && !q->zero)
		return sbx_fail(err, SBX_E_USAGE,
				"%s: '%.*s' is refused, write 'none' for no limit", what, quoted,
				s.p);
	*ret = v;
	return 0;
}

int sbx_parse_duration(struct sbx_str s, const char *what, uint64_t *ret_ns, struct sbx_err *err)
{
	static const struct quantity duration = {
		.form = "a duration (500ms, 30s, 2m, 1h, none)",
		.units =
			{
				{"", NS_PER_S},
				{"ms", NS_PER_MS},
				{"s", NS_PER_S},
				{"m", 60 * NS_PER_S},
				{"h", 3600 * NS_PER_S},
			},
	};

	return parse(&duration, s, what, ret_ns, err);
}

int sbx_parse_size(struct sbx_str s, const char *what, uint64_t *ret_bytes, struct sbx_err *err)
{
	static const struct quantity size = {
		.form = "a size (65536, 512k, 64m, 1g, 1GiB, none)",
		.units =
			{
				{"", 1},
				{"b", 1},
				{"k", KIB},
				{"kb", KIB},
				{"kib", KIB},
				{"m", KIB * KIB},
				{"mb", KIB * KIB},
				{"mib", KIB * KIB},
				{"g", KIB * KIB * KIB},
				{"gb", KIB * KIB * KIB},
				{"gib", KIB * KIB * KIB},
				{"t", KIB * KIB * KIB * KIB},
				{"tb", KIB * KIB * KIB * KIB},
				{"tib", KIB * KIB * KIB * KIB},
			},
		.zero = true,
	};

	return parse(&size, s, what, ret_bytes, err);
}

int sbx_parse_milli(struct sbx_str s, const char *what, uint64_t *ret_milli, struct sbx_err *err)
{
	static const struct quantity milli = {
		.form = "a number of processors (1, 0.5, none)",
		.units = {{"", 1000}},
	};

	return parse(&milli, s, what, ret_milli, err);
}
