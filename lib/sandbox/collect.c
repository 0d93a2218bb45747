/*
 * Files out: what --out names, new or changed, is saved below --out-dir.
 *
 * Names and contents come from inside and are hostile.  A path is taken only if it is relative, clean, asked for, and behind the
 * one before it in the order of the walk, so that none comes twice; folders are opened one component at a time without following
 * a link, and a file is written without a name first and then put over what was there, so that nothing of the host is ever
 * followed, and nothing half written is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/glob.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"
#include "lib/base/rand.h"
#include "lib/base/sha256.h"
#include "lib/base/utf8.h"
#include "lib/sandbox/live.h"
#include "lib/sandbox/mime.h"

#define COLLECT_NS 30000000000u /* without any progress */
enum { HEAD = 512, SECRET = 16 };

struct collecting {
	struct sbx_live *live;
	uint32_t req;
	bool over;
	size_t files;
	uint64_t left; /* of what all of them may have */
	uint32_t more;
	char secret[SECRET + 1]; /* of the names of ours, which nothing inside can guess */
	char *path;              /* of the last entry */

	/* the file that is coming */
	bool coming;
	int fd, dir;
	char *temp;
	bool nameless;    /* temp is not a name of it yet */
	const char *name; /* its last component, within path */
	uint64_t size_left;
	bool modified;
	uint32_t mode;
	uint64_t size;
	struct sbx_sha256 sha;
	char head[HEAD]; /* its first bytes, by which text is told from data */
	size_t head_len;
	int sys; /* it could not be written: what comes is dropped */
};

/* ---- one file */

static int put_event(struct collecting *c, const struct sbx_ev_file *file, struct sbx_err *err)
{
	struct sbx_event ev = {.type = SBX_EV_FILE, .file = *file};

	c->files++;
	return sbx_emit(&c->live->em, &ev, err);
}

static void drop_file(struct collecting *c)
{
	if (c->temp && c->dir >= 0)
		(void)unlinkat(c->dir, c->temp, 0);
	sbx_closep(&c->fd);
	sbx_closep(&c->dir);
	free(SBX_TAKE(c->temp));
	c->coming = false;
}

/* The folder of path's last component below top, made where it is missing; -1 with errno. */
static int open_folder(int top, const char *path, const char **name)
{
	int dir = fcntl(top, F_DUPFD_CLOEXEC, 3);
	const char *slash;

	while (dir >= 0 && (slash = strchr(path, '/'))) {
		SBX_CLEANUP(sbx_freep)
		char *part = sbx_str_dup((struct sbx_str){path, (size_t)(slash - path)});
		int next;

		if (mkdirat(dir, part, 0777) != 0 && errno != EEXIST) {
			sbx_close(dir);
			return -1;
		}
		next = openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		sbx_close(dir);
		dir = next;
		path = slash + 1;
	}
	*name = path;
	return dir;
}

/*
 * In the folder of the file to be: nameless, so that nothing of it stays when we are killed, or under a name that no file has
 * where the file system knows no such files.
 */
