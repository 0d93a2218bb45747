#include "lib/sandbox/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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
#include "lib/base/places.h"
#include "lib/base/str.h"
#include "lib/event/control.h"
#include "lib/guest/wire.h"

#define MIB    (UINT64_C(1) << 20)
#define NS_SEC UINT64_C(1000000000)
#define EIB    (UINT64_C(1) << 60)

enum {
	SANDBOX_ID = 65532,   /* the program's user and group inside */
	PIDS_MAX = 4194304,   /* the kernel's own ceiling of process ids */
	MEMORY_MIN = 4 << 20, /* below, not even the guest and a static program start */
	SCRATCH_MIN = 4096,   /* one page: tmpfs takes less for "no limit" */
	CPU_MILLI_MIN = 10,   /* cgroups count in steps of 1 ms in 100 ms */
	CPU_MILLI_MAX = 1024 * 1000,
	FILES_MAX = 10000,
	MOUNTS_MAX = 256,
	QUOTE_MAX = 80,
};

/* --- life --------------------------------------------------------------------------------- */

/* Without --memory the machine's own is what there is. */
static uint64_t memory_of(const struct sbx_limits *l)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	if (l->memory_bytes != SBX_UNLIMITED)
		return l->memory_bytes;
	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 512 * MIB;
}

static void derive_scratch(struct sbx_limits *l)
{
	uint64_t memory = memory_of(l);

	if (!l->disk_explicit)
		l->disk_bytes = memory / 4;
	l->tmp_bytes = l->shm_bytes = memory / 8;
}

void sbx_request_init(struct sbx_request *req)
{
	*req = (struct sbx_request){
		.backend = sbx_xstrdup("local"),
		.code = SBX_BUF_INIT(SBX_CODE_MAX),
		.stdin_kind = SBX_STDIN_EMPTY,
		.stdin_fd = -1,
		.stdin_bytes = SBX_BUF_INIT(SBX_JOB_LINE_MAX),
		.out_dir = sbx_xstrdup("."),
		.workdir = sbx_xstrdup("/sandbox"),
		.limits =
			{
				.memory_bytes = 512 * MIB,
				.cpu_milli = 1000,
				.pids = 128,
				.nofile = 1024,
			},
		.timeout_ns = 30 * NS_SEC,
		.cpu_time_ns = SBX_UNLIMITED,
		.max_output = 64 * MIB,
		.network = SBX_NET_NONE,
		.uid = SANDBOX_ID,
		.gid = SANDBOX_ID,
		.read_only = true,
	};
	derive_scratch(&req->limits);
}

static void release_file(struct sbx_file_in *file)
{
	free(file->host);
	free(file->dest);
	sbx_buf_release(&file->data);
}

void sbx_request_release(struct sbx_request *req)
{
	char **text[] = {&req->id,        &req->backend, &req->lang,   &req->lang_default,
			 &req->code_path, &req->out_dir, &req->workdir};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(text); i++) {
		free(*text[i]);
		*text[i] = NULL;
	}
	for (size_t i = 0; i < req->n_files; i++)
		release_file(&req->files[i]);
	for (size_t i = 0; i < req->n_mounts; i++) {
		free(req->mounts[i].host);
		free(req->mounts[i].dest);
	}
	free(req->files);
	free(req->mounts);
	req->files = NULL;
	req->mounts = NULL;
	req->n_files = req->cap_files = req->n_mounts = req->cap_mounts = 0;
	sbx_buf_release(&req->code);
	sbx_buf_release(&req->stdin_bytes);
	sbx_strv_release(&req->args);
	sbx_strv_release(&req->env);
	sbx_strv_release(&req->out);
	sbx_strv_release(&req->warnings);
}

struct sbx_file_in *sbx_request_new_file(struct sbx_request *req, struct sbx_err *err)
{
	struct sbx_file_in *file;

	if (sbx_array_grow(&req->files, &req->cap_files, req->n_files + 1, FILES_MAX,
			   sizeof(*req->files), err) < 0)
		return NULL;
	file = &req->files[req->n_files++];
	file->data.max = SBX_JOB_LINE_MAX;
	return file;
}

