/*
 * Lines back into events, and what is shown of hostile bytes.  Whatever decodes is encoded, and then decodes and encodes to the
 * very same line; however a text is cut, the same is shown of it, and nothing in that is a command to a terminal.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/event/decode.h"
#include "lib/event/sinks.h"
#include "lib/event/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The line of the event that line holds, in out; false where it holds none. */
static bool again(struct sbx_str line, struct sbx_buf *out)
{
	struct sbx_decoded dec = {0};
	struct sbx_err err = SBX_ERR_INIT;
	int rc = sbx_event_decode(line, &dec, &err);

	assert((rc < 0) == (err.code != SBX_E_OK));
	if (rc == 1 && sbx_event_json(&dec.ev, out, &err) < 0)
		abort();
	sbx_decoded_release(&dec);
	return rc == 1;
}

static void round_trip(struct sbx_str line)
{
	struct sbx_buf once = SBX_BUF_INIT(64 << 20), twice = SBX_BUF_INIT(64 << 20);

	if (again(line, &once)) {
		bool held = again((struct sbx_str){once.p, once.len}, &twice);

		assert(held);
		assert(once.len == twice.len && memcmp(once.p, twice.p, once.len) == 0);
	}
	sbx_buf_release(&once);
	sbx_buf_release(&twice);
}

static void show(struct sbx_str bytes, size_t chunk, struct sbx_buf *out)
{
	struct sbx_text text = {0};
	struct sbx_err err = SBX_ERR_INIT;

	for (size_t at = 0; at < bytes.n; at += chunk) {
		size_t n = bytes.n - at < chunk ? bytes.n - at : chunk;

		if (sbx_text_add(&text, (struct sbx_str){bytes.p + at, n}, out, &err) < 0)
			abort();
	}
	if (sbx_text_finish(&text, out, &err) < 0)
		abort();
}

static void shown(struct sbx_str bytes)
{
	struct sbx_buf whole = SBX_BUF_INIT(4 * bytes.n), parts = SBX_BUF_INIT(4 * bytes.n);

	show(bytes, bytes.n, &whole);
	show(bytes, bytes.n % 5 + 1, &parts);
	assert(whole.len == parts.len);
	assert(whole.len == 0 || memcmp(whole.p, parts.p, whole.len) == 0);
	assert(sbx_utf8_valid(sbx_buf_str(&whole), whole.len));
	for (size_t i = 0; i < whole.len; i++) {
		unsigned char c = (unsigned char)whole.p[i];

		assert((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t');
		assert(c != 0xc2 || (unsigned char)whole.p[i + 1] >= 0xa0);
	}
	sbx_buf_release(&whole);
	sbx_buf_release(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sbx_str bytes = {.p = (const char *)data, .n = size};

	round_trip(bytes);
	shown(bytes);
	return 0;
}
