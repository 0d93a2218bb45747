/*
 * Files in and out of the work directory.
 *
 * The program may run while we look, make links, swap folders for links, and leave anything behind.  Nothing here follows a
 * link: folders are opened one component at a time with O_NOFOLLOW, files are opened before they are judged, and all of it
 * happens with the program's own rights on files.
 */
#include "guest/guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/glob.h"

enum {
	PATH_MAX_ = 4096,
	WALK_DEPTH = 64,
	DIR_NAMES = 65536,   /* names of one folder that are looked at */
	DIR_BYTES = 4 << 20, /* and their bytes */
	MARKS_MAX = 200000,  /* files that are remembered */
	CREDIT_STEP = 64 << 10,
};

static void done(struct guest *g, uint32_t req, int sys, uint32_t more, const char *what)
{
	struct sbx_wire_done m = {.sys = (uint32_t)sys, .more = more, .what = what};
	struct sbx_coder c = chan_begin(&g->chan);

	sbx_code_done(&c, &m);
	chan_end(&g->chan, &c, SBX_WIRE_DONE, req);
}

/* ---- put */

/* The folder that path's last component goes to, made where it is missing; *name points at that component. */
static int open_parent(int top, char *path, char **name)
{
	int dir = fcntl(top, F_DUPFD_CLOEXEC, 3);
	char *part = path, *slash;

	while (dir >= 0 && (slash = strchr(part, '/'))) {
		int next;

		*slash = 0;
		if (strcmp(part, "..") == 0 || *part == 0) {
			close(dir);
			errno = EINVAL;
			return -1;
		}
		(void)mkdirat(dir, part, 0755);
		next = openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int sys = errno;

		close(dir);
		errno = sys;
		dir = next;
		part = slash + 1;
	}
	if (dir >= 0 && (*part == 0 || strcmp(part, "..") == 0 || strcmp(part, ".") == 0)) {
		close(dir);
		errno = EINVAL;
		return -1;
	}
	*name = part;
	return dir;
}

/* A new file in place of whatever had the name: a link there is replaced, never followed. */
static int create_file(int top, const char *path, mode_t mode)
{
	char *copy = keep(path), *name = NULL;
	int dir = open_parent(top, copy, &name), fd = -1, sys;

	if (dir >= 0) {
		if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
			fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				    0600);
		if (fd >= 0 && fchmod(fd, mode & 0777) != 0) {
			sys = errno;
			close(fd);
			fd = -1;
			errno = sys;
		}
	}
	sys = errno;
	if (dir >= 0)
		close(dir);
	free(copy);
	errno = sys;
	return fd;
}

void files_put(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	struct files *fs = &g->files;
	struct sbx_wire_put m;

	sbx_code_put(&c, &m);
	if (!sbx_coder_ok(&c) || fs->put_req != 0 || strlen(m.path) >= PATH_MAX_)
		die("a broken put");
	fs->put_req = f->req;
	fs->put_fd = create_file(fs->workdir, m.path, m.mode);
	fs->put_sys = fs->put_fd < 0 ? errno : 0;
	fs->put_owed = 0;
}

/* After a failure the rest is taken and dropped: DONE tells at its end. */
void files_put_data(struct guest *g, const struct sbx_frame *f)
{
	struct files *fs = &g->files;
	uint32_t at = 0;

	while (fs->put_sys == 0 && at < f->n) {
		ssize_t n = write(fs->put_fd, f->p + at, f->n - at);

		if (n < 0 && errno != EINTR)
			fs->put_sys = errno;
		if (n > 0)
			at += (uint32_t)n;
	}
	fs->put_owed += f->n;
	if (fs->put_owed >= CREDIT_STEP) {
		chan_u32(&g->chan, SBX_WIRE_CREDIT, SBX_WIRE_STDIN, fs->put_req, fs->put_owed);
		fs->put_owed = 0;
	}
}

void files_put_eof(struct guest *g)
{
	struct files *fs = &g->files;

	if (fs->put_fd >= 0 && close(fs->put_fd) != 0 && fs->put_sys == 0)
		fs->put_sys = errno;
	done(g, fs->put_req, fs->put_sys, 0, "");
	fs->put_fd = -1;
	fs->put_req = 0;
}

/* ---- walk: every entry below the work directory, folders in order of their names, no link followed */

struct level {
	int fd;
	char *names; /* NUL-separated arena */
	char **v;
	size_t n, at;
	size_t path_len; /* of the folder's path with its slash */
};

