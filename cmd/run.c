/*
 * Theory of operation.  Settings are laid over each other from far to near: built in, share/, /etc,
 * the user's config.json, LLMSBX_* variables, options.  Code that comes through a pipe is read
 * before signals are caught, so that a person at a terminal can still leave.  Then INT, TERM, HUP
 * and PIPE are blocked and read from a signalfd: the run ends its tree, writes its `end`, and only
 * then does llmsbx die of the signal.
 */
#include "cmd/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/signals.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/sandbox/backends.h"

enum { PARALLEL_MAX = 1024 };

/* --- options ------------------------------------------------------------------------------ */

static int set_request(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
		       struct sbx_err *err)
{
	struct sbx_run_opts *o = ctx;

	return sbx_request_set(&o->req, opt->name, sbx_str_of(value), where, err);
}

static int set_format(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
		      struct sbx_err *err)
{
	struct sbx_run_opts *o = ctx;

	(void)opt;
	return sbx_format_parse(value, where, &o->render.format, err);
}

static int set_raw(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
		   struct sbx_err *err)
{
	struct sbx_run_opts *o = ctx;

	(void)opt;
	(void)value;
	(void)where;
	(void)err;
	o->render.format = SBX_FORMAT_RAW;
	return 0;
}

static int set_events_fd(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
			 struct sbx_err *err)
{
	struct sbx_run_opts *o = ctx;

	if (sbx_opt_int(opt, value, where, ctx, err) < 0)
		return -1;
	return sbx_events_fd_check(o->render.events_fd, where, err);
}

static int set_parallel(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
			struct sbx_err *err)
{
	struct sbx_run_opts *o = ctx;

	if (sbx_opt_int(opt, value, where, ctx, err) < 0)
		return -1;
	if (o->parallel < 1 || o->parallel > PARALLEL_MAX)
		return sbx_fail(err, SBX_E_USAGE, "%s: '%s' is not from 1 to %d", where, value,
				PARALLEL_MAX);
	return 0;
}

/* Code may be empty, unlike a name. */
static int set_code(const struct sbx_opt *opt, const char *value, const char *where, void *ctx,
		    struct sbx_err *err)
{
	struct sbx_run_opts *o = ctx;

	(void)opt;
	(void)where;
	(void)err;
	o->code = value;
	return 0;
}

static const char *control(size_t i)
{
	return i < SBX_CTL_COUNT_    ? sbx_control_name((enum sbx_control)i)
	       : i == SBX_CTL_COUNT_ ? "all"
				     : NULL;
}

#define AT(field_) .offset = offsetof(struct sbx_run_opts, field_)
#define REQUEST    .flags = SBX_OPT_SETTING, .apply = set_request
#define REQUESTS   .flags = SBX_OPT_SETTING | SBX_OPT_REPEAT, .apply = set_request
#define SWITCH     .flags = SBX_OPT_SETTING | SBX_OPT_NO, .apply = sbx_opt_bool

