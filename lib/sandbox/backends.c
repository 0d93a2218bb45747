#include "lib/sandbox/backends.h"

#include <stdlib.h>
#include <string.h>

#include "lib/backend/backend.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/def/lang.h"

enum { NAMES_MAX = 256 };

int sbx_backends_open(const char *name, struct sbx_backend **ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf names = SBX_BUF_INIT(NAMES_MAX);
	const struct sbx_backend_ops *ops = sbx_backend_find(name);

	if (ops)
		return ops->open(NULL, ret, err);
	for (size_t i = 0; sbx_backends[i]; i++) {
		if (sbx_buf_addf(&names, err, "%s'%s'", i > 0 ? ", " : "", sbx_backends[i]->name) <
		    0)
			return -1;
	}
	return sbx_fail(err, SBX_E_USAGE, "there is no backend '%s' in this llmsbx; there is %s",
			name, sbx_buf_str(&names));
}

void sbx_backends_close(struct sbx_backend *be)
{
	if (be)
		be->ops->close(be);
}

void sbx_backends_closep(struct sbx_backend **be)
{
	sbx_backends_close(*be);
	*be = NULL;
}

int sbx_backends_prepare(struct sbx_backend *be, struct sbx_err *err)
{
	return be->ops->prepare ? be->ops->prepare(be, err) : 0;
}

int sbx_backends_sweep(struct sbx_strv *removed, struct sbx_err *err)
{
	for (size_t i = 0; sbx_backends[i]; i++) {
		SBX_CLEANUP(sbx_backends_closep) struct sbx_backend *be = NULL;

		if (sbx_backends[i]->open(NULL, &be, err) < 0 ||
		    be->ops->sweep(be, removed, err) < 0)
			return sbx_wrap(err, "backend '%s'", sbx_backends[i]->name);
	}
	return 0;
}

/* Tries one variant: *ret_missing is the first need that is not there, NULL when all are. */
static int try_variant(struct sbx_backend *be, const struct sbx_lang *lang,
		       const struct sbx_lang_variant *variant, char **ret_program,
		       const struct sbx_lang_need **ret_missing, struct sbx_err *err)
{
	*ret_missing = NULL;
	for (size_t i = 0; be->ops->which && i < variant->n_needs && !*ret_missing; i++) {
		SBX_CLEANUP(sbx_freep) char *path = NULL;
		struct sbx_err why = SBX_ERR_INIT;

		if (be->ops->which(be, variant->needs[i].program, &lang->path, &path, &why) == 0) {
			if (i == 0)
				*ret_program = SBX_TAKE(path);
		} else if (why.code == SBX_E_NOT_FOUND) {
			*ret_missing = &variant->needs[i];
		} else {
			*err = why;
			return -1;
		}
	}
	return 0;
}

static bool is_fedora(void)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_DOC_MAX);
	struct sbx_err ignored = SBX_ERR_INIT;

	if (sbx_read_file("/etc/os-release", &text, &ignored) < 0)
		return false; /* then the Debian name is as good a hint as any */
	return strstr(sbx_buf_str(&text), "fedora") != NULL;
}

static void name_package(struct sbx_backends_lang *h)
{
	bool fedora = is_fedora();

	h->package = fedora ? h->missing->fedora : h->missing->debian;
	h->installer = fedora ? "dnf install" : "apt-get install";
}

int sbx_backends_lang(struct sbx_backend *be, const struct sbx_lang *lang,
		      struct sbx_backends_lang *ret, struct sbx_err *err)
{
	struct sbx_backends_lang first = {0};

	for (size_t i = 0; i < lang->n_variants; i++) {
		struct sbx_backends_lang h = {.variant = i};

		if (try_variant(be, lang, &lang->variants[i], &h.program, &h.missing, err) < 0) {
			free(h.program);
			free(first.program);
			return -1;
		}
		h.ready = !h.missing;
		if (h.ready) {
			free(first.program);
			*ret = h;
			return 0;
		}
		if (i == 0)
			first = h;
		else
			free(h.program);
	}
	if (first.missing)
		name_package(&first);
	*ret = first;
	return 0;
}

void sbx_backends_lang_release(struct sbx_backends_lang *h)
{
	free(h->program);
	*h = (struct sbx_backends_lang){0};
}
