#include "lib/def/conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/base/strv.h"
#include "lib/def/search.h"
#include "lib/json/bind.h"
#include "lib/json/doc.h"

enum { ENTRIES_MAX = 4096 };

static const char prefix[] = "LLMSBX_";

/* Variables of ours that are no options. */
static const char *const not_options[] = {"LLMSBX_LOG", "LLMSBX_SHARE"};

void sbx_conf_release(struct sbx_conf *conf)
{
	for (size_t i = 0; i < conf->n; i++) {
		free(conf->v[i].name);
		free(conf->v[i].value);
		free(conf->v[i].where);
	}
	free(conf->v);
	*conf = (struct sbx_conf){.v = NULL};
}

static int add(struct sbx_conf *conf, struct sbx_str name, struct sbx_str value, const char *where,
	       struct sbx_err *err)
{
	if (memchr(value.p, '\0', value.n))
		return sbx_fail(err, SBX_E_INVALID, "%s: must not contain a NUL", where);
	if (sbx_array_grow(&conf->v, &conf->cap, conf->n + 1, ENTRIES_MAX, sizeof(*conf->v), err) <
	    0)
		return sbx_wrap(err, "%s", where);
	conf->v[conf->n++] = (struct sbx_conf_entry){
		.name = sbx_str_dup(name),
		.value = sbx_str_dup(value),
		.where = sbx_xstrdup(where),
	};
	return 0;
}

static int add_list(struct sbx_conf *conf, struct sbx_str name, struct sbx_json list,
		    const char *where, struct sbx_err *err)
{
	struct sbx_json_iter it = sbx_json_iter(list);
	struct sbx_json key, element;

	for (int i = 0; sbx_json_next(&it, &key, &element); i++) {
		SBX_CLEANUP(sbx_freep) char *place = sbx_xasprintf("%s[%d]", where, i);

		if (sbx_bind_expect(element, SBX_JSON_STRING, place, err) < 0 ||
		    add(conf, name, sbx_json_string(element), place, err) < 0)
			return -1;
	}
	return 0;
}

static int add_value(struct sbx_conf *conf, struct sbx_str name, struct sbx_json value,
		     const char *where, struct sbx_err *err)
{
	switch (sbx_json_type(value)) {
	case SBX_JSON_STRING:
		return add(conf, name, sbx_json_string(value), where, err);
	case SBX_JSON_NUMBER:
	case SBX_JSON_BOOL:
		return add(conf, name, sbx_json_raw(value), where, err);
	case SBX_JSON_ARRAY:
		return add_list(conf, name, value, where, err);
	case SBX_JSON_NULL:
	case SBX_JSON_OBJECT:
		break;
	}
	return sbx_fail(err, SBX_E_INVALID,
			"%s: must be a string, a number, a boolean or an array of strings, not %s",
			where, sbx_json_type_name(sbx_json_type(value)));
}

static int add_object(struct sbx_conf *conf, struct sbx_json root, const char *path,
		      struct sbx_err *err)
{
	struct sbx_json_iter it;
	struct sbx_json key, value;

	if (sbx_bind_expect(root, SBX_JSON_OBJECT, path, err) < 0)
		return -1;
	it = sbx_json_iter(root);
	while (sbx_json_next(&it, &key, &value)) {
		struct sbx_str name = sbx_json_string(key);
		SBX_CLEANUP(sbx_freep)
		char *where =
			sbx_xasprintf("%s: %.*s", path, (int)(name.n < 64 ? name.n : 64), name.p);

		if (memchr(name.p, '\0', name.n))
			return sbx_fail(err, SBX_E_INVALID, "%s: a key contains a NUL", path);
		if (add_value(conf, name, value, where, err) < 0)
			return -1;
	}
	return 0;
}

/* An empty file says nothing, as a masked one of another kind. */
static int add_file(struct sbx_conf *conf, const char *path, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_DOC_MAX);
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	struct sbx_str bytes;

	if (sbx_read_file(path, &text, err) < 0)
		return -1;
	if (text.len == 0)
		return 0;
	bytes = (struct sbx_str){.p = text.p, .n = text.len};
	if (sbx_json_parse(bytes, path, &doc, err) < 0)
		return -1;
	return add_object(conf, sbx_json_root(doc), path, err);
}

/* In one of the places where there may be one. */
static int add_folder(struct sbx_conf *conf, const char *folder, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *path = sbx_xasprintf("%s/config.json", folder);
	struct stat st;

	/* A home that is not ours to look into (as after sudo -u) holds no settings of ours. */
	if (stat(path, &st) < 0 && errno == EACCES)
		return 0;
	if (add_file(conf, path, err) == 0)
		return 0;
	if (err->code != SBX_E_NOT_FOUND)
		return -1;
	sbx_err_clear(err);
	return 0;
}

static bool is_option(struct sbx_str name)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(not_options); i++) {
		if (sbx_str_eq(name, not_options[i]))
			return false;
	}
	return true;
}

static int add_variable(struct sbx_conf *conf, const char *variable, struct sbx_err *err)
{
	const char *equals = strchr(variable, '=');
	SBX_CLEANUP(sbx_freep) char *where = NULL, *name = NULL;

	if (!equals || equals[1] == '\0')
		return 0;
	where = sbx_str_dup((struct sbx_str){.p = variable, .n = (size_t)(equals - variable)});
	if (!is_option(sbx_str_of(where)))
		return 0;
	name = sbx_xstrdup(where + sizeof(prefix) - 1);
	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return add(conf, sbx_str_of(name), sbx_str_of(equals + 1), where, err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of their names, so that messages do not depend on chance. */
static int add_environment(struct sbx_conf *conf, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv ours = {.v = NULL};

	for (char **p = environ; p && *p; p++) {
		if (sbx_str_has_prefix(sbx_str_of(*p), prefix) && sbx_strv_add(&ours, *p, err) < 0)
			return sbx_wrap(err, "environment");
	}
	if (ours.n)
		qsort(ours.v, ours.n, sizeof(*ours.v), by_name);
	for (size_t i = 0; i < ours.n; i++) {
		if (add_variable(conf, ours.v[i], err) < 0)
			return -1;
	}
	return 0;
}

int sbx_conf_load(struct sbx_conf *ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_conf_release) struct sbx_conf conf = {.v = NULL};
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv folders = {.v = NULL};
	SBX_CLEANUP(sbx_freep) char *share = NULL;

	if (sbx_search_config(&folders, err) < 0)
		return -1;
	if (sbx_search_share(&share, err) < 0 || add_folder(&conf, share, err) < 0)
		return -1;
	for (size_t i = 0; i < folders.n; i++) {
		if (add_folder(&conf, folders.v[i], err) < 0)
			return -1;
	}
	if (add_environment(&conf, err) < 0)
		return -1;
	*ret = conf;
	conf = (struct sbx_conf){.v = NULL};
	return 0;
}

int sbx_conf_load_file(const char *path, struct sbx_conf *ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_conf_release) struct sbx_conf conf = {.v = NULL};

	if (add_file(&conf, path, err) < 0)
		return -1;
	*ret = conf;
	conf = (struct sbx_conf){.v = NULL};
	return 0;
}