/* clang-format off */
static const struct sbx_opt run_opts[] = {
	{ .name = "code", .letter = 'c', .arg = "CODE", .group = "code",
	  .help = "run CODE; all operands are its arguments", .apply = set_code },
	{ .name = "lang", .letter = 'l', .arg = "NAME", REQUEST,
	  .help = "language; else that of the #! line, else of the suffix of FILE" },
	{ .name = "lang-default", .arg = "NAME", REQUEST,
	  .help = "language of code that does not tell" },
	{ .name = "stdin", .arg = "FILE", .apply = sbx_opt_text, AT(stdin_path),
	  .help = "standard input of the program; - is ours" },
	{ .name = "jobs", .arg = "FILE", .apply = sbx_opt_text, AT(jobs_path),
	  .help = "run the jobs of FILE, one JSON object a line; - is standard input" },
	{ .name = "parallel", .letter = 'j', .arg = "N", .flags = SBX_OPT_SETTING,
	  .apply = set_parallel, AT(parallel),
	  .help = "jobs at once (as many as there are processors)" },
	{ .name = "keep-order", SWITCH, AT(keep_order),
	  .help = "print the events of jobs in the order of the jobs" },

	{ .name = "env", .letter = 'e', .arg = "K=V", .group = "files and environment", REQUESTS,
	  .help = "set a variable; K alone takes the caller's value; repeatable" },
	{ .name = "env-file", .arg = "FILE", REQUESTS,
	  .help = "set the variables of FILE, one a line; repeatable" },
	{ .name = "file", .arg = "HOST[:DEST]", REQUESTS,
	  .help = "put a file into the work directory; repeatable" },
	{ .name = "mount", .arg = "HOST:DEST[:ro|rw]", REQUESTS,
	  .help = "show a file or folder of the host (ro); repeatable" },
	{ .name = "out", .letter = 'o', .arg = "GLOB", REQUESTS,
	  .help = "bring new and changed files back; repeatable" },
	{ .name = "out-dir", .arg = "DIR", REQUEST,
	  .help = "where files are brought to (.)" },
	{ .name = "workdir", .letter = 'w', .arg = "DIR", REQUEST,
	  .help = "work directory inside (/sandbox)" },

	{ .name = "timeout", .arg = "TIME", .group = "limits", REQUEST,
	  .help = "wall time, like 500ms 30s 2m none (30s)" },
	{ .name = "cpu-time", .arg = "TIME", REQUEST,
	  .help = "processor time of all processes together (none)" },
	{ .name = "cpus", .arg = "N", REQUEST,
	  .help = "processors, like 0.5 2 none (1)" },
	{ .name = "memory", .letter = 'm', .arg = "SIZE", REQUEST,
	  .help = "memory of the sandbox, like 64m 1g none (512m)" },
	{ .name = "pids", .arg = "N", REQUEST,
	  .help = "processes and threads (128)" },
	{ .name = "disk", .arg = "SIZE", REQUEST,
	  .help = "work directory (a quarter of the memory)" },
	{ .name = "max-output", .arg = "SIZE", REQUEST,
	  .help = "bytes kept of stdout and of stderr (64m); a program that prints "
		  "sixteen times as much is ended" },

	{ .name = "backend", .arg = "NAME", .group = "containment", REQUEST,
	  .help = "where sandboxes are made (local)" },
	{ .name = "network", .arg = "none|full", REQUEST,
	  .help = "what the program reaches (none)" },
	{ .name = "user", .letter = 'u', .arg = "UID[:GID]", REQUEST,
	  .help = "who the program is inside (65532)" },
	{ .name = "read-only", .flags = SBX_OPT_SETTING | SBX_OPT_NO, .apply = set_request,
	  .help = "the root is read-only (it is)" },
	{ .name = "require-enforced", .arg = "LIST", .word = control, REQUESTS,
	  .help = "controls that must be kernel-exact, by comma, or all; repeatable" },
	{ .name = "accept-missing", .arg = "LIST", .word = control, REQUESTS,
	  .help = "controls that may be missing, by comma; repeatable" },
	{ .name = "dry-run", .letter = 'n', .apply = sbx_opt_bool, AT(dry_run),
	  .help = "print what would be done and start nothing" },

	{ .name = "format", .arg = "jsonl|raw|json", .group = "output", .flags = SBX_OPT_SETTING,
	  .apply = set_format,
	  .help = "events, the program's bytes, or one object (raw on a terminal, else jsonl)" },
	{ .name = "raw", .letter = 'r', .apply = set_raw,
	  .help = "the same as --format raw" },
	{ .name = "raw-output", SWITCH, AT(render.raw_output),
	  .help = "send control sequences to the terminal as they are" },
	{ .name = "seq", SWITCH, AT(render.seq),
	  .help = "begin each object with RS (RFC 7464)" },
	{ .name = "events-fd", .arg = "N", .apply = set_events_fd, AT(render.events_fd),
	  .help = "write events to descriptor N as well" },
	{ .name = "quiet", .letter = 'q', SWITCH, AT(render.quiet),
	  .help = "raw: say only why a program did not end by itself" },
	{ .name = "tty", .letter = 't', .flags = SBX_OPT_SETTING | SBX_OPT_NO, .apply = set_request,
	  .help = "give the program a terminal" },
	{ 0 },
};
/* clang-format on */

static void init_opts(struct sbx_run_opts *o)
{
	*o = (struct sbx_run_opts){.render.events_fd = -1};
	sbx_request_init(&o->req);
}

