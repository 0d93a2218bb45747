#include "lib/sandbox/job.h"

#include <string.h>

#include "lib/base/base64.h"
#include "lib/base/err.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"
#include "lib/json/bind.h"
#include "lib/json/doc.h"

enum { ID_MAX = 256 };

/* ---- values */

static int want(struct sbx_json v, enum sbx_json_type type, const char *where, const char *key,
		struct sbx_err *err)
{
	if (sbx_json_type(v) == type)
		return 0;
	return sbx_fail(err, SBX_E_USAGE, "%s: %s: must be %s, not %s", where, key,
			sbx_json_type_name(type), sbx_json_type_name(sbx_json_type(v)));
}

/* A string without NUL, as C wants it; owned. */
static int text_of(struct sbx_json v, const char *where, const char *key, char **ret,
		   struct sbx_err *err)
{
	struct sbx_str s;

	if (want(v, SBX_JSON_STRING, where, key, err) != 0)
		return -1;
	s = sbx_json_string(v);
	if (memchr(s.p, 0, s.n))
		return sbx_fail(err, SBX_E_USAGE, "%s: %s: holds a NUL byte", where, key);
	*ret = sbx_str_dup(s);
	return 0;
}

static int bytes_of(struct sbx_json v, bool base64, const char *where, const char *key,
		    struct sbx_buf *ret, struct sbx_err *err)
{
	struct sbx_str s;

	if (want(v, SBX_JSON_STRING, where, key, err) != 0)
		return -1;
	s = sbx_json_string(v);
	sbx_buf_reset(ret);
	if (!base64)
		return sbx_buf_add(ret, s.p, s.n, err);
	if (sbx_base64_decode(ret, s, err) != 0)
		return sbx_wrap(err, "%s: %s", where, key);
	return 0;
}

/* ---- keys */

static int key_code(struct sbx_request *req, struct sbx_json v, const char *where,
		    struct sbx_err *err)
{
	req->has_code = true;
	return bytes_of(v, false, where, "code", &req->code, err);
}

static int key_file(struct sbx_request *req, struct sbx_json v, const char *where,
		    struct sbx_err *err)
{
	free(SBX_TAKE(req->code_path));
	return text_of(v, where, "file", &req->code_path, err);
}

static int key_args(struct sbx_request *req, struct sbx_json v, const char *where,
		    struct sbx_err *err)
{
	struct sbx_json_iter it;
	struct sbx_json key, item;

	if (want(v, SBX_JSON_ARRAY, where, "args", err) != 0)
		return -1;
	it = sbx_json_iter(v);
	while (sbx_json_next(&it, &key, &item)) {
		SBX_CLEANUP(sbx_freep) char *text = NULL;

		if (text_of(item, where, "args", &text, err) != 0 ||
		    sbx_strv_add(&req->args, text, err) != 0)
			return -1;
	}
	return 0;
}

static int key_stdin(struct sbx_request *req, struct sbx_json v, const char *where,
		     struct sbx_err *err)
{
	req->stdin_kind = SBX_STDIN_BYTES;
	return bytes_of(v, false, where, "stdin", &req->stdin_bytes, err);
}

static int key_stdin_base64(struct sbx_request *req, struct sbx_json v, const char *where,
			    struct sbx_err *err)
{
	req->stdin_kind = SBX_STDIN_BYTES;
	return bytes_of(v, true, where, "stdin_base64", &req->stdin_bytes, err);
}

static int key_env(struct sbx_request *req, struct sbx_json v, const char *where,
		   struct sbx_err *err)
{
	struct sbx_json_iter it;
	struct sbx_json name, value;

	if (want(v, SBX_JSON_OBJECT, where, "env", err) != 0)
		return -1;
	it = sbx_json_iter(v);
	while (sbx_json_next(&it, &name, &value)) {
		SBX_CLEANUP(sbx_freep) char *n = NULL;
		SBX_CLEANUP(sbx_freep) char *text = NULL;

		if (text_of(name, where, "env", &n, err) != 0 ||
		    text_of(value, where, "env", &text, err) != 0)
			return -1;
		if (*n == 0 || strchr(n, '='))
			return sbx_fail(err, SBX_E_USAGE, "%s: env: '%s' cannot be a name", where,
					n);
		if (sbx_strv_setenv(&req->env, n, text, err) != 0)
			return -1;
	}
	return 0;
}

