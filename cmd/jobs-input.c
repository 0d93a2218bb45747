#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/jobs.h"
#include "lib/base/err.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/base/sha256.h"

enum { CHUNK = 64 << 10, FIRST_IDS = 1024 };

void sbx_lines_init(struct sbx_lines *l, int fd)
{
	*l = (struct sbx_lines){.in = sbx_input_open(fd),
				.buf = SBX_BUF_INIT(SBX_JOB_LINE_MAX + CHUNK)};
}

void sbx_lines_release(struct sbx_lines *l)
{
	sbx_input_release(&l->in);
	sbx_buf_release(&l->buf);
}

int sbx_lines_fill(struct sbx_lines *l, struct sbx_err *err)
{
	char *room;
	ssize_t n;

	sbx_buf_consume(&l->buf, l->head);
	l->head = 0;
	if (l->buf.len >= SBX_JOB_LINE_MAX) {
		/* Nobody wants the rest: the line is refused when its end is seen. */
		l->skipping = true;
		l->searched = 0;
		sbx_buf_reset(&l->buf);
	}
	if (sbx_buf_reserve(&l->buf, CHUNK, &room, err) < 0)
		return -1;
	n = sbx_input_read(&l->in, room, CHUNK);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return sbx_fail_sys(err, errno, "cannot read the jobs");
	if (n == 0)
		l->eof = true;
	if (n > 0)
		l->buf.len += (size_t)n;
	return 0;
}

bool sbx_lines_next(struct sbx_lines *l, struct sbx_str *line, bool *ret_long)
{
	for (;;) {
		struct sbx_str rest = {sbx_buf_str(&l->buf) + l->head, l->buf.len - l->head};
		const char *end = memchr(rest.p + l->searched, '\n', rest.n - l->searched);

		l->searched = rest.n;
		if (!end && (!l->eof || (rest.n == 0 && !l->skipping)))
			return false;
		l->searched = 0;
		line->p = rest.p;
		line->n = end ? (size_t)(end - rest.p) : rest.n;
		l->head += line->n + (end ? 1 : 0);
		l->number++;
		*ret_long = l->skipping;
		l->skipping = false;
		if (*ret_long || sbx_str_trim(*line).n > 0)
			return true;
	}
}

/* --- ids ---------------------------------------------------------------------------------- */

static void digest(const char *id, uint64_t ret[2])
{
	struct sbx_sha256 sha;
	char hex[65];

	sbx_sha256_init(&sha);
	sbx_sha256_add(&sha, id, strlen(id));
	sbx_sha256_hex(&sha, hex);
	memcpy(ret, hex, 2 * sizeof(*ret));
}

/* The place of key, or a free one for it; there is always one that is free. */
static size_t find(const struct sbx_seen *ids, const uint64_t key[2])
{
	size_t i = (size_t)(key[0] ^ key[1]) & (ids->cap - 1);

	while (ids->v[i][0] != 0 && memcmp(ids->v[i], key, sizeof(ids->v[i])) != 0)
		i = (i + 1) & (ids->cap - 1);
	return i;
}

static void grow(struct sbx_seen *ids)
{
	struct sbx_seen more = {.n = ids->n, .cap = ids->cap ? ids->cap * 2 : FIRST_IDS};

	more.v = sbx_xcalloc(more.cap, sizeof(*more.v));
	for (size_t i = 0; i < ids->cap; i++) {
		if (ids->v[i][0] != 0)
			memcpy(more.v[find(&more, ids->v[i])], ids->v[i], sizeof(*more.v));
	}
	free(ids->v);
	*ids = more;
}

bool sbx_seen_add(struct sbx_seen *ids, const char *id)
{
	uint64_t key[2];
	size_t at;

	if (ids->n >= ids->cap / 2)
		grow(ids);
	digest(id, key);
	at = find(ids, key);
	if (ids->v[at][0] != 0)
		return false;
	memcpy(ids->v[at], key, sizeof(key));
	ids->n++;
	return true;
}

void sbx_seen_release(struct sbx_seen *ids)
{
	free(ids->v);
	*ids = (struct sbx_seen){.n = 0};
}