static void release_opts(struct sbx_run_opts *o)
{
	sbx_request_release(&o->req);
}

static int apply_conf(const struct sbx_conf *conf, struct sbx_run_opts *o, struct sbx_err *err)
{
	for (size_t i = 0; i < conf->n; i++) {
		const struct sbx_conf_entry *e = &conf->v[i];

		if (sbx_opt_set(run_opts, e->name, e->value, e->where, o, err) < 0)
			return -1;
	}
	return 0;
}

int sbx_run_check_conf(const struct sbx_conf *conf, struct sbx_err *err)
{
	SBX_CLEANUP(release_opts) struct sbx_run_opts o;

	init_opts(&o);
	return apply_conf(conf, &o, err);
}

/* --- one run ------------------------------------------------------------------------------ */

/* An operand that looks like an option of ours was probably meant as one. */
static int add_operands(struct sbx_request *req, char **operand, bool literal, struct sbx_err *err)
{
	for (; *operand; operand++) {
		if (req->args.n == SBX_STRV_MAX)
			return sbx_fail(err, SBX_E_USAGE,
					"more than %d arguments for the program; give it a list "
					"with --file or as its input",
					SBX_STRV_MAX);
		if (sbx_strv_add(&req->args, *operand, err) < 0)
			return -1;
		if (literal || !sbx_opt_looks_like(run_opts, *operand))
			continue;
		if (sbx_strv_add(&req->warnings, "option_after_file", err) < 0 ||
		    sbx_strv_addf(&req->warnings, err,
				  "'%s' stands behind the code and goes to the program; "
				  "options of llmsbx stand before it",
				  *operand) < 0)
			return -1;
	}
	return 0;
}

static int read_code(struct sbx_request *req, struct sbx_err *err)
{
	if (isatty(STDIN_FILENO))
		(void)dprintf(STDERR_FILENO,
			      "llmsbx run: reading code from the terminal; end it with Ctrl-D\n");
	req->has_code = true;
	return sbx_read_all(STDIN_FILENO, "standard input", &req->code, err);
}

/*
 * A FILE that is a pipe, as <(...) is: read now, since a person may have to wait for it.  All else,
 * also what is not there, is the run's own affair.
 */
static int read_pipe(struct sbx_request *req, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int fd = -1;
	struct stat st;

	if (stat(req->code_path, &st) < 0 || (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)))
		return 0;
	fd = open(req->code_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return 0;
	req->has_code = true;
	return sbx_read_all(fd, req->code_path, &req->code, err);
}

/*
 * Where the code and the arguments come from.  *ret_stdin_free: nobody else reads our standard
 * input.
 */
static int place_operands(struct sbx_run_opts *o, const struct sbx_args *args, bool *ret_stdin_free,
			  struct sbx_err *err)
{
	char **rest = args->operand;
	bool literal = args->dashdash;
	const char *file = NULL;

	*ret_stdin_free = true;
	if (o->code) {
		o->req.has_code = true;
		if (sbx_buf_adds(&o->req.code, o->code, err) < 0)
			return -1;
	} else if (*rest) {
		file = *rest++;
		literal = *rest && strcmp(*rest, "--") == 0;
		rest += literal;
	}
	if (add_operands(&o->req, rest, literal, err) < 0)
		return -1;
	if (o->code)
		return 0;
	if (file && strcmp(file, "-") != 0) {
		o->req.code_path = sbx_xstrdup(file);
		return 0;
	}
	*ret_stdin_free = false;
	return 0;
}

/*
 * The program's standard input: --stdin, else ours unless the code is read from it.  An opened file
 * is *ret_fd, the caller's.
 */
static int place_stdin(struct sbx_run_opts *o, bool stdin_free, int *ret_fd, struct sbx_err *err)
{
	const char *path = o->stdin_path;
	bool ours = path ? strcmp(path, "-") == 0 : stdin_free;

	if (ours && !stdin_free)
		return sbx_fail(err, SBX_E_USAGE,
				"--stdin: the code comes from standard input already; give it as "
				"FILE or -c");
	if (path && !ours) {
		*ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (*ret_fd < 0)
			return sbx_fail(err, SBX_E_USAGE, "--stdin: cannot open '%s': %s", path,
					sbx_strerror(errno));
	}
	if (path || ours) {
		o->req.stdin_kind = SBX_STDIN_FD;
		o->req.stdin_fd = ours ? STDIN_FILENO : *ret_fd;
	}
	return 0;
}

