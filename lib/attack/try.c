/*
 * One hostile run.  The language is made up here: its command is the program of attack/, which is put into the work directory
 * like any file of --file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/attack/image.h"
#include "lib/attack/test.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/event/sinks.h"
#include "lib/json/doc.h"
#include "lib/sandbox/backends.h"
#include "lib/sandbox/run.h"

enum { LINE_MAX_ = 8192, EVENT_MAX = 16 << 20 };

static const char program[] = "llmsbx-attack";
static const char language[] = "llmsbx-attack";

/* ---- events */

struct watcher {
	struct sbx_sink sink;
	struct sbx_test *test;
	const struct sbx_try *try;
	struct sbx_seen *seen;
	struct sbx_buf
		line; /* of stdout, the one that is coming; its rest is dropped when it is too long */
};

static void copy_printable(char *to, size_t size, struct sbx_str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n && n + 1 < size; i++)
		to[n++] = s.p[i] >= ' ' && s.p[i] <= '~' ? s.p[i] : '?';
	to[n] = '\0';
}

static bool get_text(struct sbx_json object, const char *key, char *to, size_t size)
{
	struct sbx_json v;

	if (!sbx_json_get(object, key, &v) || sbx_json_type(v) != SBX_JSON_STRING)
		return false;
	copy_printable(to, size, sbx_json_string(v));
	return true;
}

static void take_tell(struct watcher *w, const struct sbx_tell *tell)
{
	if (w->seen->n_tells < SBX_TRY_TELLS)
		w->seen->tell[w->seen->n_tells++] = *tell;
	if (w->try->on_tell)
		w->try->on_tell(w->test, tell->id, tell->key, tell->value);
}

static void take_verdict(struct watcher *w, const char *id, const char *verdict, const char *detail)
{
	enum sbx_probe p;

	for (p = 0; p < SBX_P_COUNT_; p++)
		if (strcmp(sbx_probe_id(p), id) == 0)
			break;
	if (p == SBX_P_COUNT_)
		return;
	for (enum sbx_verdict v = SBX_VERDICT_WORKS; v <= SBX_VERDICT_REACHED; v++)
		if (strcmp(sbx_verdict_name(v), verdict) == 0)
			sbx_note(w->test, p, v, "%s", detail);
}

/* A line that carries the nonce is the program's; all others are what hostile programs print. */
static void take_line(struct watcher *w, struct sbx_str line)
{
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_tell tell;
	char nonce[64], verdict[16];
	struct sbx_json root;

	if (line.n == 0 || line.p[0] != '{' || sbx_json_parse(line, "a line", &doc, &ignored) < 0)
		return;
	root = sbx_json_root(doc);
	if (sbx_json_type(root) != SBX_JSON_OBJECT ||
	    !get_text(root, "nonce", nonce, sizeof(nonce)) ||
	    strcmp(nonce, w->test->plant.nonce) != 0 ||
	    !get_text(root, "id", tell.id, sizeof(tell.id)))
		return;
	if (get_text(root, "verdict", verdict, sizeof(verdict))) {
		char detail[SBX_NOTE_MAX];

		if (get_text(root, "detail", detail, sizeof(detail)))
			take_verdict(w, tell.id, verdict, detail);
	} else if (get_text(root, "tell", tell.key, sizeof(tell.key)) &&
		   get_text(root, "detail", tell.value, sizeof(tell.value))) {
		take_tell(w, &tell);
	}
}

static void take_stdout(struct watcher *w, struct sbx_str bytes)
{
	struct sbx_err full = SBX_ERR_INIT;

	while (bytes.n > 0) {
		const char *end = memchr(bytes.p, '\n', bytes.n);
		size_t n = end ? (size_t)(end - bytes.p) : bytes.n;

		if (w->line.len + n <= w->line.max && sbx_buf_add(&w->line, bytes.p, n, &full) < 0)
			return;
		if (!end)
			return;
		take_line(w, (struct sbx_str){sbx_buf_str(&w->line), w->line.len});
		sbx_buf_reset(&w->line);
		bytes.p += n + 1;
		bytes.n -= n + 1;
	}
}