static int read_mode(struct sbx_json v, const char *where, unsigned int *ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *text = NULL;
	unsigned int mode = 0;
	const char *p;

	/* Octal as people write it: JSON numbers have no base. */
	if (text_of(v, where, "files: mode", &text, err) != 0)
		return -1;
	for (p = text; *p >= '0' && *p <= '7' && mode <= 0777; p++)
		mode = mode * 8 + (unsigned int)(*p - '0');
	if (p == text || *p || mode > 0777)
		return sbx_fail(err, SBX_E_USAGE,
				"%s: files: mode: must be octal digits up to 777, like \"755\"",
				where);
	*ret = mode;
	return 0;
}

static int read_file(struct sbx_json v, const char *where, struct sbx_file_in *file,
		     struct sbx_err *err)
{
	struct row {
		struct sbx_json path, data, base64, mode;
	} row = {0};
	static const struct sbx_bind rows[] = {
		{.key = "path",
		 .kind = SBX_BIND_VALUE,
		 .offset = offsetof(struct row, path),
		 .required = true},
		{.key = "data", .kind = SBX_BIND_VALUE, .offset = offsetof(struct row, data)},
		{.key = "base64", .kind = SBX_BIND_VALUE, .offset = offsetof(struct row, base64)},
		{.key = "mode", .kind = SBX_BIND_VALUE, .offset = offsetof(struct row, mode)},
	};
	SBX_CLEANUP(sbx_freep) char *text = NULL;

	if (sbx_bind_object(rows, SBX_ARRAY_SIZE(rows), v, where, &row, err) != 0)
		return -1;
	if (!row.data.doc == !row.base64.doc)
		return sbx_fail(err, SBX_E_USAGE, "%s: files: give either data or base64", where);
	if (text_of(row.path, where, "files: path", &text, err) != 0 ||
	    sbx_path_relative(sbx_str_of(text), "files: path", &file->dest, err) != 0 ||
	    bytes_of(row.data.doc ? row.data : row.base64, !row.data.doc, where, "files",
		     &file->data, err) != 0)
		return -1;
	return row.mode.doc ? read_mode(row.mode, where, &file->mode, err) : 0;
}

static int key_files(struct sbx_request *req, struct sbx_json v, const char *where,
		     struct sbx_err *err)
{
	struct sbx_json_iter it;
	struct sbx_json key, item;

