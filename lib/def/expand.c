#include "lib/def/expand.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/str.h"

enum {
	ELEMENT_MAX = 128 << 10, /* the kernel takes no longer argument (MAX_ARG_STRLEN) */
	HEAP_PERCENT = 70, /* the rest is for code, stacks, buffers and the scratch file systems */
};

enum place {
	PLACE_ARGS,
	PLACE_BUILD,
	PLACE_CPUS,
	PLACE_FILE,
	PLACE_HEAP_MIB,
	PLACE_MAIN,
	PLACE_MEMORY_MIB,
	PLACE_STEM,
	PLACE_WORKDIR,
	PLACE_COUNT_
};

static const char *const names[] = {
	[PLACE_ARGS] = "args",
	[PLACE_BUILD] = "build",
	[PLACE_CPUS] = "cpus",
	[PLACE_FILE] = "file",
	[PLACE_HEAP_MIB] = "heap_mib",
	[PLACE_MAIN] = "main",
	[PLACE_MEMORY_MIB] = "memory_mib",
	[PLACE_STEM] = "stem",
	[PLACE_WORKDIR] = "workdir",
};

static const char args_element[] = "{args}";

enum piece_kind { PIECE_END, PIECE_TEXT, PIECE_PLACE, PIECE_WRONG };

struct piece {
	enum piece_kind kind;
	struct sbx_str text; /* of TEXT; of WRONG: what is wrong */
	enum place place;
};

static struct piece piece_of(enum piece_kind kind, const char *p, size_t n)
{
	return (struct piece){.kind = kind, .text = {.p = p, .n = n}};
}

static struct piece placeholder(const char **rest)
{
	const char *name = *rest + 1, *end = strchr(name, '}');

	if (!end)
		return piece_of(PIECE_WRONG, *rest, strlen(*rest));
	*rest = end + 1;
	for (int i = 0; i < PLACE_COUNT_; i++) {
		struct sbx_str s = {.p = name, .n = (size_t)(end - name)};

		if (sbx_str_eq(s, names[i]))
			return (struct piece){.kind = PIECE_PLACE, .place = (enum place)i};
	}
	return piece_of(PIECE_WRONG, name - 1, (size_t)(end - name) + 2);
}

/* Takes the next piece from *rest. */
static struct piece next_piece(const char **rest)
{
	const char *p = *rest;
	size_t n = strcspn(p, "{}");

	if (n > 0) {
		*rest += n;
		return piece_of(PIECE_TEXT, p, n);
	}
	if (p[0] == '\0')
		return piece_of(PIECE_END, p, 0);
	if (p[0] == p[1]) {
		*rest += 2;
		return piece_of(PIECE_TEXT, p, 1);
	}
	return p[0] == '{' ? placeholder(rest) : piece_of(PIECE_WRONG, p, 1);
}

const char *sbx_expand_wrong(const char *text, char bad[64])
{
	const char *rest = text;

	if (strcmp(text, args_element) == 0)
		return NULL;
	for (;;) {
		struct piece piece = next_piece(&rest);

		if (piece.kind == PIECE_END)
			return NULL;
		if (piece.kind == PIECE_WRONG) {
			snprintf(bad, 64, "%.*s", (int)(piece.text.n < 63 ? piece.text.n : 63),
				 piece.text.p);
			return bad;
		}
		if (piece.kind == PIECE_PLACE && piece.place == PLACE_ARGS) {
			snprintf(bad, 64, "%s", args_element); /* many, so not within an element */
			return bad;
		}
	}
}

static int add_number(struct sbx_buf *out, uint64_t value, bool *left_out, struct sbx_err *err)
{
	if (value == 0)
		*left_out = true;
	return sbx_buf_addf(out, err, "%" PRIu64, value);
}

static int add_place(const struct sbx_expand *ex, enum place place, struct sbx_buf *out,
		     bool *left_out, struct sbx_err *err)
{
	uint64_t heap =
		ex->memory_mib / 100 * HEAP_PERCENT + ex->memory_mib % 100 * HEAP_PERCENT / 100;

	switch (place) {
	case PLACE_BUILD:
		return sbx_buf_adds(out, ex->build ? ex->build : "/tmp", err);
	case PLACE_CPUS:
		return add_number(out, ex->cpus, left_out, err);
	case PLACE_FILE:
		return sbx_buf_addf(out, err, "%s%s",
				    ex->file[0] && strchr("-+@", ex->file[0]) ? "./" : "",
				    ex->file);
	case PLACE_HEAP_MIB:
		return add_number(out, ex->memory_mib && heap == 0 ? 1 : heap, left_out, err);
	case PLACE_MAIN:
		return sbx_buf_adds(out, ex->main ? ex->main : ex->stem, err);
	case PLACE_MEMORY_MIB:
		return add_number(out, ex->memory_mib, left_out, err);
	case PLACE_STEM:
		return sbx_buf_adds(out, ex->stem, err);
	case PLACE_WORKDIR:
		return sbx_buf_adds(out, ex->workdir, err);
	case PLACE_ARGS:
	case PLACE_COUNT_:
		break;
	}
	return sbx_fail(err, SBX_E_INVALID, "'%s' is not a whole element", args_element);
}

static int add_element(const struct sbx_expand *ex, const char *text, struct sbx_strv *out,
		       struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf buf = SBX_BUF_INIT(ELEMENT_MAX);
	bool left_out = false;
	const char *rest = text;

	for (;;) {
		struct piece piece = next_piece(&rest);
		int failed;

		if (piece.kind == PIECE_END)
			return left_out ? 0 : sbx_strv_add(out, sbx_buf_str(&buf), err);
		if (piece.kind == PIECE_WRONG)
			return sbx_fail(err, SBX_E_INVALID, "unknown placeholder in '%s'", text);
		failed = piece.kind == PIECE_TEXT
				 ? sbx_buf_add(&buf, piece.text.p, piece.text.n, err)
				 : add_place(ex, piece.place, &buf, &left_out, err);
		if (failed < 0)
			return -1;
	}
}

static int add_args(const struct sbx_expand *ex, struct sbx_strv *out, struct sbx_err *err)
{
	for (size_t i = 0; ex->args && i < ex->args->n; i++) {
		if (sbx_strv_add(out, ex->args->v[i], err) < 0)
			return -1;
	}
	return 0;
}

int sbx_expand_argv(const struct sbx_expand *ex, const struct sbx_strv *in, bool append_args,
		    struct sbx_strv *out, struct sbx_err *err)
{
	for (size_t i = 0; i < in->n; i++) {
		bool is_args = strcmp(in->v[i], args_element) == 0;

		if ((is_args ? add_args(ex, out, err) : add_element(ex, in->v[i], out, err)) < 0)
			return -1;
		append_args = append_args && !is_args;
	}
	return append_args ? add_args(ex, out, err) : 0;
}
