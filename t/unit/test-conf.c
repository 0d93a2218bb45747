#include "lib/def/conf.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"
#include "t/unit/tap.h"

static const char template[] = "/tmp/test-conf.XXXXXX";
static char top[sizeof(template)];

static char *at(const char *relative)
{
	static char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", top, relative);
	return path;
}

static int remove_one(const char *path, const struct stat *st SBX_UNUSED, int type SBX_UNUSED,
		      struct FTW *ftw SBX_UNUSED)
{
	return remove(path);
}

static void begin(void)
{
	clearenv();
	memcpy(top, template, sizeof(template));
	if (!mkdtemp(top) || mkdir(at("share"), 0700) < 0)
		abort();
	setenv("LLMSBX_SHARE", at("share"), 1);
	setenv("XDG_CONFIG_HOME", top, 1);
}

static void end(void)
{
	(void)nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The user's config.json. */
static void put(const char *text, size_t n, struct sbx_err *err)
{
	ok_call(sbx_make_folders(at("llmsbx"), 0700, err));
	ok_call(sbx_replace_file(at("llmsbx/config.json"), text, n, 0600, err));
}

/* Whether the entry at i is that; where is looked for in the place. */
static void ok_entry(const struct sbx_conf *conf, size_t i, const char *name, const char *value,
		     const char *where)
{
	if (!ok(i < conf->n))
		return;
	ok_str(conf->v[i].name, name);
	ok_str(conf->v[i].value, value);
	if (!ok(strstr(conf->v[i].where, where)))
		printf("#   got %s, want ...%s...\n", conf->v[i].where, where);
}

TEST(nothing)
{
	struct sbx_conf conf = {.v = NULL};

	begin();
	ok_call(sbx_conf_load(&conf, err));
	ok_int(conf.n, 0);
	sbx_conf_release(&conf);
	end();
}

TEST(values)
{
	static const char text[] = "{\"timeout\": \"90s\", \"cpus\": 1.50, \"read_only\": false,"
				   " \"env\": [\"A=1\", \"B=\\u00e9\"], \"install\": []}";
	struct sbx_conf conf = {.v = NULL};

	begin();
	put(text, strlen(text), err);
	ok_call(sbx_conf_load(&conf, err));
	ok_int(conf.n, 5);
	ok_entry(&conf, 0, "timeout", "90s", "/llmsbx/config.json: timeout");
	ok_entry(&conf, 1, "cpus", "1.50", "/llmsbx/config.json: cpus");
	ok_entry(&conf, 2, "read_only", "false", "/llmsbx/config.json: read_only");
	ok_entry(&conf, 3, "env", "A=1", "/llmsbx/config.json: env[0]");
	ok_entry(&conf, 4, "env", "B=é", "/llmsbx/config.json: env[1]");
	sbx_conf_release(&conf);
	end();
}

TEST(order)
{
	static const char built_in[] = "{\"memory\": \"1m\", \"lang_default\": \"x\"}";
	struct sbx_conf conf = {.v = NULL};

	begin();
	ok_call(sbx_replace_file(at("share/config.json"), built_in, strlen(built_in), 0600, err));
	put("{\"memory\": \"2m\"}", 16, err);
	setenv("LLMSBX_MEMORY", "3m", 1);
	setenv("LLMSBX_CPUS", "2", 1);
	setenv("LLMSBX_MAX_OUTPUT", "4k", 1);
	ok_call(sbx_conf_load(&conf, err));
	ok_int(conf.n, 6);
	ok_entry(&conf, 0, "memory", "1m", "/share/config.json: memory");
	ok_entry(&conf, 1, "lang_default", "x", "/share/config.json: lang_default");
	ok_entry(&conf, 2, "memory", "2m", "/llmsbx/config.json: memory");
	ok_entry(&conf, 3, "cpus", "2", "LLMSBX_CPUS");
	ok_entry(&conf, 4, "max_output", "4k", "LLMSBX_MAX_OUTPUT");
	ok_entry(&conf, 5, "memory", "3m", "LLMSBX_MEMORY");
	sbx_conf_release(&conf);
	end();
}

TEST(variables_that_are_no_options)
{
	struct sbx_conf conf = {.v = NULL};

	begin();
	setenv("LLMSBX_LOG", "debug", 1);
	setenv("LLMSBX_TIMEOUT", "", 1);
	setenv("LLMSBX", "x", 1);
	setenv("XLLMSBX_CPUS", "x", 1);
	ok_call(sbx_conf_load(&conf, err));
	ok_int(conf.n, 0);
	setenv("LLMSBX_NO_SUCH_THING", "a=b", 1); /* the caller's to refuse */
	ok_call(sbx_conf_load(&conf, err));
	ok_int(conf.n, 1);
	ok_entry(&conf, 0, "no_such_thing", "a=b", "LLMSBX_NO_SUCH_THING");
	sbx_conf_release(&conf);
	end();
}

TEST(an_empty_file_says_nothing)
{
	struct sbx_conf conf = {.v = NULL};

	begin();
	put("", 0, err);
	ok_call(sbx_conf_load(&conf, err));
	ok_int(conf.n, 0);
	sbx_conf_release(&conf);
	end();
}

TEST(bad_files)
{
	static const char *const cases[][2] = {
		{"[]", "config.json: must be an object, not an array"},
		{"{\"timeout\": null}", "config.json: timeout: must be a string, a number"},
		{"{\"env\": {\"A\": \"1\"}}", "config.json: env: must be a string, a number"},
		{"{\"env\": [1]}", "config.json: env[0]: must be a string, not a number"},
		{"{\"timeout\": 1,}", "config.json"},
		{"{\"a\": 1, \"a\": 2}", "config.json"},
		{"{\"lang\": \"a\\u0000b\"}", "config.json: lang: must not contain a NUL"},
		{"{\"a\\u0000b\": 1}", "contains a NUL"},
	};
	struct sbx_conf conf = {.v = NULL};

	begin();
	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		put(cases[i][0], strlen(cases[i][0]), err);
		ok_fail(sbx_conf_load(&conf, err), SBX_E_INVALID, cases[i][1]);
		ok(conf.v == NULL);
	}
	(void)unlink(at("llmsbx/config.json"));
	(void)mkdir(at("llmsbx/config.json"), 0700);
	ok(sbx_conf_load(&conf, err) < 0 && strstr(err->msg, "config.json"));
	sbx_err_clear(err);
	end();
}

TEST(one_file)
{
	struct sbx_conf conf = {.v = NULL};

	begin();
	ok_fail(sbx_conf_load_file(at("llmsbx/config.json"), &conf, err), SBX_E_NOT_FOUND,
		"config.json");
	put("{\"pids\": 12}", 12, err);
	setenv("LLMSBX_PIDS", "1", 1);
	ok_call(sbx_conf_load_file(at("llmsbx/config.json"), &conf, err));
	ok_int(conf.n, 1);
	ok_entry(&conf, 0, "pids", "12", "config.json: pids");
	sbx_conf_release(&conf);
	end();
}

TAP_MAIN(RUN(nothing), RUN(values), RUN(order), RUN(variables_that_are_no_options),
	 RUN(an_empty_file_says_nothing), RUN(bad_files), RUN(one_file))
