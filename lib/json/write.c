#include "lib/json/write.h"

#include <assert.h>
#include <string.h>

#include "lib/base/base64.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/strv.h"
#include "lib/base/utf8.h"

static void put(struct sbx_jw *jw, const char *p, size_t n)
{
	struct sbx_err
		ignored; /* jw->failed tells; a whole SBX_ERR_INIT costs more than a short value */

	ignored.code = SBX_E_OK;
	if (!jw->failed && sbx_buf_add(jw->out, p, n, &ignored) < 0)
		jw->failed = true;
}

static void put_c(struct sbx_jw *jw, char c)
{
	put(jw, &c, 1);
}

void sbx_jw_init(struct sbx_jw *jw, struct sbx_buf *out)
{
	*jw = (struct sbx_jw){.out = out};
}

/* What must stand before a value here. */
static void before_value(struct sbx_jw *jw)
{
	if (jw->after_key) {
		jw->after_key = false;
		return;
	}
	assert(jw->depth > 0 ? jw->open[jw->depth - 1] == '[' : !jw->need_comma);
	if (jw->need_comma)
		put_c(jw, ',');
}

static void begin(struct sbx_jw *jw, char bracket)
{
	before_value(jw);
	assert(jw->depth < SBX_JW_DEPTH);
	jw->open[jw->depth++] = bracket;
	jw->need_comma = false;
	put_c(jw, bracket);
}

void sbx_jw_object(struct sbx_jw *jw)
{
	begin(jw, '{');
}

void sbx_jw_array(struct sbx_jw *jw)
{
	begin(jw, '[');
}

void sbx_jw_end(struct sbx_jw *jw)
{
	assert(jw->depth > 0 && !jw->after_key);
	jw->depth--;
	put_c(jw, jw->open[jw->depth] == '{' ? '}' : ']');
	jw->need_comma = true;
}

static void put_escape(struct sbx_jw *jw, uint32_t c)
{
	static const char digits[] = "0123456789abcdef", named[] = "\"\"\\\\\nn\rr\tt\bb\ff";

	for (const char *p = named; *p; p += 2) {
		if ((uint32_t)*p == c) {
			put(jw, (char[]){'\\', p[1]}, 2);
			return;
		}
	}
	put(jw,
	    (char[]){'\\', 'u', digits[c >> 12 & 15], digits[c >> 8 & 15], digits[c >> 4 & 15],
		     digits[c & 15]},
	    6);
}

/*
 * U+2028 and U+2029 end lines for JavaScript and for some readers of "one object a line"; U+0080 to U+009F are control sequences
 * to a terminal (U+009B is ESC [), as what is below 0x20 is.
 */
static bool must_escape(uint32_t c)
{
	return c < 0x20 || c == '"' || c == '\\' || (c >= 0x7f && c < 0xa0) || c == 0x2028 ||
	       c == 0x2029;
}

/*
 * How many bytes from p on are surely plain (ASCII, nothing to escape), eight at a time.  A byte's highest bit is set in each
 * term where the byte is: not ASCII; below 0x20; `"`; a backslash; DEL (https://graphics.stanford.edu/~seander/bithacks.html, hasless
 * and haszero; a false positive only ends the run early).
 */
static size_t plain_run(const char *p, size_t n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	size_t i = 0;

	for (; n - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
		uint64_t v, quote, slash, del;

		memcpy(&v, p + i, sizeof(v));
		quote = v ^ ones * '"';
		slash = v ^ ones * '\\';
		del = v ^ ones * 0x7f;
		if ((v | (v - ones * 0x20) | (quote - ones) | (slash - ones) | (del - ones)) & high)
			break;
	}
	return i;
}

