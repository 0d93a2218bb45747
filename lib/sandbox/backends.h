/* What commands ask of the backends; cmd/ does not know lib/backend/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/attr.h"

struct sbx_backend;
struct sbx_err;
struct sbx_lang;
struct sbx_lang_need;
struct sbx_strv;

/* Opens the backend of that name; SBX_E_USAGE lists those that are built in. */
int sbx_backends_open(const char *name, struct sbx_backend **ret, struct sbx_err *err) SBX_MUST_USE;
void sbx_backends_close(struct sbx_backend *be); /* NULL is fine */
void sbx_backends_closep(struct sbx_backend **be);

/* For a process whose children will open the backend, each for itself: what they share. */
int sbx_backends_prepare(struct sbx_backend *be, struct sbx_err *err) SBX_MUST_USE;

/*
 * Removes what dead llmsbx processes left with every backend; adds a line a thing removed to
 * removed.
 */
int sbx_backends_sweep(struct sbx_strv *removed, struct sbx_err *err) SBX_MUST_USE;

/* How a language stands on a backend. */
struct sbx_backends_lang {
	bool ready;
	size_t variant;                      /* the one that a run takes; 0 when none is ready */
	char *program;                       /* owned; where its first need is; NULL: nowhere */
	const struct sbx_lang_need *missing; /* borrowed from the language; NULL when ready */
	const char *package, *installer;     /* what brings it on this machine, and how; borrowed */
};
int sbx_backends_lang(struct sbx_backend *be, const struct sbx_lang *lang,
		      struct sbx_backends_lang *ret, struct sbx_err *err) SBX_MUST_USE;
void sbx_backends_lang_release(struct sbx_backends_lang *h);
