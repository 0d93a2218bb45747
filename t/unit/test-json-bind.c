#include "lib/json/bind.h"

#include <stddef.h>
#include <stdlib.h>

#include "lib/base/buf.h"
#include "lib/base/limits.h"
#include "lib/base/strv.h"
#include "t/unit/tap.h"

struct thing {
	char *name;
	struct sbx_strv run, env;
	bool fast;
	uint64_t pids;
	struct sbx_json any;
	int doubled;
};

static int bind_doubled(struct sbx_json v, const char *where, void *field, struct sbx_err *err)
{
	uint64_t n;

	if (sbx_bind_expect(v, SBX_JSON_NUMBER, where, err) < 0 ||
	    sbx_json_u64(v, 100, where, &n, err) < 0)
		return -1;
	*(int *)field = 2 * (int)n;
	return 0;
}

static const struct sbx_bind rows[] = {
	{.key = "name",
	 .kind = SBX_BIND_STRING,
	 .offset = offsetof(struct thing, name),
	 .required = true},
	{.key = "run", .kind = SBX_BIND_STRV, .offset = offsetof(struct thing, run)},
	{.key = "env", .kind = SBX_BIND_ENV, .offset = offsetof(struct thing, env)},
	{.key = "fast", .kind = SBX_BIND_BOOL, .offset = offsetof(struct thing, fast)},
	{.key = "pids",
	 .kind = SBX_BIND_U64,
	 .offset = offsetof(struct thing, pids),
	 .nullable = true},
	{.key = "any", .kind = SBX_BIND_VALUE, .offset = offsetof(struct thing, any)},
	{.key = "doubled",
	 .kind = SBX_BIND_CUSTOM,
	 .offset = offsetof(struct thing, doubled),
	 .custom = bind_doubled},
};

static int bind(const char *text, struct thing *thing, struct sbx_json_doc **doc,
		struct sbx_err *err)
{
	if (sbx_json_parse(sbx_str_of(text), "python.json", doc, err) < 0)
		return -1;
	return sbx_bind_object(rows, SBX_ARRAY_SIZE(rows), sbx_json_root(*doc), "python.json",
			       thing, err);
}

static void release(struct thing *thing)
{
	free(thing->name);
	sbx_strv_release(&thing->run);
	sbx_strv_release(&thing->env);
}

TEST(all)
{
	static const char text[] =
		"{\"name\":\"py\\u0074hon\",\"run\":[\"a\",\"\"],\"env\":{\"A\":\"1\",\"B\":\"\"},"
		"\"fast\":true,\"pids\":18446744073709551615,\"any\":[7],\"doubled\":21}";
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	struct thing thing = {.name = NULL};

	if (ok_call(bind(text, &thing, &doc, err))) {
		ok_str(thing.name, "python");
		ok_int(thing.run.n, 2);
		ok_str(thing.run.v[0], "a");
		ok_str(thing.run.v[1], "");
		ok_int(thing.env.n, 2);
		ok_str(thing.env.v[0], "A=1");
		ok_str(thing.env.v[1], "B=");
		ok(thing.fast);
		ok(thing.pids == UINT64_MAX);
		ok_int(sbx_json_count(thing.any), 1);
		ok_int(thing.doubled, 42);
	}
	release(&thing);
}

TEST(what_is_there_is_replaced)
{
	static const char text[] = "{\"name\":\"new\",\"run\":[\"b\"],\"env\":{},\"pids\":null}";
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	struct thing thing = {.name = strdup("old"), .pids = 5};

	ok_call(sbx_strv_add(&thing.run, "a", err));
	ok_call(sbx_strv_add(&thing.env, "A=1", err));
	ok_call(bind(text, &thing, &doc, err));
	ok_str(thing.name, "new");
	ok_int(thing.run.n, 1);
	ok_str(thing.run.v[0], "b");
	ok_int(thing.env.n, 0);
	ok_int(thing.pids, 5);
	release(&thing);
}

TEST(refused)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"[]", "python.json: must be an object, not an array"},
		{"{}", "python.json: key 'name' is missing"},
		{"{\"name\":1}", "python.json: name: must be a string, not a number"},
		{"{\"name\":null}", "python.json: name: must be a string, not null"},
		{"{\"name\":\"a\\u0000b\"}", "python.json: name: must not contain a NUL"},
		{"{\"nmae\":\"x\"}",
		 "python.json: unknown key 'nmae' (the nearest known one is 'name')"},
		{"{\"pid\":1}", "unknown key 'pid' (the nearest known one is 'pids')"},
		{"{\"Name\":\"x\"}", "(the nearest known one is 'name')"},
		{"{\"\\n\":1}", "unknown key '\\x0a'"},
		{"{\"0123456789012345678901234567890123456789012345678901234567890123456789\":1}",
		 "unknown key "
		 "'0123456789012345678901234567890123456789012345678901234567890123456789'"},
		{"{\"run\":\"x\"}", "python.json: run: must be an array, not a string"},
		{"{\"run\":[\"a\",\"b\",3]}",
		 "python.json: run[2]: must be a string, not a number"},
		{"{\"run\":[\"\\u0000\"]}", "python.json: run[0]: must not contain a NUL"},
		{"{\"env\":[]}", "python.json: env: must be an object, not an array"},
		{"{\"env\":{\"A\":1}}", "python.json: env.A: must be a string, not a number"},
		{"{\"env\":{\"A=B\":\"1\"}}", "python.json: env: 'A=B' cannot name a variable"},
		{"{\"env\":{\"\":\"1\"}}", "env: '' cannot name a variable"},
		{"{\"env\":{\"A\":\"\\u0000\"}}", "env.A: must not contain a NUL"},
		{"{\"fast\":1}", "python.json: fast: must be true or false, not a number"},
		{"{\"pids\":-1}", "python.json: pids: must be a whole number"},
		{"{\"pids\":\"1\"}", "python.json: pids: must be a number, not a string"},
		{"{\"fast\":null}", "fast: must be true or false, not null"},
		{"{\"doubled\":true}", "python.json: doubled: must be a number, not true or false"},
		{"{\"doubled\":101}", "python.json: doubled: must be a whole number up to 100"},
		{"{\"name\":\"a\",\"name\":\"b\"}", "key 'name' is there twice"},
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++) {
		SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
		struct thing thing = {.name = NULL};

		if (!ok_fail(bind(bad[i].text, &thing, &doc, err), SBX_E_INVALID, bad[i].words))
			printf("#   of %s\n", bad[i].text);
		release(&thing);
	}
}

TEST(too_many_strings)
{
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	struct sbx_buf text = SBX_BUF_INIT(SBX_DOC_MAX);
	struct thing thing = {.name = NULL};

	ok_call(sbx_buf_adds(&text, "{\"run\":[\"x\"", err));
	for (size_t i = 0; i < SBX_STRV_MAX; i++) {
		if (!ok_call(sbx_buf_adds(&text, ",\"x\"", err)))
			break;
	}
	ok_call(sbx_buf_adds(&text, "]}", err));
	ok_fail(bind(text.p, &thing, &doc, err), SBX_E_LIMIT, "python.json: run: more than");
	release(&thing);
	sbx_buf_release(&text);
}

TAP_MAIN(RUN(all), RUN(what_is_there_is_replaced), RUN(refused), RUN(too_many_strings))