struct walk {
	struct level level[WALK_DEPTH];
	int depth; /* levels open */
	int max_depth;
	uint32_t more;
	char path[PATH_MAX_];
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void level_close(struct level *lv)
{
	close(lv->fd);
	free(lv->names);
	free(lv->v);
}

/* A folder that changes while it is read may yield a name twice; nobody is to get it twice. */
static void sort_names(struct level *lv)
{
	size_t n = 0;

	lv->v = grab((lv->n + 1) * sizeof *lv->v);
	for (size_t i = 0, at = 0; i < lv->n; i++, at += strlen(lv->names + at) + 1)
		lv->v[i] = lv->names + at;
	qsort(lv->v, lv->n, sizeof *lv->v, by_name);
	for (size_t i = 0; i < lv->n; i++)
		if (n == 0 || strcmp(lv->v[n - 1], lv->v[i]) != 0)
			lv->v[n++] = lv->v[i];
	lv->n = n;
}

/* Reads a folder's names, bounded; takes fd. */
static bool level_open(struct walk *w, int fd)
{
	struct level *lv = &w->level[w->depth];
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	size_t used = 0, cap = 0;
	struct dirent *e;

	*lv = (struct level){.fd = fd, .path_len = strlen(w->path)};
	if (!dir) {
		close_fd(&copy);
		close(fd);
		return false;
	}
	while ((e = readdir(dir))) {
		size_t n = strlen(e->d_name) + 1;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (lv->n == DIR_NAMES || used + n > DIR_BYTES) {
			w->more |= SBX_WIRE_MORE_FILES;
			break;
		}
		if (used + n > cap) {
			cap = cap ? cap * 2 : 4096;
			lv->names = regrab(lv->names, cap);
		}
		memcpy(lv->names + used, e->d_name, n);
		used += n;
		lv->n++;
	}
	closedir(dir);
	sort_names(lv);
	w->depth++;
	return true;
}

static struct walk *walk_new(int top, uint32_t max_depth)
{
	struct walk *w = grab(sizeof *w);
	int fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	w->max_depth = max_depth < WALK_DEPTH ? (int)max_depth : WALK_DEPTH;
	if (fd >= 0)
		(void)level_open(w, fd);
	return w;
}

static void walk_free(struct walk *w)
{
	while (w && w->depth > 0)
		level_close(&w->level[--w->depth]);
	free(w);
}

/* Goes into the folder that the last walk_next gave, or says in more why not; false: it may not be read. */
static bool walk_enter(struct walk *w)
{
	struct level *lv = &w->level[w->depth - 1];
	size_t n = strlen(w->path);
	int fd;

	if (w->depth >= w->max_depth || n + 1 >= sizeof w->path) {
		w->more |= SBX_WIRE_MORE_DEPTH;
		return true;
	}
	fd = openat(lv->fd, w->path + lv->path_len,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) /* or it is gone, or something else has its name */
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
	w->path[n] = '/';
	w->path[n + 1] = 0;
	(void)level_open(w, fd);
	return true;
}

/* The next entry: its path in w->path and what it is; false at the end. */
static bool walk_next(struct walk *w, struct stat *st)
{
	while (w->depth > 0) {
		struct level *lv = &w->level[w->depth - 1];
		const char *name;

		if (lv->at == lv->n) {
			level_close(lv);
			w->depth--;
			continue;
		}
		name = lv->v[lv->at++];
		if (lv->path_len + strlen(name) >= sizeof w->path) {
			w->more |= SBX_WIRE_MORE_DEPTH;
			continue;
		}
		memcpy(w->path + lv->path_len, name, strlen(name) + 1);
		if (fstatat(lv->fd, name, st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

/* ---- what is wanted */

static void take_get(struct sbx_coder *c, struct sbx_wire_get *m)
{
	sbx_code_get(c, m);
	if (!sbx_coder_ok(c))
		die("a broken get");
	for (uint32_t i = 0; i < m->n_globs; i++)
		if (sbx_glob_wrong(m->globs[i]))
			die("a broken pattern");
}

static bool matches(const char *const globs[], uint32_t n, const char *path,
		    bool (*match)(const char *pattern, const char *path))
{
	for (uint32_t i = 0; i < n; i++)
		if (match(globs[i], path))
			return true;
	return false;
}

/* ---- mark */

struct mark {
	uint64_t path_hash;
	ino_t ino;
	int64_t ctime_ns; /* moves with every change of contents, and cannot be set back by a program */
};

/* FNV-1a: a collision makes a new file look modified, no more. */
static uint64_t hash_path(const char *s)
{
	uint64_t h = 0xcbf29ce484222325u;

	while (*s)
		h = (h ^ (uint8_t)*s++) * 0x100000001b3u;
	return h;
}

static int64_t ctime_ns(const struct stat *st)
{
	return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

static int by_hash(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return (x->path_hash > y->path_hash) - (x->path_hash < y->path_hash);
}

/*
 * The time, once the clock that files are stamped with has moved on: a file that was put just now and is then changed at once
 * would keep its stamp.  FIXME: drop once Linux 6.13, whose stamps differ after somebody looked, is the minimum.
 */
static int64_t wait_for_tick(int64_t newest_ns)
{
	const struct timespec nap = {.tv_nsec = 500000};
	int64_t coarse_ns = 0;

	for (int i = 0; i < 40 && coarse_ns <= newest_ns; i++) {
		struct timespec now;

		if (i > 0)
			(void)nanosleep(&nap, NULL);
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		coarse_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	}
	return coarse_ns;
}

static void add_mark(struct files *fs, const char *path, const struct stat *st)
{
	if (fs->n_marks == fs->cap_marks) {
		fs->cap_marks = fs->cap_marks ? fs->cap_marks * 2 : 64;
		fs->marks = regrab(fs->marks, fs->cap_marks * sizeof *fs->marks);
	}
	fs->marks[fs->n_marks++] = (struct mark){
		.path_hash = hash_path(path), .ino = st->st_ino, .ctime_ns = ctime_ns(st)};
}

/* Only what can be asked for: a large tree may be mounted beside it. */
void files_mark(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	struct files *fs = &g->files;
	int64_t newest_ns = 0;
	struct sbx_wire_get m;
	struct walk *w;
	struct stat st;

	take_get(&c, &m);
	w = walk_new(fs->workdir, m.max_depth);
	fs->n_marks = 0;
	while (fs->n_marks < MARKS_MAX && walk_next(w, &st)) {
		bool wanted;

		if (S_ISDIR(st.st_mode))
			wanted = matches(m.globs, m.n_globs, w->path, sbx_glob_may_descend) &&
				 !walk_enter(w);
		else
			wanted = S_ISREG(st.st_mode) &&
				 matches(m.globs, m.n_globs, w->path, sbx_glob_match);
		if (!wanted)
			continue;
		if (ctime_ns(&st) > newest_ns)
			newest_ns = ctime_ns(&st);
		add_mark(fs, w->path, &st);
	}
	walk_free(w);
	if (fs->n_marks)
		qsort(fs->marks, fs->n_marks, sizeof *fs->marks, by_hash);
	fs->marked_ns = wait_for_tick(newest_ns);
	if (fs->n_marks < MARKS_MAX)
		fs->marked_ns = 0;
	done(g, f->req, 0, 0, "");
}

static const struct mark *find_mark(const struct files *fs, const char *path)
{
	struct mark key = {.path_hash = hash_path(path)};

	if (fs->n_marks == 0)
		return NULL;
	return bsearch(&key, fs->marks, fs->n_marks, sizeof key, by_hash);
}

/* ---- get */

void files_get(struct guest *g, const struct sbx_frame *f)
{
	struct sbx_coder c = sbx_decoder(f->p, f->n);
	struct files *fs = &g->files;
	struct sbx_wire_get m;

	take_get(&c, &m);
	if (fs->get_req != 0)
		die("two gets at once");
	for (uint32_t i = 0; i < m.n_globs; i++)
		fs->globs[i] = keep(m.globs[i]);
	fs->n_globs = m.n_globs;
	fs->get_req = f->req;
	fs->get_credit = SBX_WIRE_WINDOW;
	fs->get_left_files = m.max_files;
	fs->get_left_bytes = m.max_bytes;
	fs->walk = walk_new(fs->workdir, m.max_depth);
}

static void get_release(struct files *fs)
{
	for (uint32_t i = 0; i < fs->n_globs; i++)
		free(fs->globs[i]);
	walk_free(fs->walk);
	fs->n_globs = 0;
	fs->walk = NULL;
	fs->get_req = 0;
}

static void end_get(struct guest *g)
{
	done(g, g->files.get_req, 0, g->files.walk->more, "");
	get_release(&g->files);
}

void files_release(struct files *fs)
{
	get_release(fs);
	free(fs->marks);
	close_fd(&fs->workdir);
	close_fd(&fs->put_fd);
	close_fd(&fs->get_fd);
}

static bool is_wanted(const struct files *fs, bool (*match)(const char *pattern, const char *path))
{
	return matches((const char *const *)fs->globs, fs->n_globs, fs->walk->path, match);
}

static uint8_t kind_of(mode_t mode)
{
	if (S_ISREG(mode))
		return SBX_WIRE_KIND_FILE;
	if (S_ISDIR(mode)) /* told of only where it is that */
		return SBX_WIRE_KIND_UNREADABLE;
	if (S_ISLNK(mode))
		return SBX_WIRE_KIND_SYMLINK;
	if (S_ISFIFO(mode))
		return SBX_WIRE_KIND_PIPE;
	if (S_ISSOCK(mode))
		return SBX_WIRE_KIND_SOCKET;
	return SBX_WIRE_KIND_DEVICE;
}

/* Opens first and judges what was opened: the name may mean something else by now. */
static uint8_t open_entry(struct files *fs, struct stat *st)
{
	struct level *lv = &fs->walk->level[fs->walk->depth - 1];
	int fd = openat(lv->fd, fs->walk->path + lv->path_len,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return SBX_WIRE_KIND_UNREADABLE;
	if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode)) {
		close(fd);
		return SBX_WIRE_KIND_UNREADABLE;
	}
	if ((uint64_t)st->st_size > fs->get_left_bytes) {
		close(fd);
		return SBX_WIRE_KIND_BIG;
	}
	/* What is written to it from now on does not come: it has the size that its entry says, or less. */
	fs->get_fd = fd;
	fs->get_fd_left = (uint64_t)st->st_size;
	fs->get_left_bytes -= fs->get_fd_left;
	return SBX_WIRE_KIND_FILE;
}

static void send_entry(struct guest *g, struct stat *st)
{
	struct files *fs = &g->files;
	const struct mark *mark = find_mark(fs, fs->walk->path);
	struct sbx_wire_entry m = {.kind = kind_of(st->st_mode), .path = fs->walk->path};
	struct sbx_coder c;

	/* What is new in a folder does not show on it. */
	if (!S_ISDIR(st->st_mode) &&
	    (mark ? mark->ino == st->st_ino && mark->ctime_ns == ctime_ns(st)
		  : ctime_ns(st) < fs->marked_ns))
		return;
	if (fs->get_left_files == 0) {
		fs->walk->more |= SBX_WIRE_MORE_FILES;
		return;
	}
	fs->get_left_files--;
	if (m.kind == SBX_WIRE_KIND_FILE)
		m.kind = open_entry(fs, st);
	m.modified = mark != NULL;
	m.mode = st->st_mode & 0777;
	m.size = st->st_size < 0 ? 0 : (uint64_t)st->st_size;
	c = chan_begin(&g->chan);
	sbx_code_entry(&c, &m);
	chan_end(&g->chan, &c, SBX_WIRE_ENTRY, fs->get_req);
}

static void send_piece(struct guest *g)
{
	struct files *fs = &g->files;
	uint8_t *to = chan_data(&g->chan);
	size_t want = fs->get_credit < SBX_WIRE_DATA_MAX ? fs->get_credit : SBX_WIRE_DATA_MAX;
	ssize_t n;

	if (want > fs->get_fd_left)
		want = (size_t)fs->get_fd_left;
	n = read(fs->get_fd, to, want);
	if (n > 0) {
		fs->get_credit -= (uint32_t)n;
		fs->get_fd_left -= (uint64_t)n;
		chan_send_data(&g->chan, SBX_WIRE_STDOUT, fs->get_req, (uint32_t)n);
		return;
	}
	if (n < 0 && errno == EINTR)
		return;
	chan_u32(&g->chan, SBX_WIRE_EOF, SBX_WIRE_STDOUT, fs->get_req, n < 0 ? (uint32_t)errno : 0);
	close_fd(&fs->get_fd);
}

bool files_get_can(const struct guest *g)
{
	return g->files.get_req != 0 && g->files.get_credit > 0 &&
	       chan_pending(&g->chan) < CHAN_HIGH;
}

void files_get_step(struct guest *g)
{
	struct files *fs = &g->files;
	struct stat st;

	if (fs->get_fd >= 0) {
		send_piece(g);
	} else if (!walk_next(fs->walk, &st)) {
		end_get(g);
	} else if (S_ISDIR(st.st_mode)) {
		if (is_wanted(fs, sbx_glob_may_descend) && !walk_enter(fs->walk))
			send_entry(g, &st);
	} else if (is_wanted(fs, sbx_glob_match)) {
		send_entry(g, &st);
	}
}
