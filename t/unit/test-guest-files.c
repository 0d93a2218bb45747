/* The guest and the client at both ends of a channel: files in and out of the work directory. */
#include "t/unit/guest.h"

/* ---- in */

TEST(put)
{
	struct box box = {0};
	struct job job = {0};

	if (box_start(&box, err)) {
		ok_int(box_put(&box, "a", 0644, SBX_STR("one"), err), 0);
		ok_int(box_put(&box, "./deep/er/b", 0755, SBX_STR("two"), err), 0);
		ok_int(box_put(&box, "empty", 0400, SBX_STR(""), err), 0);
		ok_int(box_put(&box, "odd\n \xff", 06777, SBX_STR("x"), err), 0);
		if (job_run(&job, &box,
			    "cat a deep/er/b empty; echo; stat -c '%a %u %n' a deep deep/er/b "
			    "empty odd*",
			    err))
			ok_out(&job, 1,
			       box.one_id ? "onetwo\n644 0 a\n755 0 deep\n755 0 deep/er/b\n400 0 "
					    "empty\n"
					    "777 0 odd\n \xff\n"
					  : "onetwo\n644 65532 a\n755 65532 deep\n755 65532 "
					    "deep/er/b\n"
					    "400 65532 empty\n777 65532 odd\n \xff\n");
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(put_follows_nothing)
{
	struct box box = {0};
	struct job job = {0};

	if (box_start(&box, err) &&
	    job_run(&job, &box,
		    "mkdir there dir; echo kept >there/file; ln -s there/file link; ln -s there "
		    "folder;\n"
		    "ln -s /tmp/guest-test-escape out; ln there/file hard; mkfifo pipe",
		    err)) {
		ok_int(box_put(&box, "link", 0644, SBX_STR("new"), err), 0);
		ok_int(box_put(&box, "hard", 0644, SBX_STR("new"), err), 0);
		ok_int(box_put(&box, "out", 0644, SBX_STR("new"), err), 0);
		ok_int(box_put(&box, "pipe", 0644, SBX_STR("new"), err), 0);
		ok_int(box_put(&box, "folder/file", 0644, SBX_STR("new"), err), ENOTDIR);
		ok_int(box_put(&box, "dir", 0644, SBX_STR("new"), err), EISDIR);
		ok_int(box_put(&box, "hard/er", 0644, SBX_STR("new"), err), ENOTDIR);
		job_release(&job);
		job = (struct job){0};
		if (job_run(&job, &box,
			    "cat there/file; stat -c '%F %n' link hard out pipe; ls -d "
			    "/tmp/guest-test*",
			    err)) {
			ok_out(&job, 1,
			       "kept\nregular file link\nregular file hard\nregular file out\n"
			       "regular file pipe\n");
		}
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(put_stays_below)
{
	static const char *const paths[] = {"",    ".",    "..",     "/",         "/etc/x", "a/",
					    "a/.", "../x", "a/../x", "a/../../x", "a//x",   "a/.."};
	struct box box = {0};
	struct job job = {0};

	if (box_start(&box, err)) {
		for (size_t i = 0; i < SBX_ARRAY_SIZE(paths); i++)
			ok_int(box_put(&box, paths[i], 0644, SBX_STR("x"), err), EINVAL);
		if (job_run(&job, &box, "find . -type f", err))
			ok_out(&job, 1, "");
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* All of it is taken, and dropped; the sandbox goes on. */
TEST(put_too_much)
{
	struct box box = {.disk = "64k"};
	struct job job = {0};
	static char big[3 << 20];

	if (box_start(&box, err)) {
		ok_int(box_put(&box, "big", 0644, (struct sbx_str){big, sizeof big}, err), ENOSPC);
		if (job_run(&job, &box, "stat -c %s big; rm big; exit 1", err)) {
			ok_out(&job, 1, "65536\n");
			ok_int(job.end.full, 0);
		}
		job_release(&job);
		job = (struct job){0};
		if (job_run(&job, &box, "cat /dev/zero >more; echo $?", err))
			ok_int(job.end.full, 1 << SBX_WIRE_WORKDIR);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* ---- out */

struct got {
	struct box *box;
	uint32_t req;
	bool entry;
	struct sbx_buf text; /* a line an entry, and the data of small ones */
	uint64_t bytes;
	struct put done;
};

static int on_entry(void *ctx, const struct sbx_wire_entry *e, struct sbx_err *err)
{
	static const char *const kinds[] = {"?",    "file",   "big",    "link",
					    "pipe", "socket", "device", "unreadable"};
	struct got *got = ctx;

	ok(!got->entry);
	got->entry = e->kind == SBX_WIRE_KIND_FILE;
	return sbx_buf_addf(&got->text, err, "%s%s %o %s\n", e->modified ? "modified " : "",
			    kinds[e->kind], e->mode, e->path);
}

static int got_data(void *ctx, unsigned int stream, struct sbx_str s, struct sbx_err *err)
{
	struct got *got = ctx;

	ok(got->entry);
	got->bytes += s.n;
	if (s.n < 100 && sbx_buf_add(&got->text, s.p, s.n, err) != 0)
		return -1;
	return sbx_client_credit(got->box->client, got->req, stream, s.n, err);
}

static int got_eof(void *ctx, unsigned int stream SBX_UNUSED, uint32_t sys,
		   struct sbx_err *err SBX_UNUSED)
{
	struct got *got = ctx;

	ok(got->entry);
	ok_int(sys, 0);
	got->entry = false;
	return 0;
}

static int got_done(void *ctx, const struct sbx_wire_done *done, struct sbx_err *err)
{
	ok_int(done->sys, 0);
	return on_done(&((struct got *)ctx)->done, done, err);
}

/* What GET tells of glob (and glob2). */
static struct got get(struct box *box, struct sbx_wire_get m, const char *glob, const char *glob2,
		      struct sbx_err *err)
{
	static const struct sbx_call_ops ops = {
		.entry = on_entry, .data = got_data, .eof = got_eof, .done = got_done};
	struct got got = {.box = box, .text.max = 16 << 20};
	uint64_t end = sbx_deadline(SECONDS * 1000000000ull / 2);

	m.globs[0] = glob;
	m.globs[1] = glob2;
	m.n_globs = glob2 ? 2 : 1;
	m.max_files = m.max_files ? m.max_files : 100000;
	m.max_depth = m.max_depth ? m.max_depth : 32;
	m.max_bytes = m.max_bytes ? m.max_bytes : UINT64_MAX;
	if (!ok_call(sbx_client_request(box->client, &ops, &got, &got.req, err)) ||
	    !ok_call(sbx_client_get(box->client, got.req, &m, err)))
		return got;
	while (!got.done.over && sbx_now_ns() < end)
		if (!ok_call(box_turn(box, 50, err)))
			break;
	ok(got.done.over && !got.entry);
	return got;
}

static void ok_get(struct box *box, struct sbx_wire_get m, const char *glob, const char *glob2,
		   const char *want, uint32_t more, struct sbx_err *err)
{
	struct got got = get(box, m, glob, glob2, err);

	ok_str(sbx_buf_str(&got.text), want);
	ok_int(got.done.more, more);
	sbx_buf_release(&got.text);
}

static void mark(struct box *box, const char *glob, struct sbx_err *err)
{
	static const struct sbx_call_ops ops = {.done = on_done};
	struct sbx_wire_get m = {.max_depth = 1000, .n_globs = 1, .globs = {glob}};
	struct put put = {0};
	uint32_t req;

	ok_call(sbx_client_request(box->client, &ops, &put, &req, err));
	ok_call(sbx_client_mark(box->client, req, &m, err));
	while (!put.over)
		if (!ok_call(box_turn(box, 1000, err)))
			return;
	ok_int(put.sys, 0);
}

static const struct sbx_wire_get all;

TEST(new_and_changed)
{
	struct box box = {0};
	struct job job = {0};

	if (box_start(&box, err)) {
		ok_int(box_put(&box, "same", 0644, SBX_STR("s"), err), 0);
		ok_int(box_put(&box, "changed", 0644, SBX_STR("1"), err), 0);
		ok_int(box_put(&box, "replaced", 0644, SBX_STR("r"), err), 0);
		mark(&box, "*", err);
		/* At once, the same number of bytes, in the same file, with its old times. */
		if (job_run(&job, &box,
			    "touch -r changed ref; echo -n 2 >changed; touch -r ref changed; rm "
			    "ref\n"
			    "echo -n R >x; mv x replaced; echo -n n >new",
			    err))
			ok_get(&box, all, "*", NULL,
			       "modified file 644 changed\n2file 600 new\nnmodified file 600 "
			       "replaced\nR",
			       0, err);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(kinds)
{
	struct box box = {0};
	struct job job = {0};

	if (box_start(&box, err) &&
	    job_run(&job, &box,
		    "ln -s /etc/passwd link; ln -s nowhere broken; mkfifo pipe; echo -n f >file; "
		    "mkdir d\n"
		    "echo -n no >secret; chmod 0 secret; ln -s d folder; echo -n in >d/in; echo . "
		    ">.dot\n"
		    "perl -e 'use IO::Socket::UNIX; IO::Socket::UNIX->new(Local => \"sock\", "
		    "Listen => 1)'",
		    err))
		ok_get(&box, all, "**", NULL,
		       box.one_id
			       ? "link 777 broken\nfile 600 d/in\ninfile 600 file\nflink 777 "
				 "folder\n"
				 "link 777 link\npipe 600 pipe\nfile 0 secret\nnosocket 700 sock\n"
			       : "link 777 broken\nfile 600 d/in\ninfile 600 file\nflink 777 "
				 "folder\n"
				 "link 777 link\npipe 600 pipe\nunreadable 0 secret\nsocket 700 "
				 "sock\n",
		       0, err);
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* What cannot be searched is told of, where there might be what was asked for; what was there before is not new. */
TEST(unreadable_folders)
{
	struct box box = {0};
	struct job job = {0};

	if (!box_start(&box, err))
		return;
	/* With one id the guest may read what is the program's, whatever its mode. */
	if (box.one_id) {
		(void)box_end(&box);
		return;
	}
	if (job_run(&job, &box, "mkdir -p a/b old n; chmod 0 old", err)) {
		mark(&box, "*/*.png", err);
		job_release(&job);
		job = (struct job){0};
		if (job_run(&job, &box, "mkdir c; echo -n x >n/x.png; chmod 0 a/b c", err)) {
			ok_get(&box, all, "*/*.png", NULL,
			       "unreadable 0 c\nfile 600 n/x.png\nxmodified unreadable 0 old\n", 0,
			       err);
			ok_get(&box, all, "**/*.png", NULL,
			       "unreadable 0 a/b\nunreadable 0 c\nfile 600 n/x.png\nxmodified "
			       "unreadable 0 old\n",
			       0, err);
			ok_get(&box, all, "*.png", NULL, "", 0, err);
		}
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* That a folder was read shows on its time of access. */
TEST(mark_reads_what_can_match)
{
	static const struct {
		const char *glob, *times;
	} cases[] = {{"*.png", "1 1\n"}, {"far/*.png", "2 1\n"}, {"**/x", "2 2\n"}};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		struct box box = {0};
		struct job job = {0};

		if (box_start(&box, err) &&
		    job_run(&job, &box, "mkdir -p far/away; touch -a -d @1 far/away far", err)) {
			mark(&box, cases[i].glob, err);
			job_release(&job);
			job = (struct job){0};
			if (job_run(&job, &box,
				    "for d in far far/away; do t=$(stat -c %X $d); "
				    "[ $t = 1 ] || t=2; printf '%s ' $t; done | sed 's/ $/\\n/'",
				    err))
				ok_out(&job, 1, cases[i].times);
		}
		job_release(&job);
		ok_int(box_end(&box), 0);
	}
}

TEST(globs)
{
	struct box box = {0};
	struct job job = {0};

	if (box_start(&box, err) && job_run(&job, &box,
					    "mkdir -p a/b a.b .h; for f in a/1.png a/b/2.png "
					    "a.b/3.png 4.png 5.txt .h/6.png; do\n"
					    "echo -n . >$f; done",
					    err)) {
		ok_get(&box, all, "*.png", NULL, "file 600 4.png\n.", 0, err);
		ok_get(&box, all, "a/*", "5*", "file 600 5.txt\n.file 600 a/1.png\n.", 0, err);
		ok_get(&box, all, ".h/*", NULL, "file 600 .h/6.png\n.", 0, err);
		/* Component by component: a/... before a.b/... */
		ok_get(&box, all, "**/*.png", NULL,
		       "file 600 4.png\n.file 600 a/1.png\n.file 600 a/b/2.png\n.file 600 "
		       "a.b/3.png\n.",
		       0, err);
		ok_get(&box, all, "nothing", NULL, "", 0, err);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(names_of_any_bytes)
{
	struct box box = {0};
	struct job job = {0};

	if (box_start(&box, err) && job_run(&job, &box,
					    "for n in \"$(printf 'a\\nb')\" \"$(printf '\\377')\" "
					    "\"$(printf '\\001')\" ' ' '*' '\\'; do\n"
					    "echo -n . >\"$n\"; done",
					    err))
		ok_get(&box, all, "*", NULL,
		       "file 600 \001\n.file 600  \n.file 600 *\n.file 600 \\\n.file 600 a\nb\n."
		       "file 600 \377\n.",
		       0, err);
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(bounds)
{
	struct box box = {0};
	struct job job = {0};

	if (box_start(&box, err) &&
	    job_run(&job, &box,
		    "echo -n 1234567890 >a; head -c 100 /dev/zero >b; echo -n 1234567890 >c; echo "
		    "-n 5 >d\n"
		    "truncate -s 4T sparse; mkdir -p 1/2/3; echo -n x >1/2/3/x",
		    err)) {
		ok_get(&box, (struct sbx_wire_get){.max_bytes = 20}, "*", NULL,
		       "file 600 a\n1234567890big 600 b\nfile 600 c\n1234567890big 600 d\nbig 600 "
		       "sparse\n",
		       0, err);
		ok_get(&box, (struct sbx_wire_get){.max_files = 1}, "[a-c]", NULL,
		       "file 600 a\n1234567890", SBX_WIRE_MORE_FILES, err);
		ok_get(&box, (struct sbx_wire_get){.max_depth = 3}, "**/x", NULL, "",
		       SBX_WIRE_MORE_DEPTH, err);
		ok_get(&box, (struct sbx_wire_get){.max_depth = 4}, "**/x", NULL,
		       "file 600 1/2/3/x\nx", 0, err);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* Deeper than any path can be long, and than there are levels. */
TEST(deep)
{
	struct box box = {0};
	struct job job = {0};
	struct got got;

	if (box_start(&box, err) && job_run(&job, &box,
					    "n=$(printf '%0200d' 0); i=0; while [ $i -lt 90 ]; do "
					    "mkdir $n && cd -P $n || exit\n"
					    "echo x >f; i=$((i+1)); done",
					    err)) {
		got = get(&box, (struct sbx_wire_get){.max_depth = 1000}, "**/f", NULL, err);
		ok_int(got.bytes, 20 * 2);
		ok_int(got.done.more, SBX_WIRE_MORE_DEPTH);
		sbx_buf_release(&got.text);
		mark(&box, "**", err);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* More entries than the guest may have waiting, and nothing of ours that would wake it. */
TEST(many_entries)
{
	struct box box = {0};
	struct job job = {0};
	struct got got;

	if (box_start(&box, err) &&
	    job_run(&job, &box,
		    "n=$(printf '%0180d' 0); i=0; while [ $i -lt 9000 ]; do echo $n$i; i=$((i+1)); "
		    "done |\n"
		    "xargs -n 1000 sh -c 'for f; do echo $f; done' _ | xargs -n 500 mkfifo",
		    err)) {
		got = get(&box, all, "*", NULL, err);
		ok_int(got.text.len, 9000 * 190 + 34890);
		ok_int(got.done.more, 0);
		sbx_buf_release(&got.text);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(large)
{
	struct box box = {.disk = "80m"};
	struct job job = {0};
	struct got got;

	if (box_start(&box, err) && job_run(&job, &box, "head -c 70000000 /dev/zero >big", err)) {
		got = get(&box, all, "*", NULL, err);
		ok_int(got.bytes, 70000000);
		ok_str(sbx_buf_str(&got.text), "file 600 big\n");
		sbx_buf_release(&got.text);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TAP_MAIN(RUN(put), RUN(put_follows_nothing), RUN(put_stays_below), RUN(put_too_much),
	 RUN(new_and_changed), RUN(kinds), RUN(unreadable_folders), RUN(mark_reads_what_can_match),
	 RUN(globs), RUN(names_of_any_bytes), RUN(bounds), RUN(deep), RUN(many_entries), RUN(large))