static void take_file(struct sbx_seen *seen, const struct sbx_ev_file *ev)
{
	struct sbx_seen_file *f;

	if (seen->n_files++ >= SBX_TRY_FILES)
		return;
	f = &seen->file[seen->n_files - 1];
	copy_printable(f->path, sizeof(f->path), ev->path);
	f->size = ev->size;
	f->saved = ev->saved_as != NULL;
	(void)snprintf(f->skipped, sizeof(f->skipped), "%s", ev->skipped ? ev->skipped : "");
}

static void take_end(struct sbx_seen *seen, const struct sbx_ev_end *end)
{
	seen->ends++;
	seen->outcome = end->outcome;
	seen->has_exit_code = end->has_exit_code;
	seen->exit_code = end->exit_code;
	seen->signal = end->signal;
	seen->truncated[0] = end->truncated_stdout;
	seen->truncated[1] = end->truncated_stderr;
	seen->bytes = end->bytes_stdout + end->bytes_stderr;
	seen->cpu_ns = end->usage.cpu_user_ns + end->usage.cpu_sys_ns;
	if (end->usage.has_memory)
		seen->memory_peak = end->usage.memory_peak_bytes;
	if (end->usage.has_pids)
		seen->pids_peak = end->usage.pids_peak;
	if (end->error && end->error->code != SBX_E_OK) {
		seen->code = end->error->code;
		copy_printable(seen->error, sizeof(seen->error), sbx_str_of(end->error->msg));
	}
}

static int put(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err)
{
	struct watcher *w = (struct watcher *)(void *)sink;
	enum sbx_control ctl;

	if (ev->type == SBX_EV_START) {
		w->seen->started = true;
		w->seen->receipt = *ev->start.receipt;
		w->seen->has_engine = ev->start.engine != NULL;
	} else if (ev->type == SBX_EV_STDOUT) {
		take_stdout(w, ev->output.bytes);
	} else if (ev->type == SBX_EV_FILE) {
		take_file(w->seen, &ev->file);
	} else if (ev->type == SBX_EV_LIMIT && sbx_control_find(sbx_str_of(ev->limit.name), &ctl)) {
		w->seen->limits |= 1U << ctl;
	} else if (ev->type == SBX_EV_END) {
		take_end(w->seen, &ev->end);
	}
	return w->try->also ? w->try->also->ops->put(w->try->also, ev, err) : 0;
}

static const struct sbx_sink_ops watcher_ops = {.put = put};

/* ---- the request */

static void add_command(const struct sbx_try *try, struct sbx_strv *argv, const char *mark)
{
	struct sbx_err full = SBX_ERR_INIT; /* a few words always fit */
	const char *core[] = {"{workdir}/llmsbx-attack", mark, "core", NULL};
	const char *alone[] = {"{workdir}/llmsbx-attack", mark, "alone", try->name, NULL};
	const char *const *words = try->command[0]             ? try->command
				   : strcmp(try->name, "core") ? alone
							       : core;

	for (; *words; words++)
		if (sbx_strv_add(argv, *words, &full) < 0)
			return;
}

/* The language that is meant here, and no other. */
static void make_language(struct sbx_langs *langs, const struct sbx_try *try, const char *mark)
{
	struct sbx_lang *lang = sbx_new(struct sbx_lang);

	lang->name = sbx_xstrdup(language);
	lang->title = sbx_xstrdup("containment self-test");
	lang->file = sbx_xstrdup("attack.txt");
	lang->source = sbx_xstrdup("lib/attack");
	lang->variants = sbx_xcalloc(1, sizeof(*lang->variants));
	lang->n_variants = 1;
	if (try->compile) {
		lang->variants->compile = sbx_xcalloc(1, sizeof(*lang->variants->compile));
		lang->variants->n_compile = 1;
		add_command(try, lang->variants->compile, mark);
	}
	add_command(try, &lang->variants->run, mark);
	langs->v = sbx_xcalloc(1, sizeof(struct sbx_lang *));
	langs->v[0] = lang;
	langs->n = langs->cap = 1;
	langs->all = true;
}

