/* DK07 to DK09 and CP: hostile files that come back, and names that go in. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/attack/test.h"
#include "lib/base/buf.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/sandbox/run.h"

#define COLLECT_NS UINT64_C(20000000000)
enum { SWAPS = 12, MIB = 1 << 20 };

/* A run whose files come to a folder of their own; *ret_dir and the result are the caller's. */
static struct sbx_seen *collect(struct sbx_test *t, const char *name, const char *glob,
				char **ret_dir)
{
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	struct sbx_try try = {.name = name,
			      .set = {{"out", glob}, {"out-dir", NULL}, {"timeout", "20s"}}};

	*ret_dir = sbx_xasprintf("%s/%s", t->plant.folder, name);
	(void)mkdir(*ret_dir, 0700);
	try.set[1][1] = *ret_dir;
	sbx_try(t, &try, seen);
	return seen;
}

static bool collected(struct sbx_test *t, enum sbx_probe p, const struct sbx_seen *seen)
{
	if (!seen->started || seen->outcome != SBX_OUT_EXITED) {
		sbx_note(t, p, SBX_VERDICT_UNKNOWN, "it ended as '%s': %s",
			 sbx_outcome_name(seen->outcome), seen->error);
		return false;
	}
	sbx_note_fact(t, p, seen->wall_ns < COLLECT_NS, "%u files were told of", seen->n_files);
	return true;
}

/* ---- what was saved, on the host's disk */

struct saved {
	unsigned int files, links, others, flags, setids;
	uint64_t bytes;
};

static bool has_flag(int fd, const char *flag)
{
	char text[4096];
	ssize_t n = read(fd, text, sizeof(text));

	return n > 0 && memmem(text, (size_t)n, flag, strlen(flag));
}

static void look(int at, const char *name, const char *flag, unsigned int depth, struct saved *s)
{
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct dirent *d;
	struct stat st;
	DIR *dir;

	if (fd < 0) {
		s->links += errno == ELOOP;
		s->others += errno != ELOOP;
		return;
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && depth > 0 && (dir = fdopendir(fd))) {
		while ((d = readdir(dir)))
			if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
				look(fd, d->d_name, flag, depth - 1, s);
		(void)closedir(dir);
		return;
	}
	s->files += S_ISREG(st.st_mode);
	s->others += !S_ISREG(st.st_mode);
	s->setids += (st.st_mode & 07022) != 0;
	s->bytes += (uint64_t)st.st_size;
	s->flags += has_flag(fd, flag);
	close(fd);
}

static struct saved look_at(const struct sbx_test *t, const char *dir)
{
	struct saved s = {.files = 0};

	look(AT_FDCWD, dir, t->plant.flag, 64, &s);
	return s;
}

static void judge_saved(struct sbx_test *t, enum sbx_probe p, const struct saved *s)
{
	sbx_note_fact(t, p, s->flags == 0, "no flag of the host came back");
	sbx_note_fact(t, p, s->links == 0 && s->others == 0, "only regular files were made (%u)",
		      s->files);
}

/* ---- DK */

static const struct sbx_seen_file *file_of(const struct sbx_seen *seen, const char *path)
{
	for (unsigned int i = 0; i < seen->n_files && i < SBX_TRY_FILES; i++)
		if (strcmp(seen->file[i].path, path) == 0)
			return &seen->file[i];
	return NULL;
}

static void try_tree(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_freep) char *dir = NULL;
	struct sbx_seen *seen = collect(t, "DK07", "**", &dir);

	if (collected(t, SBX_P_DK07, seen)) {
		struct saved s = look_at(t, dir);

		sbx_note_fact(t, SBX_P_DK07, seen->ends == 1, "one end");
		judge_saved(t, SBX_P_DK07, &s);
		sbx_note_fact(t, SBX_P_DK07, s.files > 1000, "what could be saved was");
	}
	sbx_note_fact(t, SBX_P_DK07, sbx_wait_unmarked(t, 1000) == 0, "nothing is left of the run");
	free(seen);
}

