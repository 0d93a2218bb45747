/*
 * Theory of operation.  What a machine can enforce is not guessed from its looks: a default run of
 * the smallest kind is made and its receipt is read off its `start` event.  The language of that
 * run is whichever is installed and needs no compiler.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/doctor.h"
#include "cmd/list.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/event/event.h"
#include "lib/event/sinks.h"
#include "lib/sandbox/backends.h"
#include "lib/sandbox/run.h"

struct doctor_opts {
	const char *backend, *only;
	enum sbx_list_format format;
	bool attack;
};

/* What the events of the run told. */
struct seen {
	struct sbx_sink sink;
	bool started;
	struct sbx_receipt receipt;
	enum sbx_outcome outcome;
	struct sbx_err error;
};

static int take_event(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err)
{
	struct seen *seen = (struct seen *)sink;

	(void)err;
	if (ev->type == SBX_EV_START) {
		seen->started = true;
		seen->receipt = *ev->start.receipt;
	} else if (ev->type == SBX_EV_END) {
		seen->outcome = ev->end.outcome;
		if (ev->end.error)
			seen->error = *ev->end.error;
	}
	return 0;
}

static const struct sbx_sink_ops seen_ops = {.put = take_event};

/* A language that is there and needs no compiler. */
static int find_language(struct sbx_backend *be, struct sbx_langs *langs,
			 const struct sbx_lang **ret, struct sbx_err *err)
{
	if (sbx_langs_load_all(langs, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < langs->n; i++) {
		SBX_CLEANUP(sbx_backends_lang_release)
		struct sbx_backends_lang l = {.ready = false};

		if (sbx_backends_lang(be, langs->v[i], &l, err) < 0)
			return -1;
		if (l.ready && langs->v[i]->variants[l.variant].n_compile == 0) {
			*ret = langs->v[i];
			return 0;
		}
	}
	return sbx_fail(err, SBX_E_NOT_FOUND,
			"no interpreter is installed that a run could be tried with; "
			"'llmsbx lang list' tells what to install");
}

/*
 * An empty program, with every control that is missing accepted so that the receipt is seen in
 * full.
 */
static int try_run(const char *backend, const struct sbx_app *app, struct seen *seen,
		   struct sbx_err *err)
{
	SBX_CLEANUP(sbx_backends_closep) struct sbx_backend *be = NULL;
	SBX_CLEANUP(sbx_langs_release) struct sbx_langs langs = {.n = 0};
	SBX_CLEANUP(sbx_request_release) struct sbx_request req;
	struct sbx_run_env env = {.langs = &langs,
				  .sink = &seen->sink,
				  .signal_fd = -1,
				  .start_ns = app->start_ns,
				  .queued_ns = app->start_ns};
	const struct sbx_lang *lang = NULL;
	struct sbx_result result;

	sbx_request_init(&req);
	if (sbx_backends_open(backend, &be, err) < 0 || find_language(be, &langs, &lang, err) < 0)
		return -1;
	env.backend = be;
	req.lang = sbx_xstrdup(lang->name);
	req.has_code = true;
	req.accept_bits = UINT32_MAX;
	return sbx_run(&env, &req, &result, err);
}

static bool all_enforced(const struct seen *seen)
{
	if (!seen->started || seen->error.code != SBX_E_OK)
		return false;
	for (size_t i = 0; i < SBX_CTL_COUNT_; i++) {
		if (seen->receipt.control[i].held == SBX_HELD_DEGRADED ||
		    seen->receipt.control[i].held == SBX_HELD_UNSUPPORTED)
			return false;
	}
	return true;
}

/* The help for a control that is not enforced; false where there is none to give. */
static bool find_help(const struct seen *seen, enum sbx_control ctl, struct sbx_buf *text)
{
	sbx_buf_reset(text);
	if (seen->started && seen->receipt.control[ctl].held == SBX_HELD_DEGRADED)
		sbx_doctor_help(ctl, seen->receipt.control[ctl].by, text);
	return text->len > 0;
}

static void print_help(const struct seen *seen)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_FACT_MAX);
	bool any = false;

	for (size_t i = 0; i < SBX_CTL_COUNT_; i++) {
		if (!find_help(seen, (enum sbx_control)i, &text))
			continue;
		(void)printf("%s  %-15s%s\n", any ? "" : "\nwhat would help\n",
			     sbx_control_name((enum sbx_control)i), sbx_buf_str(&text));
		any = true;
	}
}