	if (want(v, SBX_JSON_ARRAY, where, "files", err) != 0)
		return -1;
	it = sbx_json_iter(v);
	while (sbx_json_next(&it, &key, &item)) {
		struct sbx_file_in *file = sbx_request_new_file(req, err);

		if (!file || read_file(item, where, file, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- the other keys are options of a run */

static int set_option(struct sbx_request *req, const char *key, struct sbx_json v,
		      const char *where, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *place = sbx_xasprintf("%s: %s", where, key);
	enum sbx_json_type type = sbx_json_type(v);

	if (type == SBX_JSON_STRING)
		return sbx_request_set(req, key, sbx_json_string(v), place, err);
	if (type == SBX_JSON_NUMBER || type == SBX_JSON_BOOL)
		return sbx_request_set(req, key, sbx_json_raw(v), place, err);
	return sbx_fail(err, SBX_E_USAGE, "%s: must be a string, a number, true or false, not %s",
			place, sbx_json_type_name(type));
}

/* What a job may not choose: they are of the whole command, or read files of the host by a name from the job. */
static bool may_set(const char *key)
{
	static const char *const fixed[] = {"backend", "lang_default", "env_file", "mount"};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(fixed); i++)
		if (sbx_option_same(key, fixed[i]))
			return false;
	return true;
}

static int set_key(struct sbx_request *req, struct sbx_json key, struct sbx_json v,
		   const char *where, struct sbx_err *err)
{
	static const struct {
		const char *key;
		int (*set)(struct sbx_request *req, struct sbx_json v, const char *where,
			   struct sbx_err *err);
	} keys[] = {
		{"code", key_code},   {"file", key_file}, {"args", key_args},
		{"stdin", key_stdin}, {"env", key_env},   {"stdin_base64", key_stdin_base64},
		{"files", key_files},
	};
	SBX_CLEANUP(sbx_freep) char *name = NULL;
	struct sbx_json_iter it;
	struct sbx_json index, item;

	if (text_of(key, where, "a key", &name, err) != 0)
		return -1;
	if (strcmp(name, "id") == 0)
		return 0;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(keys); i++)
		if (strcmp(name, keys[i].key) == 0)
			return keys[i].set(req, v, where, err);
	if (!may_set(name))
		return sbx_fail(err, SBX_E_USAGE, "%s: a job cannot set '%s'", where, name);
	if (sbx_json_type(v) != SBX_JSON_ARRAY)
		return set_option(req, name, v, where, err);
	it = sbx_json_iter(v);
	while (sbx_json_next(&it, &index, &item))
		if (set_option(req, name, item, where, err) != 0)
			return -1;
	return 0;
}

/* An option that no run has is a key that no job has. */
static int unknown_key(struct sbx_err *err)
{
	if (err->code == SBX_E_NOT_FOUND)
		err->code = SBX_E_USAGE;
	return -1;
}

/* A number is taken as it stands: many data sets count their rows. */
static char *id_of(struct sbx_json root)
{
	struct sbx_json id;
	struct sbx_str s;

	if (sbx_json_type(root) != SBX_JSON_OBJECT || !sbx_json_get(root, "id", &id))
		return NULL;
	if (sbx_json_type(id) != SBX_JSON_STRING && sbx_json_type(id) != SBX_JSON_NUMBER)
		return NULL;
	s = sbx_json_type(id) == SBX_JSON_STRING ? sbx_json_string(id) : sbx_json_raw(id);
	if (s.n == 0 || s.n > ID_MAX || memchr(s.p, 0, s.n))
		return NULL;
	return sbx_str_dup(s);
}

/* What is wrong with JSON is said with its line, which is 1 in a job: where tells the one that counts. */
static int in_one_line(const char *where, struct sbx_err *err)
{
	static const char line[] = ": line 1, ";
	char *at = err->msg + strlen(where);

	if (strncmp(err->msg, where, strlen(where)) == 0 && strncmp(at, line, strlen(line)) == 0) {
		at[0] = ',';
		memmove(at + 2, at + strlen(line), strlen(at + strlen(line)) + 1);
	}
	return -1;
}

int sbx_job_read(struct sbx_str line, const char *where, struct sbx_request *req,
		 struct sbx_err *err)
{
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	struct sbx_json root, key, value;
	struct sbx_json_iter it;

	if (sbx_json_parse(line, where, &doc, err) != 0)
		return in_one_line(where, err);
	root = sbx_json_root(doc);
	if (sbx_json_type(root) != SBX_JSON_OBJECT)
		return sbx_fail(err, SBX_E_USAGE, "%s: a job is an object, not %s", where,
				sbx_json_type_name(sbx_json_type(root)));
	req->id = id_of(root);
	if (!req->id && sbx_json_get(root, "id", &value))
		return sbx_fail(err, SBX_E_USAGE,
				"%s: id: must be a number or a string of 1 to %d bytes", where,
				ID_MAX);
	it = sbx_json_iter(root);
	while (sbx_json_next(&it, &key, &value))
		if (set_key(req, key, value, where, err) != 0)
			return unknown_key(err);
	if (req->has_code == (req->code_path != NULL))
		return sbx_fail(err, SBX_E_USAGE, "%s: give either code or file", where);
	return 0;
}