static void judge_special(struct sbx_test *t, const struct sbx_seen *seen)
{
	static const char *const names[] = {"pipe", "socket", "loop", "zero", "tty", "stdin"};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++) {
		const struct sbx_seen_file *f = file_of(seen, names[i]);

		sbx_note_fact(t, SBX_P_DK08, f && !f->saved && f->skipped[0], "%s: %s", names[i],
			      f && f->skipped[0] ? f->skipped : "not skipped");
	}
}

static void try_special(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_freep) char *dir = NULL;
	struct sbx_seen *seen = collect(t, "DK08", "*", &dir);

	if (collected(t, SBX_P_DK08, seen)) {
		struct saved s = look_at(t, dir);

		judge_special(t, seen);
		judge_saved(t, SBX_P_DK08, &s);
	}
	free(seen);
}

static void try_links(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_freep) char *dir = NULL;
	struct sbx_seen *seen = collect(t, "DK09", "*", &dir);

	if (collected(t, SBX_P_DK09, seen)) {
		struct saved s = look_at(t, dir);

		judge_saved(t, SBX_P_DK09, &s);
		sbx_note_fact(t, SBX_P_DK09, s.bytes < MIB + MIB / 2 && s.files > 0,
			      "%llu KiB were saved", (unsigned long long)s.bytes >> 10);
	}
	free(seen);
}

void sbx_test_trees(struct sbx_test *t)
{
	try_tree(t);
	try_special(t);
	try_links(t);
}

/* ---- CP */

static void try_good(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_freep) char *dir = NULL, *path = NULL;
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(64);
	struct sbx_seen *seen = collect(t, "CP00", "**", &dir);
	struct sbx_err why = SBX_ERR_INIT;

	path = sbx_xasprintf("%s/sub/result", dir);
	if (sbx_read_file(path, &text, &why) == 0 && text.len == 4 &&
	    memcmp(text.p, "a\0b\n", 4) == 0)
		sbx_note(t, SBX_P_CP00, SBX_VERDICT_WORKS, "4 bytes in a folder");
	else
		sbx_note(t, SBX_P_CP00, SBX_VERDICT_UNKNOWN, "%s %s", why.msg, seen->error);
	free(seen);
}

static void try_led(struct sbx_test *t, enum sbx_probe p, const char *name, const char *glob)
{
	SBX_CLEANUP(sbx_freep) char *dir = NULL;
	struct sbx_seen *seen = collect(t, name, glob, &dir);

	if (collected(t, p, seen)) {
		struct saved s = look_at(t, dir);

		judge_saved(t, p, &s);
		for (unsigned int i = 0; i < seen->n_files && i < SBX_TRY_FILES; i++)
			if (seen->file[i].saved && p != SBX_P_CP03)
				sbx_note(t, p, SBX_VERDICT_REACHED, "'%s' was saved",
					 seen->file[i].path);
	}
	free(seen);
}

/* Saved with the size that was told, or not at all. */
static void try_growing(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_freep) char *dir = NULL, *path = NULL;
	struct sbx_seen *seen = collect(t, "CP11", "*", &dir);
	const struct sbx_seen_file *growing = file_of(seen, "growing");
	struct stat st;

	path = sbx_xasprintf("%s/growing", dir);
	if (collected(t, SBX_P_CP11, seen)) {
		if (!growing)
			sbx_note(t, SBX_P_CP11, SBX_VERDICT_UNKNOWN,
				 "the growing file was not told of");
		else if (growing->saved)
			sbx_note_fact(t, SBX_P_CP11,
				      lstat(path, &st) == 0 &&
					      (uint64_t)st.st_size == growing->size,
				      "%llu bytes, as told", (unsigned long long)growing->size);
		else
			sbx_note(t, SBX_P_CP11, SBX_VERDICT_REFUSED, "%s", growing->skipped);
	}
	free(seen);
}