static void open_temp(struct collecting *c)
{
	mode_t mode = (c->mode & 0111) ? 0777 : 0666;

	c->dir = open_folder(c->live->out_fd, c->path, &c->name);
	if (c->dir < 0) {
		c->sys = errno;
		return;
	}
	c->temp = sbx_xasprintf(".llmsbx-%s-%zu", c->secret, c->files);
	c->fd = openat(c->dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
	c->nameless = c->fd >= 0;
	if (!c->nameless)
		c->fd = openat(c->dir, c->temp,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (c->fd < 0)
		c->sys = errno;
}

/* Puts the whole file in place of what had its name: a link does not replace, so it is renamed.  An errno, or 0. */
static int publish(struct collecting *c)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", c->fd);
	if (c->nameless && linkat(AT_FDCWD, path, c->dir, c->temp, AT_SYMLINK_FOLLOW) != 0)
		return errno;
	if (close(SBX_TAKE_FD(c->fd)) != 0 || renameat(c->dir, c->temp, c->dir, c->name) != 0)
		return errno;
	free(SBX_TAKE(c->temp)); /* it has its own name now */
	return 0;
}

/* What cannot be read may be a folder, in which there might be what was asked for. */
static bool asked_for(const struct collecting *c, const char *path, uint8_t kind)
{
	const struct sbx_strv *globs = &c->live->req->out;

	for (size_t i = 0; i < globs->n; i++)
		if (sbx_glob_match(globs->v[i], path) ||
		    (kind == SBX_WIRE_KIND_UNREADABLE && sbx_glob_may_descend(globs->v[i], path)))
			return true;
	return false;
}

static const char *skip_reason(uint8_t kind)
{
	static const char *const names[] = {
		[SBX_WIRE_KIND_BIG] = "too_large", [SBX_WIRE_KIND_SYMLINK] = "symlink",
		[SBX_WIRE_KIND_PIPE] = "pipe",     [SBX_WIRE_KIND_SOCKET] = "socket",
		[SBX_WIRE_KIND_DEVICE] = "device", [SBX_WIRE_KIND_UNREADABLE] = "unreadable"};

	return names[kind];
}

/* Component by component, as bytes: what stands in a folder comes before what merely begins with its name. */
static bool comes_after(const char *path, const char *last)
{
	size_t i = 0;

	while (path[i] && path[i] == last[i])
		i++;
	if (path[i] == '/')
		return last[i] == '\0';
	if (last[i] == '/')
		return path[i] != '\0';
	return (unsigned char)path[i] > (unsigned char)last[i];
}

/* Takes the path of an entry if it is one that an honest guest could send now. */
static bool take_path(struct collecting *c, const char *sent, uint8_t kind)
{
	struct sbx_err wrong = SBX_ERR_INIT;
	char *path = NULL;

	if (sbx_path_relative(sbx_str_of(sent), "a file's name", &path, &wrong) != 0)
		return false;
	if (strcmp(path, sent) != 0 || !asked_for(c, path, kind) ||
	    (c->path && !comes_after(path, c->path))) {
		free(path);
		return false;
	}
	free(c->path);
	c->path = path;
	return true;
}

static int on_entry(void *ctx, const struct sbx_wire_entry *e, struct sbx_err *err)
{
	struct collecting *c = ctx;
	bool is_file = e->kind == SBX_WIRE_KIND_FILE;

	if (c->coming)
		return sbx_fail(err, SBX_E_BACKEND, "the sandbox sent two files at once");
	if (!take_path(c, e->path, e->kind))
		return sbx_fail(err, SBX_E_BACKEND,
				"the sandbox sent a file that was not asked for");
	if (c->files >= SBX_OUT_FILES || (is_file && e->size > c->left))
		return sbx_fail(err, SBX_E_BACKEND,
				"the sandbox sent more files than it was allowed");
	c->modified = e->modified;
	if (!is_file)
		return put_event(c,
				 &(struct sbx_ev_file){.path = sbx_str_of(c->path),
						       .size = e->size,
						       .change = c->modified ? "modified" : "added",
						       .skipped = skip_reason(e->kind)},
				 err);
	c->coming = true;
	c->left -= e->size;
	c->size_left = e->size;
	c->mode = e->mode;
	c->size = 0;
	c->head_len = 0;
	c->sys = 0;
	sbx_sha256_init(&c->sha);
	open_temp(c);
	return 0;
}

static int on_data(void *ctx, unsigned int stream, struct sbx_str bytes, struct sbx_err *err)
{
	struct collecting *c = ctx;
	struct sbx_err writing = SBX_ERR_INIT;
	size_t room = sizeof c->head - c->head_len;

	if (!c->coming || stream != SBX_WIRE_STDOUT || bytes.n > c->size_left)
		return sbx_fail(err, SBX_E_BACKEND, "the sandbox sent data of no file");
	c->size += bytes.n;
	c->size_left -= bytes.n;
	if (room > bytes.n)
		room = bytes.n;
	memcpy(c->head + c->head_len, bytes.p, room);
	c->head_len += room;
	sbx_sha256_add(&c->sha, bytes.p, bytes.n);
	if (c->sys == 0 && sbx_write_full(c->fd, bytes.p, bytes.n, &writing) != 0)
		c->sys = writing.sys ? writing.sys : EIO;
	return sbx_client_credit(c->live->client, c->req, SBX_WIRE_STDOUT, bytes.n, err);
}

/* A file that cannot be saved is said, and the rest is still saved. */
static int not_saved(struct collecting *c, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep)
	char *message = sbx_xasprintf("cannot save '%s' below '%s': %s", c->path,
				      c->live->req->out_dir, sbx_strerror(c->sys));
	struct sbx_ev_file file = {.path = sbx_str_of(c->path),
				   .size = c->size,
				   .change = c->modified ? "modified" : "added",
				   .skipped = c->sys == EFBIG ? "too_large" : "not_written"};
	int r = sbx_live_warn(c->live, "file_not_saved", message, err);

	if (r == 0)
		r = put_event(c, &file, err);
	drop_file(c);
	return r;
}

