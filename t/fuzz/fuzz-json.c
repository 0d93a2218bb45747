/*
 * Whatever is taken for JSON is walked, written again from its parts, and parses to the same parts: two writings are equal byte
 * for byte.  What is refused leaves an error, and nothing else.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/strv.h"
#include "lib/json/bind.h"
#include "lib/json/doc.h"
#include "lib/json/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct thing {
	char *name;
	struct sbx_strv list, env;
	bool yes;
	uint64_t number;
	struct sbx_json any;
};

static const struct sbx_bind rows[] = {
	{.key = "s", .kind = SBX_BIND_STRING, .offset = offsetof(struct thing, name)},
	{.key = "l", .kind = SBX_BIND_STRV, .offset = offsetof(struct thing, list)},
	{.key = "e", .kind = SBX_BIND_ENV, .offset = offsetof(struct thing, env)},
	{.key = "b", .kind = SBX_BIND_BOOL, .offset = offsetof(struct thing, yes)},
	{.key = "n", .kind = SBX_BIND_U64, .offset = offsetof(struct thing, number)},
	{.key = "v",
	 .kind = SBX_BIND_VALUE,
	 .offset = offsetof(struct thing, any),
	 .nullable = true},
};

static void bind(struct sbx_json root)
{
	struct thing thing = {.name = NULL};
	struct sbx_err err = SBX_ERR_INIT;
	int rc = sbx_bind_object(rows, SBX_ARRAY_SIZE(rows), root, "x", &thing, &err);

	assert((rc < 0) == (err.code != SBX_E_OK));
	free(thing.name);
	sbx_strv_release(&thing.list);
	sbx_strv_release(&thing.env);
}

static void write_value(struct sbx_jw *jw, struct sbx_json v);

static void write_members(struct sbx_jw *jw, struct sbx_json v)
{
	struct sbx_json_iter it = sbx_json_iter(v);
	struct sbx_json key, value;
	int n = 0;

	for (; sbx_json_next(&it, &key, &value); n++) {
		if (key.token >= 0) {
			char *name = sbx_str_dup(sbx_json_string(key));

			sbx_jw_key(jw, name); /* up to its first NUL, if it has one */
			free(name);
		}
		write_value(jw, value);
	}
	assert(n == sbx_json_count(v));
	sbx_jw_end(jw);
}

static void write_value(struct sbx_jw *jw, struct sbx_json v)
{
	enum sbx_json_type type = sbx_json_type(v);

	if (jw->depth == SBX_JW_DEPTH) {
		sbx_jw_null(jw); /* the reader goes deeper than the writer */
		return;
	}
	if (type == SBX_JSON_OBJECT) {
		sbx_jw_object(jw);
		write_members(jw, v);
	} else if (type == SBX_JSON_ARRAY) {
		sbx_jw_array(jw);
		write_members(jw, v);
	} else if (type == SBX_JSON_STRING) {
		sbx_jw_str(jw, sbx_json_string(v));
	} else if (type == SBX_JSON_BOOL) {
		sbx_jw_bool(jw, sbx_json_bool(v));
	} else {
		sbx_jw_raw(jw, sbx_json_raw(v));
	}
}

/* The text's value, written in out; false where it is none. */
static bool again(struct sbx_str text, struct sbx_buf *out)
{
	struct sbx_json_doc *doc = NULL;
	struct sbx_err err = SBX_ERR_INIT;
	struct sbx_jw jw;

	if (sbx_json_parse(text, "x", &doc, &err) < 0) {
		assert(!doc && err.code != SBX_E_OK && err.msg[0] != '\0');
		return false;
	}
	assert(err.code == SBX_E_OK);
	bind(sbx_json_root(doc));
	sbx_jw_init(&jw, out);
	write_value(&jw, sbx_json_root(doc));
	if (sbx_jw_done(&jw, &err) < 0)
		abort();
	sbx_json_free(doc);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sbx_buf once = SBX_BUF_INIT(64 << 20), twice = SBX_BUF_INIT(64 << 20);

	/* Keys that differ only behind a NUL are written alike, and refused then. */
	if (again((struct sbx_str){(const char *)data, size}, &once) &&
	    again((struct sbx_str){once.p, once.len}, &twice))
		assert(once.len == twice.len && memcmp(once.p, twice.p, once.len) == 0);
	sbx_buf_release(&once);
	sbx_buf_release(&twice);
	return 0;
}