static void put_string(struct sbx_jw *jw, struct sbx_str s)
{
	const char *p = s.n > 0 ? s.p : "", *end = p + s.n, *run = p; /* run: not yet written */

	put_c(jw, '"');
	while ((p += plain_run(p, (size_t)(end - p))) < end) {
		uint32_t c = (unsigned char)*p;
		size_t n = c < 0x80 ? 1 : sbx_utf8_next(p, (size_t)(end - p), &c);

		if (n > 0 && !must_escape(c)) {
			p += n;
			continue;
		}
		put(jw, run, (size_t)(p - run));
		put_escape(jw, n > 0 ? c : 0xfffd);
		p += n > 0 ? n : 1;
		run = p;
	}
	put(jw, run, (size_t)(p - run));
	put_c(jw, '"');
}

void sbx_jw_key(struct sbx_jw *jw, const char *key)
{
	assert(jw->depth > 0 && jw->open[jw->depth - 1] == '{' && !jw->after_key);
	if (jw->need_comma)
		put_c(jw, ',');
	put_string(jw, sbx_str_of(key));
	put_c(jw, ':');
	jw->after_key = true;
	jw->need_comma = true;
}

void sbx_jw_raw(struct sbx_jw *jw, struct sbx_str json)
{
	before_value(jw);
	put(jw, json.p, json.n);
	jw->need_comma = true;
}

void sbx_jw_str(struct sbx_jw *jw, struct sbx_str s)
{
	before_value(jw);
	put_string(jw, s);
	jw->need_comma = true;
}

void sbx_jw_cstr(struct sbx_jw *jw, const char *s)
{
	if (s)
		sbx_jw_str(jw, sbx_str_of(s));
	else
		sbx_jw_null(jw);
}

void sbx_jw_base64(struct sbx_jw *jw, struct sbx_str bytes)
{
	struct sbx_err ignored;

	ignored.code = SBX_E_OK;
	before_value(jw);
	put_c(jw, '"');
	if (!jw->failed && sbx_base64_encode(jw->out, bytes.p, bytes.n, &ignored) < 0)
		jw->failed = true;
	put_c(jw, '"');
	jw->need_comma = true;
}

static void put_number(struct sbx_jw *jw, bool negative, uint64_t v)
{
	char text[24], *p = text + sizeof(text);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	if (negative)
		*--p = '-';
	sbx_jw_raw(jw, (struct sbx_str){p, (size_t)(text + sizeof(text) - p)});
}

void sbx_jw_u64(struct sbx_jw *jw, uint64_t v)
{
	put_number(jw, false, v);
}

void sbx_jw_i64(struct sbx_jw *jw, int64_t v)
{
	put_number(jw, v < 0, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void sbx_jw_bool(struct sbx_jw *jw, bool v)
{
	sbx_jw_raw(jw, v ? SBX_STR("true") : SBX_STR("false"));
}

void sbx_jw_null(struct sbx_jw *jw)
{
	sbx_jw_raw(jw, SBX_STR("null"));
}

void sbx_jw_kstr(struct sbx_jw *jw, const char *key, const char *s)
{
	sbx_jw_key(jw, key);
	sbx_jw_cstr(jw, s);
}

void sbx_jw_ku64(struct sbx_jw *jw, const char *key, uint64_t v)
{
	sbx_jw_key(jw, key);
	sbx_jw_u64(jw, v);
}

void sbx_jw_kbool(struct sbx_jw *jw, const char *key, bool v)
{
	sbx_jw_key(jw, key);
	sbx_jw_bool(jw, v);
}

void sbx_jw_knull(struct sbx_jw *jw, const char *key)
{
	sbx_jw_key(jw, key);
	sbx_jw_null(jw);
}

void sbx_jw_kstrv(struct sbx_jw *jw, const char *key, const struct sbx_strv *sv)
{
	sbx_jw_key(jw, key);
	sbx_jw_array(jw);
	for (size_t i = 0; i < sv->n; i++)
		sbx_jw_cstr(jw, sv->v[i]);
	sbx_jw_end(jw);
}

int sbx_jw_done(struct sbx_jw *jw, struct sbx_err *err)
{
	assert(jw->depth == 0 && jw->need_comma);
	if (jw->failed)
		return sbx_fail(err, SBX_E_LIMIT, "JSON text of more than %zu bytes", jw->out->max);
	return 0;
}
