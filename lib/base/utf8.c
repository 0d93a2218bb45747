#include "lib/base/utf8.h"

#include <string.h>

/*
 * How many bytes the character at p has by its first byte, or 0; *low and *high bound its second byte, which is where overlong
 * forms, surrogates and what lies beyond U+10FFFF show.
 */
static size_t lead(unsigned char c, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	if (c < 0xe0)
		return 2;
	if (c == 0xe0)
		*low = 0xa0;
	if (c == 0xed)
		*high = 0x9f;
	if (c == 0xf0)
		*low = 0x90;
	if (c == 0xf4)
		*high = 0x8f;
	return c < 0xf0 ? 3 : 4;
}

/* The length of the character at p; 0 when there is none.  *ret_partial tells whether more bytes could make it one. */
static size_t scan(const unsigned char *p, size_t n, bool *ret_partial)
{
	unsigned char low = 0, high = 0;
	size_t need = n > 0 ? lead(p[0], &low, &high) : 0;

	*ret_partial = false;
	if (need < 2)
		return need;
	for (size_t i = 1; i < need; i++) {
		if (i == n) {
			*ret_partial = true;
			return 0;
		}
		if (p[i] < (i == 1 ? low : 0x80) || p[i] > (i == 1 ? high : 0xbf))
			return 0;
	}
	return need;
}

size_t sbx_utf8_next(const char *p, size_t n, uint32_t *ret)
{
	const unsigned char *u = (const unsigned char *)p;
	bool partial;
	size_t len = scan(u, n, &partial);
	uint32_t c;

	if (len == 0)
		return 0;
	c = len == 1 ? u[0] : u[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++)
		c = c << 6 | (u[i] & 0x3fU);
	*ret = c;
	return len;
}

size_t sbx_utf8_prefix(const char *p, size_t n, size_t *ret_partial)
{
	const uint64_t high_bits = 0x8080808080808080;
	size_t at = 0;
	bool partial;

	*ret_partial = 0;
	while (at < n) {
		uint64_t word;
		size_t len;

		/* Output is mostly ASCII: eight bytes at a time. */
		if (n - at >= sizeof(word)) {
			memcpy(&word, p + at, sizeof(word));
			if (!(word & high_bits)) {
				at += sizeof(word);
				continue;
			}
		}
		len = scan((const unsigned char *)p + at, n - at, &partial);
		if (len == 0) {
			*ret_partial = partial ? n - at : 0;
			break;
		}
		at += len;
	}
	return at;
}

bool sbx_utf8_valid(const char *p, size_t n)
{
	size_t partial;

	return sbx_utf8_prefix(p, n, &partial) == n;
}

/* Controls of both sets, line separators, and the marks that reorder the text around them. */
static bool misleading(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/* The n bytes at p as \xNN each. */
static size_t escape(char *to, const char *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)p[i];

		*to++ = '\\';
		*to++ = 'x';
		*to++ = digits[byte >> 4];
		*to++ = digits[byte & 15];
	}
	return 4 * n;
}

size_t sbx_utf8_show(char *to, size_t size, size_t len, const char *text)
{
	static const char more[] = "...";
	size_t left = strlen(text), partial;

	while (left > 0) {
		char piece[4 * 4];
		uint32_t c = 0;
		size_t n = sbx_utf8_next(text, left, &c), take = n > 0 ? n : 1, out;

		if (n > 0 && !misleading(c)) {
			memcpy(piece, text, n);
			out = n;
		} else {
			out = escape(piece, text, take);
		}
		if (len + out >= size) {
			len = len < size - sizeof(more) ? len : size - sizeof(more);
			len = sbx_utf8_prefix(to, len, &partial);
			memcpy(to + len, more, sizeof(more));
			return len + sizeof(more) - 1;
		}
		memcpy(to + len, piece, out);
		len += out;
		text += take;
		left -= take;
	}
	to[len] = '\0';
	return len;
}
