/* Files out of a sandbox that lies: what it sends is made up, and what was made of it below --out-dir is looked at. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest-digest.h"
#include "lib/base/buf.h"
#include "lib/base/fd.h"
#include "lib/base/limits.h"
#include "lib/guest/wire.h"
#include "lib/sandbox/live.h"
#include "t/unit/tap.h"

struct set {
	struct sbx_sink sink;
	struct sbx_buf picture; /* of the events, a line each */
	struct sbx_run_env env;
	struct sbx_request req;
	struct sbx_box box;
	struct sbx_live live;
	int guest; /* the sandbox's end */
	char top[32], out[48], outside[48];
	const char *
		swap; /* a folder of --out-dir that becomes a link to outside at the first file event */
};

/* ---- events */

static void swap_folder(struct set *s)
{
	char path[128], aside[128];

	(void)snprintf(path, sizeof path, "%s/%s", s->out, s->swap);
	(void)snprintf(aside, sizeof aside, "%s/aside", s->top);
	ok_int(rename(path, aside), 0);
	ok_int(symlink(s->outside, path), 0);
	s->swap = NULL;
}

static int put(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err)
{
	struct set *s = (struct set *)sink;

	if (ev->type == SBX_EV_WARN)
		return sbx_buf_addf(&s->picture, err, "warn %s\n", ev->warn.code);
	ok_int(ev->type, SBX_EV_FILE);
	ok((ev->file.saved_as == NULL) == (ev->file.skipped != NULL));
	ok((ev->file.sha256 == NULL) == (ev->file.skipped != NULL));
	if (s->swap)
		swap_folder(s);
	return sbx_buf_addf(&s->picture, err, "%s %.*s %llu %s\n", ev->file.change,
			    (int)ev->file.path.n, ev->file.path.p,
			    (unsigned long long)ev->file.size,
			    ev->file.skipped ? ev->file.skipped : "saved");
}

static const struct sbx_sink_ops ops = {.put = put};

/* ---- what the sandbox sends */

static void frame(struct set *s, uint8_t type, uint8_t stream, const void *p, size_t n)
{
	struct sbx_frame f = {
		.type = type, .stream = stream, .req = type != SBX_WIRE_HELLO, .n = (uint32_t)n};
	uint8_t header[SBX_WIRE_HEADER];

	sbx_wire_header(header, &f);
	ok_int(write(s->guest, header, sizeof header), sizeof header);
	ok_int(write(s->guest, p, n), n);
}

static void entry(struct set *s, uint8_t kind, uint32_t mode, uint64_t size, const char *path)
{
	uint8_t p[8192];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_wire_entry m = {.kind = kind, .mode = mode, .size = size, .path = path};

	sbx_code_entry(&c, &m);
	frame(s, SBX_WIRE_ENTRY, 0, p, c.at);
}

static void eof(struct set *s, uint32_t sys)
{
	uint8_t p[4];
	struct sbx_coder c = sbx_encoder(p, sizeof p);

	sbx_code_u32(&c, &sys);
	frame(s, SBX_WIRE_EOF, 1, p, c.at);
}

static void whole(struct set *s, const char *path, const char *text)
{
	entry(s, SBX_WIRE_KIND_FILE, 0600, strlen(text), path);
	if (*text)
		frame(s, SBX_WIRE_DATA, 1, text, strlen(text));
	eof(s, 0);
}

static void done(struct set *s, uint32_t more)
{
	uint8_t p[64];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_wire_done m = {.more = more, .what = ""};

	sbx_code_done(&c, &m);
	frame(s, SBX_WIRE_DONE, 0, p, c.at);
}

/* ---- set up */

static void greet(struct set *s)
{
	uint8_t p[128];
	struct sbx_coder c = sbx_encoder(p, sizeof p);
	struct sbx_wire_hello m = {.version = SBX_WIRE_VERSION, .digest = SBX_GUEST_DIGEST};

	sbx_code_hello(&c, &m);
	frame(s, SBX_WIRE_HELLO, 0, p, c.at);
}