static void print_text(const char *backend, const struct seen *seen)
{
	static const char *const words[] = {
		[SBX_HELD_ENFORCED] = "enforced",
		[SBX_HELD_DEGRADED] = "degraded",
		[SBX_HELD_UNSUPPORTED] = "unsupported",
	};

	(void)printf("this machine, as user %u\n", geteuid());
	for (const struct sbx_fact *f = sbx_facts; f->name; f++) {
		SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_FACT_MAX);

		f->find(&text);
		(void)printf("  %-15s%s\n", f->name, text.len > 0 ? sbx_buf_str(&text) : "none");
	}
	(void)printf("\na run with the defaults, backend '%s'\n", backend);
	for (size_t i = 0; seen->started && i < SBX_CTL_COUNT_; i++) {
		if (seen->receipt.control[i].held != SBX_HELD_ABSENT)
			(void)printf("  %-15s%-12s %s\n", sbx_control_name((enum sbx_control)i),
				     words[seen->receipt.control[i].held],
				     seen->receipt.control[i].by);
	}
	if (seen->error.code != SBX_E_OK)
		(void)printf("  failed: %s\n", seen->error.msg);
	print_help(seen);
	(void)printf("\n%s\n", all_enforced(seen) ? "every control is enforced"
						  : "not every control is enforced");
}

static int print_json(const char *backend, const struct seen *seen, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_list_release) struct sbx_list list;

	sbx_list_init(&list, SBX_LIST_JSONL);
	sbx_list_begin(&list);
	sbx_jw_kstr(&list.jw, "version", SBX_VERSION);
	sbx_jw_ku64(&list.jw, "uid", geteuid());
	sbx_jw_key(&list.jw, "machine");
	sbx_jw_object(&list.jw);
	for (const struct sbx_fact *f = sbx_facts; f->name; f++) {
		SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_FACT_MAX);

		f->find(&text);
		sbx_jw_kstr(&list.jw, f->name, text.len > 0 ? sbx_buf_str(&text) : NULL);
	}
	sbx_jw_end(&list.jw);
	sbx_jw_kstr(&list.jw, "backend", backend);
	sbx_jw_kbool(&list.jw, "started", seen->started);
	sbx_receipt_write(&seen->receipt, &list.jw);
	sbx_jw_key(&list.jw, "help");
	sbx_jw_object(&list.jw);
	for (size_t i = 0; i < SBX_CTL_COUNT_; i++) {
		SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_FACT_MAX);

		if (find_help(seen, (enum sbx_control)i, &text))
			sbx_jw_kstr(&list.jw, sbx_control_name((enum sbx_control)i),
				    sbx_buf_str(&text));
	}
	sbx_jw_end(&list.jw);
	sbx_jw_kstr(&list.jw, "error", seen->error.code != SBX_E_OK ? seen->error.msg : NULL);
	sbx_jw_kbool(&list.jw, "all_enforced", all_enforced(seen));
	return sbx_list_end(&list, err);
}

static int run_doctor(struct sbx_app *app, const struct sbx_args *args, struct sbx_err *err)
{
	struct doctor_opts o = {.backend = "local"};
	struct seen seen = {.sink = {.ops = &seen_ops}};

	if (sbx_args_apply(args, &o, err) < 0)
		return -1;
	if (args->n_operands > 0)
		return sbx_fail(err, SBX_E_USAGE, "takes no arguments");
	if (o.attack)
		return sbx_doctor_attack(&(struct sbx_doctor_attack){.backend = o.backend,
								     .only = o.only,
								     .format = o.format,
								     .start_ns = app->start_ns},
					 err);
	if (o.only)
		return sbx_fail(err, SBX_E_USAGE, "--only: is an option of --attack");
	/*
	 * A machine where nothing can be tried is what this command is for: that is in the report.
	 */
	if (try_run(o.backend, app, &seen, &seen.error) < 0 && seen.error.code == SBX_E_USAGE) {
		*err = seen.error;
		return -1;
	}
	if (o.format == SBX_LIST_TEXT)
		print_text(o.backend, &seen);
	else if (print_json(o.backend, &seen, err) < 0)
		return -1;
	return all_enforced(&seen) ? 0 : 1;
}

static const struct sbx_opt doctor_opts[] = {
	{.name = "format",
	 .arg = "text|json|jsonl",
	 .help = "for a person, or as one value, or as a value a line (text)",
	 .apply = sbx_list_format_apply,
	 .offset = offsetof(struct doctor_opts, format)},
	{.name = "backend",
	 .arg = "NAME",
	 .help = "where the run is tried (local)",
	 .apply = sbx_opt_text,
	 .offset = offsetof(struct doctor_opts, backend)},
	{.name = "attack",
	 .help = "attack sandboxes from inside and tell what held, as TAP or jsonl",
	 .apply = sbx_opt_bool,
	 .offset = offsetof(struct doctor_opts, attack)},
	{.name = "only",
	 .arg = "ID",
	 .help = "of the attack: the probes whose id begins so, like FS or FS01",
	 .apply = sbx_opt_text,
	 .offset = offsetof(struct doctor_opts, only)},
	{0},
};

const struct sbx_cmd sbx_cmd_doctor = {
	.name = "doctor",
	.args = "[options]",
	.about = "show what this machine can enforce",
	.opts = doctor_opts,
	.run = run_doctor,
};
