#include "lib/sandbox/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/backend/backend.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"
#include "lib/def/expand.h"
#include "lib/def/lang.h"
#include "lib/def/source.h"
#include "lib/sandbox/backends.h"
#include "lib/sandbox/run.h"

static const char base_path[] = "/usr/local/bin:/usr/bin:/bin";

void sbx_plan_release(struct sbx_plan *plan)
{
	free(plan->file);
	sbx_source_names_release(&plan->names);
	sbx_buf_release(&plan->code);
	for (size_t i = 0; i < plan->n_compile; i++)
		sbx_strv_release(&plan->compile[i]);
	free(plan->compile);
	sbx_strv_release(&plan->run);
	sbx_strv_release(&plan->env);
	*plan = (struct sbx_plan){0};
}

/* ---- the code */

static int read_code(struct sbx_request *req, struct sbx_plan *plan, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int fd = -1;
	struct stat st;

	plan->code.max = SBX_CODE_MAX;
	plan->mode = 0644;
	if (req->has_code) {
		plan->code = req->code;
		req->code = (struct sbx_buf)SBX_BUF_INIT(SBX_CODE_MAX);
		return 0;
	}
	fd = open(req->code_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return sbx_fail(err, SBX_E_NOT_FOUND, "no such file: '%s'", req->code_path);
	if (fd < 0 || fstat(fd, &st) != 0)
		return sbx_fail_sys(err, errno, "cannot open '%s'", req->code_path);
	if (S_ISDIR(st.st_mode))
		return sbx_fail(err, SBX_E_USAGE, "'%s' is a folder, not a file of code",
				req->code_path);
	/* Signals wait while code is read: nothing may be read that does not come at once. */
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_USAGE, "'%s' is not a regular file", req->code_path);
	if (sbx_read_all(fd, req->code_path, &plan->code, err) != 0)
		return -1;
	plan->mode = st.st_mode & 0777 ? (st.st_mode & 0777) | 0600 : 0644;
	return 0;
}

static struct sbx_str code_text(const struct sbx_plan *plan)
{
	return (struct sbx_str){.p = sbx_buf_str(&plan->code), .n = plan->code.len};
}

static int warn(struct sbx_request *req, const char *code, const char *message, struct sbx_err *err)
{
	if (sbx_strv_add(&req->warnings, code, err) != 0)
		return -1;
	return sbx_strv_add(&req->warnings, message, err);
}

/* A first line that asks for what is no language here is believed, but for our own name: then the file is a script for us. */
static int check_interpreter(struct sbx_str code, struct sbx_err *err)
{
	struct sbx_str name = sbx_source_interpreter(code);

	if (name.n == 0 || sbx_str_eq(name, "llmsbx"))
		return 0;
	return sbx_fail(
		err, SBX_E_NOT_FOUND,
		"the code's first line asks for '%.*s', which is no language here: say --lang",
		name.n < 256 ? (int)name.n : 256, name.p);
}

/* The default is right for a text without a name; for a file whose suffix says something else it is a guess. */
static int take_default(struct sbx_langs *langs, struct sbx_request *req, struct sbx_plan *plan,
			struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *message = NULL;
	const char *slash = req->code_path ? strrchr(req->code_path, '/') : NULL;
	const char *name = slash ? slash + 1 : req->code_path;
	const char *dot = name ? strrchr(name, '.') : NULL;

	if (!req->lang_default)
		return sbx_fail(err, SBX_E_USAGE, "which language is it? say --lang");
	if (sbx_langs_find(langs, sbx_str_of(req->lang_default), &plan->lang, err) != 0)
		return -1;
	if (!dot || dot == name)
		return 0;
	message = sbx_xasprintf("no language has the suffix '%s': '%s' is taken as %s; say --lang",
				dot + 1, name, plan->lang->name);
	return warn(req, "language_assumed", message, err);
}

/* --lang, else the `#!` line, else the suffix, else the default that the configuration names. */
static int find_language(struct sbx_langs *langs, struct sbx_request *req, struct sbx_plan *plan,
			 struct sbx_err *err)
{
	if (req->lang)
		return sbx_langs_find(langs, sbx_str_of(req->lang), &plan->lang, err);
	if (sbx_langs_find_shebang(langs, code_text(plan), &plan->lang, err) != 0)
		return -1;
	if (!plan->lang && check_interpreter(code_text(plan), err) != 0)
		return -1;
	if (!plan->lang && req->code_path &&
	    sbx_langs_find_suffix(langs, req->code_path, &plan->lang, err) != 0)
		return -1;
	return plan->lang ? 0 : take_default(langs, req, plan, err);
}

/* A FILE keeps its basename; code from elsewhere gets the language's name for it, or the one that it asks for itself. */
static int name_file(const struct sbx_request *req, struct sbx_plan *plan, struct sbx_err *err)
{
	const char *slash = req->code_path ? strrchr(req->code_path, '/') : NULL;

	sbx_source_names(plan->lang, slash ? slash + 1 : req->code_path, code_text(plan),
			 &plan->names);
	return sbx_path_relative(sbx_str_of(plan->names.file), "the file's name", &plan->file, err);
}

