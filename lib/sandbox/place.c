/*
 * Files into the box: those of --file and of a job, then the code.  The code's answer is not waited for when all of it could be
 * sent at once: the guest takes frames in order, so that it has come before the program's child says that it is confined, and the
 * program is let go only after a look at it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/sandbox/live.h"

#define PLACE_NS 30000000000u /* without any progress */
enum { PIECE = 64 << 10 };

static int on_done(void *ctx, const struct sbx_wire_done *done, struct sbx_err *err)
{
	struct sbx_placing *p = ctx;

	(void)err;
	p->over = true;
	p->sys = done->sys;
	return 0;
}

static const struct sbx_call_ops ops = {.done = on_done};

/* The rest of a file's content: data, or what fd still holds where fd >= 0. */
struct feed {
	struct sbx_str data;
	int fd;
	bool at_end;
};

/* Sends what there is room for. */
static int send_some(struct sbx_live *live, uint32_t req, struct feed *from, struct sbx_err *err)
{
	char piece[PIECE];
	size_t room = sbx_client_room(live->client, req);
	struct sbx_str s = {.p = piece};

	if (room == 0 || from->at_end)
		return 0;
	if (from->fd >= 0) {
		ssize_t n = sbx_read_full(from->fd, piece,
					  room < sizeof piece ? room : sizeof piece, err);

		if (n < 0)
			return -1;
		s.n = (size_t)n;
		from->at_end = n == 0;
	} else {
		s.p = from->data.p;
		s.n = from->data.n < room ? from->data.n : room;
		from->data.p += s.n;
		from->data.n -= s.n;
		from->at_end = from->data.n == 0;
	}
	if (s.n > 0 && sbx_client_data(live->client, req, s, err) != 0)
		return -1;
	return from->at_end ? sbx_client_eof(live->client, req, err) : 0;
}

/* Begins to put a file: its content is data, or what fd holds where fd >= 0. */
static int begin_put(struct sbx_live *live, const char *path, unsigned int mode, struct feed *from,
		     struct sbx_placing *p, struct sbx_err *err)
{
	if (sbx_client_request(live->client, &ops, p, &p->req, err) != 0 ||
	    sbx_client_put(live->client, p->req, path, mode, err) != 0)
		return -1;
	return send_some(live, p->req, from, err);
}

static int put_result(const struct sbx_placing *p, const char *path, struct sbx_err *err)
{
	if (p->sys == ENOSPC || p->sys == EDQUOT)
		return sbx_fail(err, SBX_E_LIMIT,
				"'%s' does not fit into the sandbox: raise --disk or --memory",
				path);
	if (p->sys != 0)
		return sbx_fail_sys(err, (int)p->sys, "cannot put '%s' into the sandbox", path);
	return 0;
}

static int end_put(struct sbx_live *live, const char *path, struct feed *from,
		   struct sbx_placing *p, struct sbx_err *err)
{
	while (!p->over) {
		sbx_live_fuse(live, PLACE_NS);
		if (sbx_live_turn(live, err) != 0 || send_some(live, p->req, from, err) != 0)
			return -1;
	}
	return put_result(p, path, err);
}

static int put_file(struct sbx_live *live, const char *path, unsigned int mode, struct sbx_str data,
		    int fd, struct sbx_err *err)
{
	struct feed from = {.data = data, .fd = fd};
	struct sbx_placing p = {0};

	if (begin_put(live, path, mode, &from, &p, err) != 0)
		return -1;
	return end_put(live, path, &from, &p, err);
}

static int put_code(struct sbx_live *live, struct sbx_err *err)
{
	const struct sbx_plan *plan = &live->plan;
	struct feed from = {.data = {sbx_buf_str(&plan->code), plan->code.len}, .fd = -1};

	if (begin_put(live, plan->file, plan->mode, &from, &live->code, err) != 0)
		return -1;
	return from.at_end ? 0 : end_put(live, plan->file, &from, &live->code, err);
}

int sbx_live_placed(struct sbx_live *live, struct sbx_err *err)
{
	if (!live->code.over)
		return sbx_fail(err, SBX_E_BACKEND, "the sandbox answered out of order");
	if (live->code.sys != 0)
		live->phase = "place";
	return put_result(&live->code, live->plan.file, err);
}

static int put_host_file(struct sbx_live *live, const struct sbx_file_in *file, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep)
	int fd = open(file->host, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return sbx_fail(err, SBX_E_NOT_FOUND, "--file: no such file: '%s'", file->host);
	if (fd < 0 || fstat(fd, &st) != 0)
		return sbx_fail_sys(err, errno, "--file: cannot open '%s'", file->host);
	if (!S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_USAGE, "--file: '%s' is not a regular file", file->host);
	return put_file(live, file->dest, file->mode ? file->mode : (st.st_mode & 0777) | 0400,
			SBX_STR(""), fd, err);
}

int sbx_live_place(struct sbx_live *live, struct sbx_err *err)
{
	const struct sbx_request *req = live->req;
	const struct sbx_plan *plan = &live->plan;

	for (size_t i = 0; i < req->n_files; i++) {
		const struct sbx_file_in *file = &req->files[i];
		struct sbx_str data = {.p = sbx_buf_str(&file->data), .n = file->data.len};
		int r;

		if (strcmp(file->dest, plan->file) == 0)
			return sbx_fail(
				err, SBX_E_USAGE,
				"the file '%s' would replace the code: give it another name",
				file->dest);
		r = file->host ? put_host_file(live, file, err)
			       : put_file(live, file->dest, file->mode ? file->mode : 0644, data,
					  -1, err);
		if (r != 0)
			return -1;
	}
	return put_code(live, err);
}

int sbx_live_mark(struct sbx_live *live, struct sbx_err *err)
{
	struct sbx_wire_get get = sbx_live_wanted(live);
	struct sbx_placing p = {0};

	if (sbx_client_request(live->client, &ops, &p, &p.req, err) != 0 ||
	    sbx_client_mark(live->client, p.req, &get, err) != 0)
		return -1;
	sbx_live_fuse(live, PLACE_NS);
	while (!p.over)
		if (sbx_live_turn(live, err) != 0)
			return -1;
	return 0;
}
