/*
 * A recursive descent over the grammar, bounded by depth.  Each function takes what it is named after from the front of the text
 * and returns NULL, or says what is wrong with the text at c->p.
 */
#include "lib/json/check.h"

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/limits.h"
#include "lib/base/utf8.h"

struct checker {
	const char *p, *end;
	size_t tokens;
	int depth;
	bool limit; /* what is wrong is a ceiling of ours */
};

static const char *value(struct checker *c);

/* The next byte, or -1 at the end. */
static int peek(const struct checker *c)
{
	return c->p < c->end ? (unsigned char)*c->p : -1;
}

static bool take(struct checker *c, char wanted)
{
	if (peek(c) != wanted)
		return false;
	c->p++;
	return true;
}

static void space(struct checker *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r'))
		c->p++;
}

int sbx_json_hex4(const char *p, const char *end)
{
	int v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit;

		if (p[i] >= '0' && p[i] <= '9')
			digit = p[i] - '0';
		else if (p[i] >= 'a' && p[i] <= 'f')
			digit = p[i] - 'a' + 10;
		else if (p[i] >= 'A' && p[i] <= 'F')
			digit = p[i] - 'A' + 10;
		else
			return -1;
		v = v << 4 | digit;
	}
	return v;
}

/* What follows `\u`. */
static const char *unicode(struct checker *c)
{
	int v = sbx_json_hex4(c->p, c->end), low;

	if (v < 0)
		return "'\\u' needs four hexadecimal digits";
	if (v >= 0xdc00 && v <= 0xdfff)
		return "half a surrogate pair";
	c->p += 4;
	if (v < 0xd800 || v > 0xdbff)
		return NULL;
	low = c->end - c->p > 2 && c->p[0] == '\\' && c->p[1] == 'u'
		      ? sbx_json_hex4(c->p + 2, c->end)
		      : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return "half a surrogate pair";
	c->p += 6;
	return NULL;
}

static const char *escape(struct checker *c)
{
	int kind;

	c->p++;
	kind = peek(c);
	if (kind == 'u') {
		c->p++;
		return unicode(c);
	}
	if (kind < 0)
		return "string not closed";
	if (kind == 0 || !strchr("\"\\/bfnrt", kind))
		return "unknown escape";
	c->p++;
	return NULL;
}

static const char *string(struct checker *c)
{
	const char *wrong;
	uint32_t ignored;

	c->tokens++;
	for (c->p++; c->p < c->end;) {
		unsigned char byte = (unsigned char)*c->p;
		size_t n = 1;

		if (byte == '"') {
			c->p++;
			return NULL;
		}
		if (byte == '\\') {
			wrong = escape(c);
			if (wrong)
				return wrong;
			continue;
		}
		if (byte < 0x20)
			return "control character in a string, must be escaped";
		if (byte >= 0x80)
			n = sbx_utf8_next(c->p, (size_t)(c->end - c->p), &ignored);
		if (n == 0)
			return "not UTF-8";
		c->p += n;
	}
	return "string not closed";
}

/* At least one. */
static bool digits(struct checker *c)
{
	const char *first = c->p;

	while (c->p < c->end && *c->p >= '0' && *c->p <= '9')
		c->p++;
	return c->p > first;
}

static const char *number(struct checker *c)
{
	static const char wrong[] = "not a number of JSON";

	c->tokens++;
	(void)take(c, '-');
	if (!take(c, '0') && !digits(c))
		return wrong;
	if (take(c, '.') && !digits(c))
		return wrong;
	if (take(c, 'e') || take(c, 'E')) {
		if (!take(c, '+'))
			(void)take(c, '-');
		if (!digits(c))
			return wrong;
	}
	return NULL;
}

static const char *word(struct checker *c, const char *name)
{
	size_t n = strlen(name);

	c->tokens++;
	if ((size_t)(c->end - c->p) < n || memcmp(c->p, name, n) != 0)
		return "expected a value";
	c->p += n;
	return NULL;
}

static const char *member(struct checker *c)
{
	const char *wrong;

	if (peek(c) != '"')
		return "expected a key in double quotes";
	wrong = string(c);
	if (wrong)
		return wrong;
	space(c);
	return take(c, ':') ? value(c) : "expected ':'";
}

static const char *container(struct checker *c, char close,
			     const char *(*element)(struct checker *c), const char *expected)
{
	const char *wrong;

	c->tokens++;
	if (c->depth == SBX_JSON_DEPTH) {
		c->limit = true;
		return "nested too deep";
	}
	c->depth++;
	c->p++;
	space(c);
	if (!take(c, close)) {
		do {
			space(c);
			wrong = element(c);
			if (wrong)
				return wrong;
			space(c);
		} while (take(c, ','));
		if (!take(c, close))
			return expected;
	}
	c->depth--;
	return NULL;
}

static const char *value(struct checker *c)
{
	int next;

	space(c);
	next = peek(c);
	if (c->tokens >= SBX_JSON_TOKENS) {
		c->limit = true;
		return "too many values";
	}
	switch (next) {
	case '{':
		return container(c, '}', member, "expected ',' or '}'");
	case '[':
		return container(c, ']', value, "expected ',' or ']'");
	case '"':
		return string(c);
	case 't':
		return word(c, "true");
	case 'f':
		return word(c, "false");
	case 'n':
		return word(c, "null");
	default:
		return next == '-' || (next >= '0' && next <= '9') ? number(c) : "expected a value";
	}
}

void sbx_json_place(struct sbx_str text, size_t offset, size_t *ret_line, size_t *ret_column)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < offset; i++) {
		bool newline = text.p[i] == '\n';

		line += newline;
		column = newline ? 1 : column + 1;
	}
	*ret_line = line;
	*ret_column = column;
}

int sbx_json_check(struct sbx_str text, const char *what, size_t *ret_tokens, struct sbx_err *err)
{
	const char *begin = text.n > 0 ? text.p : "";
	struct checker c = {.p = begin, .end = begin + text.n};
	const char *wrong = value(&c);
	size_t line, column;

	space(&c);
	if (!wrong && c.p < c.end)
		wrong = "expected nothing more";
	if (!wrong) {
		*ret_tokens = c.tokens;
		return 0;
	}
	sbx_json_place(text, (size_t)(c.p - begin), &line, &column);
	return sbx_fail(err, c.limit ? SBX_E_LIMIT : SBX_E_INVALID, "%s: line %zu, column %zu: %s",
			what, line, column, wrong);
}