static bool warns_of(const struct sbx_lang *lang, const char *what)
{
	return sbx_strv_contains(&lang->warn, what);
}

/* Source bytes are never changed; what is known to break an interpreter is said. */
static int warn_of_bytes(struct sbx_request *req, const struct sbx_plan *plan, struct sbx_err *err)
{
	struct sbx_str code = code_text(plan);

	if (warns_of(plan->lang, "bom") && sbx_str_has_prefix(code, "\xef\xbb\xbf") &&
	    warn(req, "bom", "the code begins with a byte order mark", err) != 0)
		return -1;
	if (warns_of(plan->lang, "cr") && memchr(code.p, '\r', code.n) &&
	    warn(req, "cr", "the code has carriage returns (Windows line ends)", err) != 0)
		return -1;
	return 0;
}

/* ---- the programs */

/* The first variant whose programs are all there. */
static int pick_variant(struct sbx_backend *be, const struct sbx_lang *lang, size_t *ret,
			struct sbx_err *err)
{
	SBX_CLEANUP(sbx_backends_lang_release) struct sbx_backends_lang found = {0};

	if (sbx_backends_lang(be, lang, &found, err) != 0)
		return -1;
	*ret = found.variant;
	if (found.ready)
		return 0;
	return sbx_fail(err, SBX_E_NOT_FOUND,
			"'%s' for language '%s' is not in %s%s%s of the sandbox: "
			"install the package '%s' (%s %s)",
			found.missing->program, lang->name, lang->path.n ? lang->path.v[0] : "",
			lang->path.n ? ":" : "", base_path, found.package, found.installer,
			found.package);
}

/* ---- commands and environment */

static int make_env(const struct sbx_request *req, const struct sbx_expand *ex, const char *tmp,
		    struct sbx_plan *plan, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv expanded = {0};
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf path = SBX_BUF_INIT(64 << 10);
	struct sbx_strv *env = &plan->env;

	for (size_t i = 0; i < plan->lang->path.n; i++)
		if (sbx_buf_addf(&path, err, "%s:", plan->lang->path.v[i]) != 0)
			return -1;
	if (sbx_buf_adds(&path, base_path, err) != 0 ||
	    sbx_strv_setenv(env, "PATH", sbx_buf_str(&path), err) != 0 ||
	    sbx_strv_setenv(env, "HOME", ex->workdir, err) != 0 ||
	    (tmp && sbx_strv_setenv(env, "TMPDIR", tmp, err) != 0) ||
	    sbx_strv_setenv(env, "USER", "sandbox", err) != 0 ||
	    sbx_strv_setenv(env, "LANG", "C.UTF-8", err) != 0 ||
	    sbx_strv_setenv(env, "TZ", "UTC", err) != 0 ||
	    sbx_expand_argv(ex, &plan->lang->env, false, &expanded, err) != 0)
		return -1;
	for (int layer = 0; layer < 2; layer++) {
		const struct sbx_strv *from = layer == 0 ? &expanded : &req->env;

		for (size_t i = 0; i < from->n; i++) {
			SBX_CLEANUP(sbx_freep) char *name = sbx_xstrdup(from->v[i]);
			char *equals = strchr(name, '=');

			if (!equals)
				continue;
			*equals = 0;
			if (sbx_strv_setenv(env, name, equals + 1, err) != 0)
				return -1;
		}
	}
	return 0;
}

int sbx_plan_commands(const struct sbx_request *req, const char *workdir, const char *tmp,
		      struct sbx_plan *plan, struct sbx_err *err)
{
	const struct sbx_lang_variant *variant = &plan->lang->variants[plan->variant];
	const struct sbx_limits *limits = &req->limits;
	struct sbx_expand ex = {.file = plan->file,
				.stem = plan->names.stem,
				.main = plan->names.main,
				.workdir = workdir,
				.build = tmp,
				.args = &req->args};

	if (limits->memory_bytes != SBX_UNLIMITED)
		ex.memory_mib = limits->memory_bytes >> 20;
	if (limits->cpu_milli != SBX_UNLIMITED)
		ex.cpus = (limits->cpu_milli + 999) / 1000;
	plan->compile = sbx_xcalloc(variant->n_compile + 1, sizeof *plan->compile);
	for (; plan->n_compile < variant->n_compile; plan->n_compile++)
		if (sbx_expand_argv(&ex, &variant->compile[plan->n_compile], false,
				    &plan->compile[plan->n_compile], err) != 0)
			return -1;
	if (sbx_expand_argv(&ex, &variant->run, true, &plan->run, err) != 0)
		return -1;
	return make_env(req, &ex, tmp, plan, err);
}

int sbx_plan_make(struct sbx_backend *be, struct sbx_langs *langs, struct sbx_request *req,
		  struct sbx_plan *ret, struct sbx_err *err)
{
	struct sbx_plan plan = {0};

	if (read_code(req, &plan, err) != 0 || find_language(langs, req, &plan, err) != 0 ||
	    name_file(req, &plan, err) != 0 || warn_of_bytes(req, &plan, err) != 0 ||
	    pick_variant(be, plan.lang, &plan.variant, err) != 0) {
		sbx_plan_release(&plan);
		return -1;
	}
	*ret = plan;
	return 0;
}