static int saved(struct collecting *c, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep)
	char *saved_as = sbx_xasprintf("%s/%s", c->live->req->out_dir, c->path);
	size_t partial, prefix = sbx_utf8_prefix(c->head, c->head_len, &partial);
	char sha[65];
	struct sbx_ev_file file = {
		.path = sbx_str_of(c->path),
		.size = c->size,
		.sha256 = sha,
		.mime = sbx_mime(c->path, prefix + partial == c->head_len &&
						  !memchr(c->head, 0, c->head_len)),
		.change = c->modified ? "modified" : "added",
		.saved_as = saved_as,
	};
	int r;

	sbx_sha256_hex(&c->sha, sha);
	r = put_event(c, &file, err);
	drop_file(c);
	return r;
}

static int on_eof(void *ctx, unsigned int stream, uint32_t sys, struct sbx_err *err)
{
	struct collecting *c = ctx;

	if (!c->coming || stream != SBX_WIRE_STDOUT)
		return sbx_fail(err, SBX_E_BACKEND,
				"the sandbox ended a file that it did not send");
	if (c->sys == 0 && sys != 0)
		c->sys = (int)sys;
	if (c->sys == 0)
		c->sys = publish(c);
	return c->sys != 0 ? not_saved(c, err) : saved(c, err);
}

static int on_done(void *ctx, const struct sbx_wire_done *done, struct sbx_err *err)
{
	struct collecting *c = ctx;

	if (c->coming)
		return sbx_fail(err, SBX_E_BACKEND, "the sandbox sent half a file");
	c->more = done->more;
	c->over = true;
	return 0;
}

/* ---- all of them */

int sbx_live_open_out(struct sbx_live *live, struct sbx_err *err)
{
	const char *dir = live->req->out_dir;

	if (live->req->out.n == 0)
		return 0;
	if (sbx_make_folders(dir, 0777, err) != 0)
		return sbx_wrap(err, "--out-dir");
	live->out_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (live->out_fd < 0)
		return sbx_fail_sys(err, errno, "--out-dir: cannot open '%s'", dir);
	if (faccessat(live->out_fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
		return sbx_fail_sys(err, errno, "--out-dir: cannot write into '%s'", dir);
	return 0;
}

struct sbx_wire_get sbx_live_wanted(const struct sbx_live *live)
{
	const struct sbx_strv *globs = &live->req->out;
	struct sbx_wire_get get = {.max_files = SBX_OUT_FILES,
				   .max_depth = SBX_OUT_DEPTH,
				   .max_bytes = SBX_OUT_BYTES,
				   .n_globs = (uint32_t)globs->n};

	for (size_t i = 0; i < globs->n; i++)
		get.globs[i] = globs->v[i];
	return get;
}

static int ask(struct collecting *c, const struct sbx_call_ops *ops, struct sbx_err *err)
{
	struct sbx_wire_get get = sbx_live_wanted(c->live);

	if (sbx_client_request(c->live->client, ops, c, &c->req, err) != 0)
		return -1;
	return sbx_client_get(c->live->client, c->req, &get, err);
}

int sbx_live_collect(struct sbx_live *live, struct sbx_err *err)
{
	static const struct sbx_call_ops ops = {
		.entry = on_entry, .data = on_data, .eof = on_eof, .done = on_done};
	struct collecting c = {.live = live, .fd = -1, .dir = -1, .left = SBX_OUT_BYTES};
	int r;

	sbx_random_id(c.secret, SECRET);
	r = ask(&c, &ops, err);
	while (r == 0 && !c.over) {
		sbx_live_fuse(live, COLLECT_NS);
		r = sbx_live_turn(live, err);
	}
	drop_file(&c);
	free(c.path);
	if (r == 0 && c.files == 0 && c.more == 0)
		r = sbx_live_warn(live, "no_files",
				  "no new or changed file of the work directory matches --out",
				  err);
	if (r == 0 && c.more & SBX_WIRE_MORE_FILES)
		r = sbx_live_warn(live, "files_left",
				  "more files match --out than are brought back", err);
	if (r == 0 && c.more & SBX_WIRE_MORE_DEPTH)
		r = sbx_live_warn(live, "files_too_deep",
				  "folders too deep below the work directory were not searched",
				  err);
	return r;
}