static int tell_plant(const struct sbx_test *t, struct sbx_request *req, struct sbx_err *err)
{
	const struct sbx_plant *p = &t->plant;
	struct sbx_buf *in = &req->stdin_bytes;

	req->stdin_kind = SBX_STDIN_BYTES;
	if (sbx_buf_addf(in, err, "nonce %s\nflag %s\nabstract %s\nsocket %s\nworkdir %s\n",
			 p->nonce, p->flag, p->abstract, p->socket, req->workdir) < 0 ||
	    sbx_buf_addf(in, err, "port4 %u\nport6 %u\nkey %d\nuid %u\n", p->port4, p->port6,
			 p->key, req->uid) < 0 ||
	    sbx_buf_addf(in, err, "memory %llu\npids %llu\n",
			 (unsigned long long)req->limits.memory_bytes,
			 (unsigned long long)req->limits.pids) < 0)
		return -1;
	if (t->opts->only && sbx_buf_addf(in, err, "only %.2s\n", t->opts->only) < 0)
		return -1;
	for (unsigned int i = 0; i < p->n_flags; i++)
		if (sbx_buf_addf(in, err, "flagfile %s\n", p->flags[i]) < 0)
			return -1;
	return 0;
}

static int fill_request(const struct sbx_test *t, const struct sbx_try *try,
			struct sbx_request *req, struct sbx_err *err)
{
	struct sbx_file_in *file;

	req->lang = sbx_xstrdup(language);
	req->has_code = true;
	req->accept_bits =
		UINT32_MAX; /* what is missing is seen in the receipt, and tried all the same */
	if (sbx_buf_add(&req->code, try->code.p ? try->code.p : "-", try->code.p ? try->code.n : 1,
			err) < 0)
		return -1;
	for (size_t i = 0; i < SBX_TRY_SETS && try->set[i][0]; i++)
		if (sbx_request_set(req, try->set[i][0], sbx_str_of(try->set[i][1]), try->set[i][0],
				    err) < 0)
			return -1;
	file = sbx_request_new_file(req, err);
	if (!file)
		return -1;
	file->dest = sbx_xstrdup(program);
	file->mode = 0755;
	if (sbx_buf_add(&file->data, sbx_attack_start, sbx_attack_size(), err) < 0)
		return -1;
	return tell_plant(t, req, err);
}

static int run(struct sbx_test *t, const struct sbx_try *try, struct watcher *w,
	       struct sbx_err *err)
{
	SBX_CLEANUP(sbx_backends_closep) struct sbx_backend *be = NULL;
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.n = 0};
	SBX_CLEANUP(sbx_request_release) struct sbx_request req;
	struct sbx_run_env env = {.langs = &langs,
				  .sink = &w->sink,
				  .signal_fd = t->opts->signal_fd,
				  .start_ns = t->opts->start_ns,
				  .queued_ns = sbx_now_ns()};
	struct sbx_result result = {.cancelled_by = 0};
	int r;

	sbx_request_init(&req);
	make_language(&langs, try, t->plant.mark);
	if (fill_request(t, try, &req, err) < 0 ||
	    sbx_backends_open(t->opts->backend, &be, err) < 0)
		return -1;
	env.backend = be;
	r = sbx_run(&env, &req, &result, err);
	w->seen->cancelled_by = result.cancelled_by;
	return r;
}

int sbx_try_plan(struct sbx_test *t, struct sbx_buf *out, struct sbx_err *err)
{
	static const struct sbx_try try = {.name = "nothing"};
	SBX_CLEANUP(sbx_backends_closep) struct sbx_backend *be = NULL;
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.n = 0};
	SBX_CLEANUP(sbx_request_release) struct sbx_request req;
	struct sbx_run_env env = {.langs = &langs, .signal_fd = -1};

	sbx_request_init(&req);
	make_language(&langs, &try, t->plant.mark);
	if (fill_request(t, &try, &req, err) < 0 ||
	    sbx_backends_open(t->opts->backend, &be, err) < 0)
		return -1;
	env.backend = be;
	return sbx_run_plan(&env, &req, out, err);
}