static struct sbx_mount *new_mount(struct sbx_request *req, struct sbx_err *err)
{
	if (sbx_array_grow(&req->mounts, &req->cap_mounts, req->n_mounts + 1, MOUNTS_MAX,
			   sizeof(*req->mounts), err) < 0)
		return NULL;
	return &req->mounts[req->n_mounts++];
}

static char *dup_text(const char *s)
{
	return s ? sbx_xstrdup(s) : NULL;
}

static int copy_strv(const struct sbx_strv *from, struct sbx_strv *to, struct sbx_err *err)
{
	for (size_t i = 0; i < from->n; i++) {
		if (sbx_strv_add(to, from->v[i], err) < 0)
			return -1;
	}
	return 0;
}

/*
 * Everything that lies behind a pointer; ret holds the plain values of from already and owns
 * nothing yet.
 */
static int copy_owned(const struct sbx_request *from, struct sbx_request *ret, struct sbx_err *err)
{
	if (sbx_buf_add(&ret->code, from->code.p, from->code.len, err) < 0 ||
	    sbx_buf_add(&ret->stdin_bytes, from->stdin_bytes.p, from->stdin_bytes.len, err) < 0 ||
	    copy_strv(&from->args, &ret->args, err) < 0 ||
	    copy_strv(&from->env, &ret->env, err) < 0 ||
	    copy_strv(&from->out, &ret->out, err) < 0 ||
	    copy_strv(&from->warnings, &ret->warnings, err) < 0)
		return -1;
	for (size_t i = 0; i < from->n_files; i++) {
		const struct sbx_file_in *f = &from->files[i];
		struct sbx_file_in *file = sbx_request_new_file(ret, err);

		if (!file)
			return -1;
		file->host = dup_text(f->host);
		file->dest = dup_text(f->dest);
		file->mode = f->mode;
		if (sbx_buf_add(&file->data, f->data.p, f->data.len, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < from->n_mounts; i++) {
		struct sbx_mount *m = new_mount(ret, err);

		if (!m)
			return -1;
		m->host = dup_text(from->mounts[i].host);
		m->dest = dup_text(from->mounts[i].dest);
		m->writable = from->mounts[i].writable;
	}
	return 0;
}

int sbx_request_copy(const struct sbx_request *from, struct sbx_request *ret, struct sbx_err *err)
{
	struct sbx_request copy = *from;

	copy.id = dup_text(from->id);
	copy.backend = dup_text(from->backend);
	copy.lang = dup_text(from->lang);
	copy.lang_default = dup_text(from->lang_default);
	copy.code_path = dup_text(from->code_path);
	copy.out_dir = dup_text(from->out_dir);
	copy.workdir = dup_text(from->workdir);
	copy.code = (struct sbx_buf)SBX_BUF_INIT(from->code.max);
	copy.stdin_bytes = (struct sbx_buf)SBX_BUF_INIT(from->stdin_bytes.max);
	copy.args = copy.env = copy.out = copy.warnings = (struct sbx_strv){0};
	copy.files = NULL;
	copy.mounts = NULL;
	copy.n_files = copy.cap_files = copy.n_mounts = copy.cap_mounts = 0;
	if (copy_owned(from, &copy, err) < 0) {
		sbx_request_release(&copy);
		return -1;
	}
	*ret = copy;
	return 0;
}

/* --- values ------------------------------------------------------------------------------- */

/* What a row of the table below and its value are handed to a setter as. */
struct setting {
	struct sbx_request *req;
	void *field;
	struct sbx_str value; /* holds no NUL */
	const char *text;     /* the same, terminated */
	const char *where;
	uint64_t min;
	const char *least; /* min as a person writes it */
};

static int too_small(const struct setting *s, struct sbx_err *err)
{
	return sbx_fail(err, SBX_E_USAGE, "%s: '%.*s' is too small; the least is %s", s->where,
			QUOTE_MAX, s->text, s->least);
}

static int set_text(const struct setting *s, struct sbx_err *err)
{
	char **field = s->field;

	if (s->value.n == 0)
		return sbx_fail(err, SBX_E_USAGE, "%s: the value is empty", s->where);
	free(*field);
	*field = sbx_xstrdup(s->text);
	return 0;
}

int sbx_option_bool(const char *value, const char *where, bool *ret, struct sbx_err *err)
{
	static const char *const words[] = {"false", "true", "0", "1", "no", "yes"};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(words); i++) {
		if (strcmp(value, words[i]) == 0) {
			*ret = i % 2 == 1;
			return 0;
		}
	}
	return sbx_fail(err, SBX_E_USAGE, "%s: '%.*s' is neither 'true' nor 'false'", where,
			QUOTE_MAX, value);
}

static int set_bool(const struct setting *s, struct sbx_err *err)
{
	return sbx_option_bool(s->text, s->where, s->field, err);
}

static int set_duration(const struct setting *s, struct sbx_err *err)
{
	return sbx_parse_duration(s->value, s->where, s->field, err);
}

static int set_size(const struct setting *s, struct sbx_err *err)
{
	uint64_t v;

	if (sbx_parse_size(s->value, s->where, &v, err) < 0)
		return -1;
	if (v < s->min)
		return too_small(s, err);
	if (v > EIB && v != SBX_UNLIMITED)
		return sbx_fail(err, SBX_E_USAGE,
				"%s: '%.*s' is too large, write 'none' for no limit", s->where,
				QUOTE_MAX, s->text);
	*(uint64_t *)s->field = v;
	return 0;
}

static int set_memory(const struct setting *s, struct sbx_err *err)
{
	if (set_size(s, err) < 0)
		return -1;
	derive_scratch(&s->req->limits);
	return 0;
}

static int set_disk(const struct setting *s, struct sbx_err *err)
{
	if (set_size(s, err) < 0)
		return -1;
	s->req->limits.disk_explicit = true;
	return 0;
}

static int set_cpus(const struct setting *s, struct sbx_err *err)
{
	uint64_t v;

	if (sbx_parse_milli(s->value, s->where, &v, err) < 0)
		return -1;
	if (v < s->min)
		return too_small(s, err);
	if (v > CPU_MILLI_MAX && v != SBX_UNLIMITED)
		return sbx_fail(err, SBX_E_USAGE,
				"%s: '%.*s' is more than %d, write 'none' for no limit", s->where,
				QUOTE_MAX, s->text, CPU_MILLI_MAX / 1000);
	*(uint64_t *)s->field = v;
	return 0;
}

static int set_pids(const struct setting *s, struct sbx_err *err)
{
	uint64_t v;

	if (sbx_str_eq(s->value, "none"))
		v = SBX_UNLIMITED;
	else if (sbx_str_u64(s->value, PIDS_MAX, s->where, &v, err) < 0)
		return -1;
	if (v < s->min)
		return too_small(s, err);
	*(uint64_t *)s->field = v;
	return 0;
}

static int set_network(const struct setting *s, struct sbx_err *err)
{
	if (sbx_str_eq(s->value, "none"))
		s->req->network = SBX_NET_NONE;
	else if (sbx_str_eq(s->value, "full"))
		s->req->network = SBX_NET_FULL;
	else
		return sbx_fail(err, SBX_E_USAGE, "%s: '%.*s' is neither 'none' nor 'full'",
				s->where, QUOTE_MAX, s->text);
	return 0;
}

/*
 * Names would have to be looked up in a passwd file, and there are two: the host's and the
 * sandbox's.
 */
static int set_user(const struct setting *s, struct sbx_err *err)
{
	struct sbx_str rest = s->value, uid = {0}, gid;
	uint64_t u, g;

	(void)sbx_str_split(&rest, ':', &uid);
	gid = memchr(s->text, ':', s->value.n) ? rest : uid;
	if (sbx_str_u64(uid, UINT32_MAX - 1, s->where, &u, err) < 0 ||
	    sbx_str_u64(gid, UINT32_MAX - 1, s->where, &g, err) < 0)
		return -1;
	if (u == 0 || g == 0)
		return sbx_fail(err, SBX_E_USAGE,
				"%s: 0 is the guest's own; a program runs as 1 or above", s->where);
	s->req->uid = (uid_t)u;
	s->req->gid = (gid_t)g;
	return 0;
}

static int set_controls(const struct setting *s, struct sbx_err *err)
{
	uint32_t bits;

	if (sbx_control_parse(s->value, s->where, &bits, err) < 0)
		return -1;
	*(uint32_t *)s->field |= bits;
	return 0;
}

static int add_glob(const struct setting *s, struct sbx_err *err)
{
	const char *wrong = sbx_glob_wrong(s->text);

	if (wrong)
		return sbx_fail(err, SBX_E_USAGE,
				"%s: the pattern '%.*s' %s%s; patterns are relative to the work "
				"directory",
				s->where, QUOTE_MAX, s->text,
				strncmp(wrong, "has", 3) == 0 ? "" : "is wrong: ", wrong);
	if (s->req->out.n == SBX_WIRE_LIST_MAX)
		return sbx_fail(err, SBX_E_USAGE, "%s: more than %d patterns", s->where,
				SBX_WIRE_LIST_MAX);
	return sbx_strv_add(&s->req->out, s->text, err);
}

/* --- paths -------------------------------------------------------------------------------- */

/*
 * path without "//", "." and ".." (taken out by name: the folders are the sandbox's, where no link
 * has been made yet).  NULL when
 * ".." leads out.  The result of "/" and "a/.." is empty; a leading "/" is kept elsewhere.
 */
static char *clean_path(const char *path)
{
	char *out = sbx_xcalloc(strlen(path) + 2, 1);
	struct sbx_str rest = sbx_str_of(path), part;
	size_t n = 0;

	while (sbx_str_split(&rest, '/', &part)) {
		if (part.n == 0 || sbx_str_eq(part, "."))
			continue;
		if (!sbx_str_eq(part, "..")) {
			out[n++] = '/';
			memcpy(out + n, part.p, part.n);
			n += part.n;
		} else if (n == 0) {
			free(out);
			return NULL;
		} else {
			while (out[--n] != '/')
				;
		}
		out[n] = '\0';
	}
	return out;
}

static bool has_dots(const char *path)
{
	struct sbx_str rest = sbx_str_of(path), part;

	while (sbx_str_split(&rest, '/', &part)) {
		if (sbx_str_eq(part, ".."))
			return true;
	}
	return false;
}

static int set_workdir(const struct setting *s, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *clean = NULL;

	if (s->text[0] != '/')
		return sbx_fail(err, SBX_E_USAGE, "%s: '%.*s' must be absolute", s->where,
				QUOTE_MAX, s->text);
	clean = clean_path(s->text);
	if (!clean || *clean == '\0')
		return sbx_fail(err, SBX_E_USAGE, "%s: '%.*s' must be a folder below '/'", s->where,
				QUOTE_MAX, s->text);
	if (sbx_place_check_workdir(clean, s->where, err) < 0)
		return -1;
	free(s->req->workdir);
	s->req->workdir = SBX_TAKE(clean);
	return 0;
}

/*
 * Splits HOST:REST at the last colon, so that HOST may hold colons; no colon: rest is NULL. Owned
 * by the caller.
 */
static char *split_host(const char *text, const char **rest)
{
	const char *colon = strrchr(text, ':');

	*rest = colon ? colon + 1 : NULL;
	return colon ? sbx_str_dup((struct sbx_str){text, (size_t)(colon - text)})
		     : sbx_xstrdup(text);
}

/* A host path that cannot be read is found out before anything starts. */
static int check_host(const char *host, const char *where, struct stat *st, struct sbx_err *err)
{
	if (*host == '\0')
		return sbx_fail(err, SBX_E_USAGE, "%s: the path on the host is empty", where);
	if (stat(host, st) == 0 && faccessat(AT_FDCWD, host, R_OK, AT_EACCESS) == 0)
		return 0;
	return sbx_fail(err, SBX_E_USAGE, "%s: cannot read '%s': %s", where, host,
			sbx_strerror(errno));
}

/*
 * The place of HOST below the work directory: DEST, or DEST/NAME for a DEST that ends in '/', or
 * NAME.
 */
static int resolve_dest(const char *host, const char *dest, const char *where, char **ret,
			struct sbx_err *err)
{
	const char *slash = strrchr(host, '/'), *base = slash ? slash + 1 : host;
	SBX_CLEANUP(sbx_freep) char *full = NULL;
	size_t n = dest ? strlen(dest) : 0;

	if (n == 0)
		full = sbx_xstrdup(base);
	else if (dest[n - 1] == '/')
		full = sbx_xasprintf("%s%s", dest, base);
	else
		full = sbx_xstrdup(dest);
	return sbx_path_relative(sbx_str_of(full), where, ret, err);
}

static int add_file(const struct setting *s, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *host = NULL, *dest = NULL;
	struct sbx_file_in *file;
	const char *rest;
	struct stat st;

	host = split_host(s->text, &rest);
	if (check_host(host, s->where, &st, err) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return sbx_fail(err, SBX_E_USAGE,
				"%s: '%s' is a folder; use --mount, or name its files", s->where,
				host);
	if (resolve_dest(host, rest, s->where, &dest, err) < 0)
		return -1;
	file = sbx_request_new_file(s->req, err);
	if (!file)
		return -1;
	file->host = SBX_TAKE(host);
	file->dest = SBX_TAKE(dest);
	return 0;
}

/* HOST:DEST[:ro|rw]; what ends in neither is read-only, which is the safe reading of silence. */
static int add_mount(const struct setting *s, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *text = sbx_xstrdup(s->text), *host = NULL, *dest = NULL;
	bool writable = sbx_str_has_suffix(s->value, ":rw");
	SBX_CLEANUP(sbx_freep) char *real = NULL;
	struct sbx_mount *m;
	const char *rest;
	struct stat st;

	if (writable || sbx_str_has_suffix(s->value, ":ro"))
		text[s->value.n - 3] = '\0';
	host = split_host(text, &rest);
	if (!rest || *rest != '/')
		return sbx_fail(
			err, SBX_E_USAGE,
			"%s: '%s' must be HOST:DEST with an absolute DEST, then ':ro' or ':rw'",
			s->where, s->text);
	if (check_host(host, s->where, &st, err) < 0)
		return -1;
	real = realpath(host, NULL);
	if (!real)
		return sbx_fail(err, SBX_E_USAGE, "%s: cannot find '%s': %s", s->where, host,
				sbx_strerror(errno));
	/* Not taken out by name: there may be a link of the sandbox's before it, as /bin is one. */
	if (has_dots(rest))
		return sbx_fail(err, SBX_E_USAGE, "%s: '%s' has a '..'; write the place itself",
				s->where, rest);
	dest = clean_path(rest);
	if (!dest || *dest == '\0')
		return sbx_fail(err, SBX_E_USAGE, "%s: '%s' is no place below '/'", s->where, rest);
	if (sbx_place_check_mount(dest, s->where, err) < 0)
		return -1;
	m = new_mount(s->req, err);
	if (!m)
		return -1;
	*m = (struct sbx_mount){SBX_TAKE(real), SBX_TAKE(dest), writable};
	return 0;
}

/* --- environment -------------------------------------------------------------------------- */

/*
 * K=V sets, K alone takes the caller's value and is left out where the caller has none; as docker
 * does.
 */
static int add_env(struct sbx_request *req, struct sbx_str entry, const char *where,
		   struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *name = sbx_str_dup(entry);
	char *equals = strchr(name, '=');
	const char *value;

	if (equals)
		*equals = '\0';
	if (*name == '\0')
		return sbx_fail(err, SBX_E_USAGE, "%s: '%.*s' has no name; write NAME=VALUE", where,
				(int)(entry.n < QUOTE_MAX ? entry.n : QUOTE_MAX), entry.p);
	value = equals ? equals + 1 : getenv(name);
	return value ? sbx_strv_setenv(&req->env, name, value, err) : 0;
}

static int set_env(const struct setting *s, struct sbx_err *err)
{
	return add_env(s->req, s->value, s->where, err);
}

/*
 * One line of an --env-file: blank in front is dropped, '#' begins a comment, the value is taken as
 * it stands, quotes included.
 */
static int add_env_line(struct sbx_request *req, struct sbx_str line, const char *where,
			struct sbx_err *err)
{
	struct sbx_str rest, name = {.n = 0};

	if (line.n > 0 && line.p[line.n - 1] == '\r')
		line.n--;
	while (line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t')) {
		line.p++;
		line.n--;
	}
	if (line.n == 0 || line.p[0] == '#')
		return 0;
	rest = line;
	(void)sbx_str_split(&rest, '=', &name);
	if (memchr(name.p, ' ', name.n) || memchr(name.p, '\t', name.n))
		return sbx_fail(err, SBX_E_USAGE, "%s: the name '%.*s' holds a blank", where,
				(int)(name.n < QUOTE_MAX ? name.n : QUOTE_MAX), name.p);
	return add_env(req, line, where, err);
}

static int add_env_file(const struct setting *s, struct sbx_err *err)
{
	struct sbx_buf text __attribute__((cleanup(sbx_buf_release))) = SBX_BUF_INIT(SBX_DOC_MAX);
	struct sbx_str rest, line;
	unsigned int number = 0;

	if (sbx_read_file(s->text, &text, err) < 0) {
		err->code = SBX_E_USAGE; /* a wrong option, not a missing program */
		return sbx_wrap(err, "%s", s->where);
	}
	rest = (struct sbx_str){sbx_buf_str(&text), text.len};
	if (memchr(rest.p, '\0', rest.n))
		return sbx_fail(err, SBX_E_USAGE, "%s: '%s' holds a NUL byte", s->where, s->text);
	if (sbx_str_has_prefix(rest, "\xef\xbb\xbf")) {
		rest.p += 3;
		rest.n -= 3;
	}
	while (sbx_str_split(&rest, '\n', &line)) {
		SBX_CLEANUP(sbx_freep) char *where = NULL;

		where = sbx_xasprintf("%s: '%s' line %u", s->where, s->text, ++number);
		if (add_env_line(s->req, line, where, err) < 0)
			return -1;
	}
	return 0;
}

/* --- the table ---------------------------------------------------------------------------- */

#define FIELD(name_) offsetof(struct sbx_request, name_)

static const struct row {
	const char *name;
	int (*set)(const struct setting *s, struct sbx_err *err);
	size_t field;
	uint64_t min;
	const char *least;
} rows[] = {
	{.name = "backend", .set = set_text, .field = FIELD(backend)},
	{.name = "lang", .set = set_text, .field = FIELD(lang)},
	{.name = "lang-default", .set = set_text, .field = FIELD(lang_default)},
	{.name = "env", .set = set_env},
	{.name = "env-file", .set = add_env_file},
	{.name = "file", .set = add_file},
	{.name = "mount", .set = add_mount},
	{.name = "out", .set = add_glob},
	{.name = "out-dir", .set = set_text, .field = FIELD(out_dir)},
	{.name = "workdir", .set = set_workdir},
	{.name = "timeout", .set = set_duration, .field = FIELD(timeout_ns)},
	{.name = "cpu-time", .set = set_duration, .field = FIELD(cpu_time_ns)},
	{"cpus", set_cpus, FIELD(limits.cpu_milli), CPU_MILLI_MIN, "0.01"},
	{"memory", set_memory, FIELD(limits.memory_bytes), MEMORY_MIN, "4m"},
	{"pids", set_pids, FIELD(limits.pids), 1, "1"},
	{"disk", set_disk, FIELD(limits.disk_bytes), SCRATCH_MIN, "4k"},
	{"max-output", set_size, FIELD(max_output), 1, "1"},
	{.name = "network", .set = set_network},
	{.name = "user", .set = set_user},
	{.name = "read-only", .set = set_bool, .field = FIELD(read_only)},
	{.name = "tty", .set = set_bool, .field = FIELD(tty)},
	{.name = "require-enforced", .set = set_controls, .field = FIELD(require_bits)},
	{.name = "accept-missing", .set = set_controls, .field = FIELD(accept_bits)},
};

bool sbx_option_same(const char *a, const char *b)
{
	for (; *a != '\0' && *b != '\0'; a++, b++) {
		if ((*a == '_' ? '-' : *a) != (*b == '_' ? '-' : *b))
			return false;
	}
	return *a == *b;
}

int sbx_request_set(struct sbx_request *req, const char *name, struct sbx_str value,
		    const char *where, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *text = sbx_str_dup(value);

	if (value.n > 0 && memchr(value.p, '\0', value.n))
		return sbx_fail(err, SBX_E_USAGE, "%s: the value holds a NUL byte", where);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++) {
		struct setting s = {
			.req = req,
			.field = (char *)req + rows[i].field,
			.value = {text, value.n},
			.text = text,
			.where = where,
			.min = rows[i].min,
			.least = rows[i].least,
		};

		if (sbx_option_same(rows[i].name, name))
			return rows[i].set(&s, err);
	}
	return sbx_fail(err, SBX_E_NOT_FOUND, "%s: there is no option '%s'", where, name);
}