static void try_modes(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_freep) char *dir = NULL;
	struct sbx_seen *seen = collect(t, "CP04", "*", &dir);

	if (collected(t, SBX_P_CP04, seen)) {
		struct saved s = look_at(t, dir);

		judge_saved(t, SBX_P_CP04, &s);
		sbx_note_fact(t, SBX_P_CP04, s.setids == 0,
			      "no set-id bit and nothing that others may write");
		sbx_note_fact(t, SBX_P_CP04, s.files == 4, "%u of 4 files", s.files);
	}
	free(seen);
}

static void try_liars(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_freep) char *dir = NULL, *lied = NULL;
	struct sbx_seen *seen = collect(t, "CP08", "**", &dir);

	lied = sbx_xasprintf("%s/lied", dir);
	if (collected(t, SBX_P_CP08, seen))
		sbx_note_fact(t, SBX_P_CP08, access(lied, F_OK) < 0 && file_of(seen, "result"),
			      "none of them was run");
	free(seen);
}

/* What is told as a destination of --file must be refused, or be a plain name. */
static void try_names_in(struct sbx_test *t)
{
	static const char *const bad[] = {"../x",
					  "/x",
					  "a/../../x",
					  "..",
					  ".",
					  "a/..",
					  "./..",
					  "/sandbox-evil/x",
					  "../sandbox-evil/x",
					  "../../../../tmp/x"};
	SBX_CLEANUP(sbx_freep) char *host = sbx_xasprintf("%s/in", t->plant.folder);
	struct sbx_err why = SBX_ERR_INIT;

	if (sbx_replace_file(host, "x", 1, 0600, &why) < 0) {
		sbx_note(t, SBX_P_CP05, SBX_VERDICT_UNKNOWN, "%s", why.msg);
		return;
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++) {
		SBX_CLEANUP(sbx_freep) char *spec = sbx_xasprintf("%s:%s", host, bad[i]);
		enum sbx_probe p = strstr(bad[i], "evil") ? SBX_P_CP07 : SBX_P_CP05;
		struct sbx_request req;

		sbx_request_init(&req);
		sbx_err_clear(&why);
		if (sbx_request_set(&req, "file", sbx_str_of(spec), "--file", &why) == 0)
			sbx_note(t, p, SBX_VERDICT_REACHED, "'%s' was taken", bad[i]);
		else
			sbx_note(t, p, SBX_VERDICT_REFUSED, "%s", sbx_code_name(why.code));
		sbx_request_release(&req);
	}
}

/* Patterns that would leave the work directory bring nothing. */
static void try_globs_out(struct sbx_test *t)
{
	static const char *const globs[] = {"../sandbox-evil/*", "/etc/passwd", "../etc/passwd",
					    "/sandbox-evil/x"};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(globs); i++) {
		SBX_CLEANUP(sbx_freep) char *dir = NULL;
		struct sbx_seen *seen = collect(t, "CP00", globs[i], &dir);

		if (seen->code == SBX_E_USAGE)
			sbx_note(t, SBX_P_CP07, SBX_VERDICT_REFUSED, "usage");
		else
			sbx_note_fact(t, SBX_P_CP07, seen->n_files == 0, "nothing for '%s'",
				      globs[i]);
		free(seen);
	}
}

void sbx_test_copy(struct sbx_test *t)
{
	try_good(t);
	try_led(t, SBX_P_CP01, "CP01", "*");
	try_led(t, SBX_P_CP02, "CP02", "**");
	try_led(t, SBX_P_CP02, "CP02", "d/etc/*");
	for (int i = 0; i < SWAPS; i++)
		try_led(t, SBX_P_CP03, "CP03", "d/**");
	try_modes(t);
	try_growing(t);
	try_liars(t);
	try_names_in(t);
	try_globs_out(t);
}
