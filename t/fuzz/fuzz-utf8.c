/*
 * A prefix is what single characters add up to, what is held back can become a character and what is not cannot, and what is shown
 * of a text is one printable line of UTF-8 in whatever room there is.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether n bytes, to which up to 3 may be added, are the beginning of a character: by trying. */
static bool can_become(const char *p, size_t n)
{
	static const char next[] = "\x80\x90\xa0\xbf"; /* one of each class of second bytes */
	char try[5];
	uint32_t c;

	if (sbx_utf8_next(p, n, &c) == n)
		return true;
	if (n >= 4)
		return false;
	memcpy(try, p, n);
	for (size_t i = 0; next[i]; i++) {
		try[n] = next[i];
		if (can_become(try, n + 1))
			return true;
	}
	return false;
}

/* The length of the characters at the front, one by one. */
static size_t characters(const char *p, size_t n)
{
	size_t at = 0, step;
	uint32_t c = 0;

	while ((step = sbx_utf8_next(p + at, n - at, &c)) > 0) {
		assert(c <= 0x10ffff && (c < 0xd800 || c > 0xdfff));
		at += step;
	}
	return at;
}

static void prefix(const char *p, size_t n)
{
	size_t partial, len = sbx_utf8_prefix(p, n, &partial), rest = n - len;

	assert(len == characters(p, n));
	assert(sbx_utf8_valid(p, len) && sbx_utf8_valid(p, n) == (rest == 0));
	if (rest == 0 || rest > 3)
		assert(partial == 0);
	else
		assert(partial == (can_become(p + len, rest) ? rest : 0));
}

static void show(const char *text)
{
	char to[64];

	for (size_t size = 8; size <= sizeof(to); size += 7) {
		size_t len = sbx_utf8_show(to, size, 0, text);

		len = sbx_utf8_show(to, size, len, text);
		assert(len < size && strlen(to) == len && sbx_utf8_valid(to, len));
		for (size_t i = 0; i < len; i++)
			assert((unsigned char)to[i] >= 0x20 && to[i] != 0x7f);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[4096];

	prefix((const char *)data, size);
	if (size < sizeof(text)) {
		memcpy(text, data, size);
		text[size] = '\0';
		show(text);
	}
	return 0;
}
