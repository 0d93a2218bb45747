#include "lib/event/text.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"

static int add_escaped(struct sbx_buf *out, const char *p, size_t n, struct sbx_err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (sbx_buf_addf(out, err, "\\x%02x", (unsigned char)p[i]) < 0)
			return -1;
	}
	return 0;
}

/* The C1 controls are c2 80 to c2 9f in UTF-8. */
static bool is_control(const char *p, size_t n)
{
	unsigned char first = (unsigned char)p[0];

	if (n == 2)
		return first == 0xc2 && (unsigned char)p[1] < 0xa0;
	if (n > 2)
		return false;
	return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
}

/* Passes on as much of held as is decided. */
static int settle(struct sbx_text *text, struct sbx_buf *out, struct sbx_err *err)
{
	while (text->n_held > 0) {
		size_t partial, n = sbx_utf8_prefix(text->held, text->n_held, &partial);
		int rc;

		if (n == 0 && partial > 0)
			return 0;
		if (n > 0 && !is_control(text->held, n))
			rc = sbx_buf_add(out, text->held, n, err);
		else
			rc = add_escaped(out, text->held, n > 0 ? n : 1, err);
		if (rc < 0)
			return -1;
		n = n > 0 ? n : 1;
		text->n_held = (unsigned char)(text->n_held - n);
		memmove(text->held, text->held + n, text->n_held);
	}
	return 0;
}

static size_t plain_ascii(struct sbx_str s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] >= 0x20 && s.p[n] < 0x7f)
		n++;
	return n;
}

int sbx_text_add(struct sbx_text *text, struct sbx_str bytes, struct sbx_buf *out,
		 struct sbx_err *err)
{
	while (bytes.n > 0) {
		size_t n = text->n_held == 0 ? plain_ascii(bytes) : 0;

		if (n > 0) {
			if (sbx_buf_add(out, bytes.p, n, err) < 0)
				return -1;
		} else {
			n = 1;
			text->held[text->n_held++] = bytes.p[0];
			if (settle(text, out, err) < 0)
				return -1;
		}
		bytes.p += n;
		bytes.n -= n;
	}
	return 0;
}

int sbx_text_finish(struct sbx_text *text, struct sbx_buf *out, struct sbx_err *err)
{
	size_t n = text->n_held;

	text->n_held = 0;
	return add_escaped(out, text->held, n, err);
}