static int print_plan(struct sbx_run_env *env, struct sbx_request *req, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_DOC_MAX);

	if (sbx_run_plan(env, req, &text, err) < 0)
		return -1;
	(void)puts(sbx_buf_str(&text));
	return 0;
}

/*
 * A reader that went away ends us as it ends every filter, unless our caller wants to see the
 * error.
 */
int sbx_run_finish(struct sbx_render *render, struct sbx_signals *signals, int ran,
		   const struct sbx_result *result, struct sbx_err *err)
{
	if (ran == 0) {
		sbx_signals_restore(signals);
		ran = result->hurried ? 0 : sbx_render_drain(render, err);
	}
	if (ran < 0 && err->sys == EPIPE && !signals->pipe_ignored)
		sbx_end_by_signal(SIGPIPE);
	if (ran < 0)
		return -1;
	if (result->cancelled_by != 0)
		sbx_end_by_signal(result->cancelled_by);
	return result->status;
}

static int execute(struct sbx_run_env *env, struct sbx_run_opts *o, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_render_release) struct sbx_render render = {0};
	struct sbx_signals signals = {.fd = -1};
	struct sbx_out *outs[SBX_RENDER_OUTS + 1];
	struct sbx_result result = {0};
	int ran;

	o->render.max_output = o->req.max_output;
	/* Who asks for a terminal gives it to the program: what it sends is what is shown. */
	o->render.raw_output |= o->req.tty;
	if (sbx_render_open(&render, &o->render, err) < 0 ||
	    sbx_signals_open(&signals, true, err) < 0)
		return -1;
	sbx_render_outs(&render, outs);
	memcpy(env->outs, outs, sizeof(outs));
	env->sink = render.sink;
	env->signal_fd = signals.fd;
	ran = sbx_run(env, &o->req, &result, err);
	ran = sbx_run_finish(&render, &signals, ran, &result, err);
	sbx_closep(&signals.fd);
	return ran;
}

static int run_one(struct sbx_app *app, struct sbx_run_opts *o, const struct sbx_args *args,
		   struct sbx_err *err)
{
	SBX_CLEANUP(sbx_backends_closep) struct sbx_backend *be = NULL;
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {0};
	SBX_CLEANUP(sbx_closep) int stdin_file = -1;
	struct sbx_run_env env = {.langs = &langs,
				  .signal_fd = -1,
				  .start_ns = app->start_ns,
				  .queued_ns = app->start_ns};
	bool stdin_free;

	if (place_operands(o, args, &stdin_free, err) < 0 ||
	    place_stdin(o, stdin_free, &stdin_file, err) < 0 ||
	    sbx_backends_open(o->req.backend, &be, err) < 0)
		return -1;
	if ((!stdin_free && read_code(&o->req, err) < 0) ||
	    (o->req.code_path && read_pipe(&o->req, err) < 0))
		return -1;
	env.backend = be;
	return o->dry_run ? print_plan(&env, &o->req, err) : execute(&env, o, err);
}

static int run_run(struct sbx_app *app, const struct sbx_args *args, struct sbx_err *err)
{
	SBX_CLEANUP(release_opts) struct sbx_run_opts o;

	init_opts(&o);
	if (apply_conf(&app->conf, &o, err) < 0 || sbx_args_apply(args, &o, err) < 0)
		return -1;
	if (!o.jobs_path) {
		(void)sbx_raise_fd_limit();
		return run_one(app, &o, args, err);
	}
	if (o.code || args->n_operands > 0 || o.stdin_path || o.dry_run)
		return sbx_fail(err, SBX_E_USAGE,
				"--jobs takes code and input from the jobs: no FILE, -c, --stdin "
				"or --dry-run");
	return sbx_jobs(app, &o, err);
}

const struct sbx_cmd sbx_cmd_run = {
	.name = "run",
	.args = "[options] [FILE|-] [ARG...]",
	.about = "run code in a fresh sandbox",
	.opts = run_opts,
	.flags = SBX_CMD_CONFIG | SBX_CMD_RUNS,
	.run = run_run,
};