void sbx_try(struct sbx_test *t, const struct sbx_try *try, struct sbx_seen *seen)
{
	struct watcher w = {.sink = {.ops = &watcher_ops},
			    .test = t,
			    .try = try,
			    .seen = seen,
			    .line = SBX_BUF_INIT(LINE_MAX_)};
	struct sbx_err why = SBX_ERR_INIT;
	uint64_t start = sbx_now_ns();

	*seen = (struct sbx_seen){.outcome = SBX_OUT_FAILED};
	if (t->cancelled_by)
		return;
	if (run(t, try, &w, &why) < 0) {
		seen->code = why.code;
		copy_printable(seen->error, sizeof(seen->error), sbx_str_of(why.msg));
	}
	seen->wall_ns = sbx_now_ns() - start;
	t->cancelled_by = seen->cancelled_by;
	if (seen->started && !t->has_receipt) {
		t->receipt = seen->receipt;
		t->has_engine = seen->has_engine;
		t->has_receipt = true;
	}
	sbx_buf_release(&w.line);
}

bool sbx_ran(struct sbx_test *t, enum sbx_probe p, const struct sbx_seen *seen)
{
	bool ran = seen->started && seen->outcome != SBX_OUT_FAILED;

	if (!ran)
		sbx_note(t, p, SBX_VERDICT_UNKNOWN, "no run: %s", seen->error);
	return ran;
}

const char *sbx_told(const struct sbx_seen *seen, const char *key)
{
	for (unsigned int i = 0; i < seen->n_tells; i++)
		if (strcmp(seen->tell[i].key, key) == 0)
			return seen->tell[i].value;
	return NULL;
}

/* ---- in a process of its own */

bool sbx_try_begin(struct sbx_test *t, const struct sbx_try *try, struct sbx_try_child *ret)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return false;
	(void)fflush(NULL);
	ret->pid = fork();
	if (ret->pid == 0) {
		struct sbx_err ignored = SBX_ERR_INIT; /* who does not listen sees a short record */
		struct sbx_seen *seen = sbx_new(struct sbx_seen);

		memset(t->note, 0, sizeof(t->note));
		sbx_try(t, try, seen);
		if (sbx_write_full(fd[1], seen, sizeof(*seen), &ignored) == 0)
			(void)!sbx_write_full(fd[1], t->note, sizeof(t->note), &ignored);
		_exit(0);
	}
	close(fd[1]);
	ret->fd = fd[0];
	if (ret->pid < 0)
		close(fd[0]);
	return ret->pid > 0;
}

bool sbx_try_end(struct sbx_test *t, struct sbx_try_child *child, struct sbx_seen *seen)
{
	struct sbx_note *note = sbx_xcalloc(SBX_P_COUNT_, sizeof(*note));
	struct sbx_err ignored = SBX_ERR_INIT;
	bool whole =
		sbx_read_full(child->fd, seen, sizeof(*seen), &ignored) == (ssize_t)sizeof(*seen) &&
		sbx_read_full(child->fd, note, sizeof(t->note), &ignored) ==
			(ssize_t)sizeof(t->note);

	for (enum sbx_probe p = 0; whole && p < SBX_P_COUNT_; p++)
		if (note[p].verdict != SBX_VERDICT_NONE)
			sbx_note(t, p, note[p].verdict, "%s", note[p].detail);
	free(note);
	sbx_closep(&child->fd);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return whole;
}

/* ---- seen from outside */

void sbx_sleep_ms(unsigned int ms)
{
	(void)poll(NULL, 0, (int)ms);
}

static bool is_marked(const char *pid, const char *mark)
{
	SBX_CLEANUP(sbx_freep) char *path = sbx_xasprintf("/proc/%s/cmdline", pid);
	SBX_CLEANUP(sbx_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	return n > 0 && memmem(text, (size_t)n, mark, strlen(mark));
}

int sbx_count_marked(const struct sbx_test *t)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int n = 0;

	if (!dir)
		return -1;
	while ((d = readdir(dir)))
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			n += is_marked(d->d_name, t->plant.mark);
	(void)closedir(dir);
	return n;
}

int sbx_wait_unmarked(const struct sbx_test *t, unsigned int ms)
{
	uint64_t deadline = sbx_deadline((uint64_t)ms * 1000000);
	int n;

	while ((n = sbx_count_marked(t)) > 0 && sbx_now_ns() < deadline)
		sbx_sleep_ms(10);
	return n;
}

bool sbx_wait_marked(const struct sbx_test *t, unsigned int ms)
{
	uint64_t deadline = sbx_deadline((uint64_t)ms * 1000000);
	int n;

	while ((n = sbx_count_marked(t)) == 0 && sbx_now_ns() < deadline)
		sbx_sleep_ms(10);
	return n > 0;
}
