/* Files into the box: the code first, then those of --file and of a job. */
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

struct placing {
	bool over;
	uint32_t sys;
};

static int on_done(void *ctx, const struct sbx_wire_done *done, struct sbx_err *err)
{
	struct placing *p = ctx;

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

/* Puts one file: its content is data, or what fd holds where fd >= 0. */
static int put_file(struct sbx_live *live, const char *path, unsigned int mode, struct sbx_str data,
		    int fd, struct sbx_err *err)
{
	struct placing p = {0};
	struct feed from = {.data = data, .fd = fd};
	uint32_t req;

	if (sbx_client_request(live->client, &ops, &p, &req, err) != 0 ||
	    sbx_client_put(live->client, req, path, mode, err) != 0)
		return -1;
	while (!p.over) {
		if (send_some(live, req, &from, err) != 0)
			return -1;
		sbx_live_fuse(live, PLACE_NS);
		if (sbx_live_turn(live, err) != 0)
			return -1;
	}
	if (p.sys == ENOSPC || p.sys == EDQUOT)
		return sbx_fail(err, SBX_E_LIMIT,
				"'%s' does not fit into the sandbox: raise --disk or --memory",
				path);
	if (p.sys != 0)
		return sbx_fail_sys(err, (int)p.sys, "cannot put '%s' into the sandbox", path);
	return 0;
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
	return put_file(live, plan->file, plan->mode,
			(struct sbx_str){.p = sbx_buf_str(&plan->code), .n = plan->code.len}, -1,
			err);
}

int sbx_live_mark(struct sbx_live *live, struct sbx_err *err)
{
	struct placing p = {0};
	uint32_t req;

	if (sbx_client_request(live->client, &ops, &p, &req, err) != 0 ||
	    sbx_client_mark(live->client, req, err) != 0)
		return -1;
	sbx_live_fuse(live, PLACE_NS);
	while (!p.over)
		if (sbx_live_turn(live, err) != 0)
			return -1;
	return 0;
}
