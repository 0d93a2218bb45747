#include "lib/base/base64.h"

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int sbx_base64_encode(struct sbx_buf *out, const void *p, size_t n, struct sbx_err *err)
{
	const unsigned char *in = p;
	char *to;

	if (n > SIZE_MAX / 2)
		return sbx_fail(err, SBX_E_LIMIT, "more than %zu bytes", out->max);
	if (sbx_buf_reserve(out, (n + 2) / 3 * 4, &to, err) < 0)
		return -1;
	for (; n > 0; in += 3, n -= n < 3 ? n : 3) {
		unsigned int bits = (unsigned int)in[0] << 16;

		if (n > 1)
			bits |= (unsigned int)in[1] << 8;
		if (n > 2)
			bits |= in[2];
		*to++ = alphabet[bits >> 18];
		*to++ = alphabet[bits >> 12 & 63];
		*to++ = n > 1 ? alphabet[bits >> 6 & 63] : '=';
		*to++ = n > 2 ? alphabet[bits & 63] : '=';
	}
	*to = '\0';
	out->len = (size_t)(to - out->p);
	return 0;
}

/* The six bits of a character, or -1. */
static int value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Decodes whole groups of four, of which the last ends in padding; what went wrong, or NULL. */
static const char *decode(struct sbx_str text, size_t padding, char *to)
{
	unsigned int bits = 0;

	for (size_t i = 0; i < text.n; i++) {
		int v = i < text.n - padding ? value(text.p[i]) : 0;

		if (v < 0)
			return "a character that is not base64";
		bits = bits << 6 | (unsigned int)v;
		if (i % 4 != 3)
			continue;
		*to++ = (char)(bits >> 16 & 0xff);
		*to++ = (char)(bits >> 8 & 0xff);
		*to++ = (char)(bits & 0xff);
	}
	/* Two texts must not mean the same bytes. */
	if (bits & ((1U << (8 * padding)) - 1))
		return "bits behind the last byte";
	return NULL;
}

int sbx_base64_decode(struct sbx_buf *out, struct sbx_str text, struct sbx_err *err)
{
	size_t padding = 0;
	const char *wrong;
	char *to;

	if (text.n % 4 != 0)
		return sbx_fail(err, SBX_E_INVALID, "base64: the length is not a multiple of 4");
	while (padding < 2 && padding < text.n && text.p[text.n - 1 - padding] == '=')
		padding++;
	if (sbx_buf_reserve(out, text.n / 4 * 3, &to, err) < 0)
		return -1;
	wrong = decode(text, padding, to);
	if (!wrong)
		out->len += text.n / 4 * 3 - padding;
	out->p[out->len] = '\0';
	return wrong ? sbx_fail(err, SBX_E_INVALID, "base64: %s", wrong) : 0;
}