static void set_up(struct set *s, const char *glob, struct sbx_err *err)
{
	struct sbx_wire_setup setup = {.workdir = "/w"};
	int pair[2] = {-1, -1};

	*s = (struct set){.sink.ops = &ops,
			  .picture.max = 1 << 20,
			  .env.signal_fd = -1,
			  .top = "/tmp/sbx-collect-XXXXXX"};
	ok(mkdtemp(s->top) != NULL);
	(void)snprintf(s->out, sizeof s->out, "%s/out", s->top);
	(void)snprintf(s->outside, sizeof s->outside, "%s/outside", s->top);
	ok_int(mkdir(s->outside, 0700), 0);
	ok_int(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	s->guest = pair[1];
	s->env.sink = &s->sink;
	s->req.out_dir = s->out;
	ok_call(sbx_strv_add(&s->req.out, glob, err));
	s->box.stream = sbx_stream_fd(pair[0]);
	s->live = (struct sbx_live){.env = &s->env,
				    .req = &s->req,
				    .box = &s->box,
				    .out_fd = -1,
				    .em = {.sink = &s->sink, .id = "r"}};
	ok_call(sbx_client_open(s->box.stream, &setup, &s->live.client, err));
	ok_call(sbx_live_open_out(&s->live, err));
	greet(s);
}

static int remove_one(const char *path, const struct stat *st SBX_UNUSED, int flag SBX_UNUSED,
		      struct FTW *ftw SBX_UNUSED)
{
	return remove(path);
}

static void tear_down(struct set *s)
{
	sbx_client_free(s->live.client);
	sbx_stream_free(s->box.stream);
	sbx_close(s->live.out_fd);
	sbx_close(s->guest);
	sbx_strv_release(&s->req.out);
	sbx_buf_release(&s->picture);
	(void)nftw(s->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static size_t found;

static int count_one(const char *path SBX_UNUSED, const struct stat *st SBX_UNUSED, int flag,
		     struct FTW *ftw SBX_UNUSED)
{
	found += flag != FTW_D;
	return 0;
}

/* What is below a folder, folders apart. */
static size_t files_below(const char *path)
{
	found = 0;
	(void)nftw(path, count_one, 16, FTW_PHYS);
	return found;
}

static void ok_file(struct set *s, const char *name, unsigned int mode, const char *want,
		    struct sbx_err *err)
{
	struct sbx_buf buf = SBX_BUF_INIT(1 << 20);
	struct stat st;
	char path[4200];

	(void)snprintf(path, sizeof path, "%s/%s", s->out, name);
	ok_int(lstat(path, &st), 0);
	ok(S_ISREG(st.st_mode));
	ok_int(st.st_mode & 0777, mode);
	ok_call(sbx_read_file(path, &buf, err));
	ok_str(sbx_buf_str(&buf), want);
	sbx_buf_release(&buf);
}

/* ---- */

TEST(saves)
{
	struct set s;

	set_up(&s, "**", err);
	(void)umask(022);
	whole(&s, "a/b/c", "one");
	entry(&s, SBX_WIRE_KIND_FILE, 0700, 10, "a.sh");
	frame(&s, SBX_WIRE_DATA, 1, "tw", 2); /* it became shorter meanwhile */
	frame(&s, SBX_WIRE_DATA, 1, "o", 1);
	eof(&s, 0);
	whole(&s, "empty", "");
	entry(&s, SBX_WIRE_KIND_SYMLINK, 0777, 5, "link");
	entry(&s, SBX_WIRE_KIND_BIG, 0777, UINT64_MAX, "sparse");
	entry(&s, SBX_WIRE_KIND_UNREADABLE, 0, 40, "z");
	done(&s, SBX_WIRE_MORE_FILES | SBX_WIRE_MORE_DEPTH);
	ok_call(sbx_live_collect(&s.live, err));
	ok_str(sbx_buf_str(&s.picture),
	       "added a/b/c 3 saved\nadded a.sh 3 saved\nadded empty 0 saved\n"
	       "added link 5 symlink\nadded sparse 18446744073709551615 too_large\n"
	       "added z 40 unreadable\nwarn files_left\nwarn files_too_deep\n");
	ok_file(&s, "a/b/c", 0644, "one", err);
	ok_file(&s, "a.sh", 0755, "two", err);
	ok_file(&s, "empty", 0644, "", err);
	ok_int(files_below(s.out), 3);
	tear_down(&s);
}

TEST(hostile_paths)
{
	static const char *const paths[] = {
		"/x",        "../x",   "a/../x",      "a/../../x", "..",
		".",         "",       "./a",         "a/",        "a//b",
		"a/./b",     "no.txt", ".hidden.png", "a/b.png",   "../outside/x.png",
		"/tmp/x.png"};
	char longest[5000];

	memset(longest, 'x', sizeof longest);
	memcpy(longest + sizeof longest - 5, ".png", 5);
	for (size_t i = 0; i <= SBX_ARRAY_SIZE(paths); i++) {
		const char *path = i < SBX_ARRAY_SIZE(paths) ? paths[i] : longest;
		struct set s;

		set_up(&s, "*.png", err);
		whole(&s, path, "x");
		done(&s, 0);
		ok_fail(sbx_live_collect(&s.live, err), SBX_E_BACKEND, "not asked for");
		ok_str(sbx_buf_str(&s.picture), "");
		ok_int(files_below(s.top), 0);
		tear_down(&s);
	}
}

/* Paths in the order of the guest's walk; the second of each pair may not follow the first. */
TEST(twice_or_out_of_order)
{
	static const char *const pairs[][2] = {{"a", "a"},         {"b", "a"},    {"a/b", "a/b"},
					       {"a.txt", "a/b"},   {"a/b", "a"},  {"a/b/c", "a/b"},
					       {"a/b.c", "a/b/c"}, {"\xff", "a"}, {"ab", "a"}};
	struct set s;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(pairs); i++) {
		set_up(&s, "**", err);
		entry(&s, SBX_WIRE_KIND_PIPE, 0, 0, pairs[i][0]);
		entry(&s, SBX_WIRE_KIND_PIPE, 0, 0, pairs[i][1]);
		done(&s, 0);
		ok_fail(sbx_live_collect(&s.live, err), SBX_E_BACKEND, "not asked for");
		tear_down(&s);
	}
	set_up(&s, "**", err);
	whole(&s, "a", "1");
	whole(&s, "a/b", "2"); /* cannot be, and is not saved */
	whole(&s, "a/c/d", "3");
	whole(&s, "a.txt", "4");
	whole(&s, "a\xff", "5");
	whole(&s, "aa", "6");
	done(&s, 0);
	/* 0xff is the last byte there is. */
	ok_fail(sbx_live_collect(&s.live, err), SBX_E_BACKEND, "not asked for");
	ok_str(sbx_buf_str(&s.picture),
	       "added a 1 saved\nwarn file_not_saved\nadded a/b 1 not_written\nwarn "
	       "file_not_saved\n"
	       "added a/c/d 1 not_written\nadded a.txt 1 saved\nadded a\xff 1 saved\n");
	tear_down(&s);
}

/* Frames that cannot follow each other: whatever was begun is not left behind. */
TEST(broken_orders)
{
	static const char *const words[] = {
		"two files at once",   "two files at once", "data of no file", "data of no file",
		"data of no file",     "data of no file",   "did not send",    "half a file",
		"than it was allowed", "ended unexpectedly"};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(words); i++) {
		struct set s;

		set_up(&s, "*", err);
		if (i < 5 || i == 7 || i == 9)
			entry(&s, SBX_WIRE_KIND_FILE, 0600, 3, "a");
		if (i < 2)
			entry(&s, i ? SBX_WIRE_KIND_PIPE : SBX_WIRE_KIND_FILE, 0600, 3, "b");
		if (i == 2)
			frame(&s, SBX_WIRE_DATA, 2, "abc", 3);
		if (i == 3)
			frame(&s, SBX_WIRE_DATA, 1, "abcd", 4);
		if (i == 4) {
			eof(&s, 0);
			frame(&s, SBX_WIRE_DATA, 1, "abc", 3);
		}
		if (i == 5)
			frame(&s, SBX_WIRE_DATA, 1, "abc", 3);
		if (i == 6)
			eof(&s, 0);
		if (i == 8)
			entry(&s, SBX_WIRE_KIND_FILE, 0600, SBX_OUT_BYTES + 1, "a");
		if (i == 9)
			(void)shutdown(s.guest, SHUT_WR);
		else
			done(&s, 0);
		ok_fail(sbx_live_collect(&s.live, err), i == 9 ? SBX_E_LOST : SBX_E_BACKEND,
			words[i]);
		ok_int(files_below(s.top), i == 4);
		tear_down(&s);
	}
}

TEST(more_than_there_may_be)
{
	struct set s;

	/* By their sizes: none of it has to come. */
	set_up(&s, "*", err);
	entry(&s, SBX_WIRE_KIND_FILE, 0600, SBX_OUT_BYTES - 1, "a");
	eof(&s, 0);
	entry(&s, SBX_WIRE_KIND_FILE, 0600, 1, "b");
	eof(&s, 0);
	entry(&s, SBX_WIRE_KIND_FILE, 0600, 1, "c");
	done(&s, 0);
	ok_fail(sbx_live_collect(&s.live, err), SBX_E_BACKEND, "than it was allowed");
	ok_int(files_below(s.out), 2);
	tear_down(&s);
}

/* ---- what is already there */

TEST(links_are_replaced)
{
	struct set s;
	char path[128], target[128];

	set_up(&s, "**", err);
	(void)snprintf(target, sizeof target, "%s/kept", s.outside);
	ok_int(open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0, 1);
	(void)snprintf(path, sizeof path, "%s/a", s.out);
	ok_int(symlink(target, path), 0);
	(void)snprintf(path, sizeof path, "%s/b", s.out);
	ok_int(link(target, path), 0);
	whole(&s, "a", "new");
	whole(&s, "b", "new");
	done(&s, 0);
	ok_call(sbx_live_collect(&s.live, err));
	ok_str(sbx_buf_str(&s.picture), "added a 3 saved\nadded b 3 saved\n");
	ok_file(&s, "a", 0644, "new", err);
	ok_file(&s, "b", 0644, "new", err);
	ok_file(&s, "../outside/kept", 0600, "", err);
	ok_int(files_below(s.top), 3);
	tear_down(&s);
}

TEST(linked_folders_are_refused)
{
	struct set s;
	char path[128];

	set_up(&s, "**", err);
	(void)snprintf(path, sizeof path, "%s/d", s.out);
	ok_int(symlink(s.outside, path), 0);
	(void)snprintf(path, sizeof path, "%s/f", s.out);
	ok_int(mkdir(path, 0700), 0);
	whole(&s, "d/e/x", "new");
	whole(&s, "d/x", "new");
	whole(&s, "f", "new");
	whole(&s, "g", "new");
	done(&s, 0);
	ok_call(sbx_live_collect(&s.live, err));
	ok_str(sbx_buf_str(&s.picture),
	       "warn file_not_saved\nadded d/e/x 3 not_written\nwarn file_not_saved\n"
	       "added d/x 3 not_written\nwarn file_not_saved\nadded f 3 not_written\nadded g 3 "
	       "saved\n");
	ok_int(files_below(s.outside), 0);
	ok_int(files_below(s.out), 2); /* the link and g */
	tear_down(&s);
}

/* Somebody swaps a folder between two files. */
TEST(a_folder_that_is_swapped)
{
	struct set s;

	set_up(&s, "**", err);
	s.swap = "d";
	whole(&s, "d/a", "1");
	whole(&s, "d/b", "2");
	done(&s, 0);
	ok_call(sbx_live_collect(&s.live, err));
	ok_str(sbx_buf_str(&s.picture),
	       "added d/a 1 saved\nwarn file_not_saved\nadded d/b 1 not_written\n");
	ok_int(files_below(s.outside), 0);
	tear_down(&s);
}

/* What the guest could not read to its end is not there. */
TEST(unreadable)
{
	struct set s;

	set_up(&s, "*", err);
	entry(&s, SBX_WIRE_KIND_FILE, 0600, 3, "a");
	frame(&s, SBX_WIRE_DATA, 1, "x", 1);
	eof(&s, EIO);
	entry(&s, SBX_WIRE_KIND_FILE, 0600, 3, "b");
	eof(&s, UINT32_MAX);
	done(&s, 0);
	ok_call(sbx_live_collect(&s.live, err));
	ok_str(sbx_buf_str(&s.picture),
	       "warn file_not_saved\nadded a 1 not_written\nwarn file_not_saved\n"
	       "added b 0 not_written\n");
	ok_int(files_below(s.out), 0);
	tear_down(&s);
}

TAP_MAIN(RUN(saves), RUN(hostile_paths), RUN(twice_or_out_of_order), RUN(broken_orders),
	 RUN(more_than_there_may_be), RUN(links_are_replaced), RUN(linked_folders_are_refused),
	 RUN(a_folder_that_is_swapped), RUN(unreadable))
