/* A box for a request, made now or ahead of it. */
#pragma once

#include <stdbool.h>

#include "lib/base/attr.h"
#include "lib/sandbox/run.h"

struct sbx_backend;
struct sbx_box;
struct sbx_wake;
struct sbx_err;

/* Creates one, fresh, under a name that no other box ever had; what wakes it (or NULL) can end that. */
int sbx_box_make(struct sbx_backend *be, const struct sbx_request *req, const struct sbx_lang *lang,
		 const struct sbx_wake *wake, struct sbx_box **ret,
		 struct sbx_err *err) SBX_MUST_USE;

/* For --dry-run: what would be asked of the backend, as members of the open object. */
int sbx_box_plan(struct sbx_backend *be, const struct sbx_request *req, const struct sbx_lang *lang,
		 struct sbx_jw *jw, struct sbx_err *err) SBX_MUST_USE;

/* A box that was made before its request was known, never used by anybody. */
struct sbx_ready {
	struct sbx_box *box;         /* owned; NULL: there is none */
	struct sbx_request shape;    /* owned: what it was made for */
	const struct sbx_lang *lang; /* borrowed */
};

int sbx_ready_make(struct sbx_ready *ready, struct sbx_backend *be, const struct sbx_request *shape,
		   const struct sbx_lang *lang, const struct sbx_wake *wake,
		   struct sbx_err *err) SBX_MUST_USE;
/* The box, owned by the caller, when it is just what the request asks for; else NULL. */
struct sbx_box *sbx_ready_take(struct sbx_ready *ready, const struct sbx_request *req,
			       const struct sbx_lang *lang);
void sbx_ready_release(struct sbx_ready *ready, struct sbx_backend *be);
