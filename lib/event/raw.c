/*
 * The program's bytes go through as they are; everything of ours is whole lines on errout that begin with `llmsbx: `.  A limit is
 * remembered until the end, which alone tells whether the program survived it.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "lib/event/out.h"
#include "lib/event/sinks.h"
#include "lib/event/text.h"

enum { LINE_BYTES = 4096 };

struct raw {
	struct sbx_sink base;
	struct sbx_sink_raw_opts opts;
	struct sbx_text out_text, err_text; /* of what is shown escaped */
	bool same_place;                    /* stdout and stderr are one file, pipe or terminal */
	bool mid_line;         /* what stands before our next line did not end in a line feed */
	struct sbx_buf shown;  /* escaped bytes */
	char body[LINE_BYTES]; /* of the line of ours that is being made */
	size_t body_len;
	char last_progress[LINE_BYTES];
	uint64_t limit[SBX_CTL_COUNT_];
	uint32_t limits_met; /* 1 << enum sbx_control */
};

enum unit { UNIT_COUNT, UNIT_BYTES, UNIT_NS, UNIT_MILLI };

static const struct {
	const char *option; /* NULL: no limit but a control of another kind */
	enum unit unit;
} limits[SBX_CTL_COUNT_] = {
	[SBX_CTL_MEMORY] = {"--memory", UNIT_BYTES},
	[SBX_CTL_CPU] = {"--cpus", UNIT_MILLI},
	[SBX_CTL_PIDS] = {"--pids", UNIT_COUNT},
	[SBX_CTL_DISK] = {"--disk or --memory", UNIT_BYTES},
	[SBX_CTL_OUTPUT] = {"--max-output", UNIT_BYTES},
	[SBX_CTL_WALL_TIME] = {"--timeout", UNIT_NS},
	[SBX_CTL_CPU_TIME] = {"--cpu-time", UNIT_NS},
};

static const struct {
	const char *words;
	enum sbx_control limit; /* that ended it; SBX_CTL_COUNT_: none */
} endings[SBX_OUTCOME_COUNT_] = {
	[SBX_OUT_EXITED] = {"exited", SBX_CTL_COUNT_},
	[SBX_OUT_SIGNALED] = {"killed by", SBX_CTL_COUNT_},
	[SBX_OUT_TIMEOUT] = {"killed after the time limit", SBX_CTL_WALL_TIME},
	[SBX_OUT_CPU_TIMEOUT] = {"killed after the processor time limit", SBX_CTL_CPU_TIME},
	[SBX_OUT_OOM] = {"killed for want of memory at the limit", SBX_CTL_MEMORY},
	[SBX_OUT_DISK] = {"killed with its disk full at the limit", SBX_CTL_DISK},
	[SBX_OUT_OUTPUT] = {"killed for output far above the limit", SBX_CTL_OUTPUT},
	[SBX_OUT_DENIED] = {"denied", SBX_CTL_COUNT_},
	[SBX_OUT_CANCELLED] = {"cancelled", SBX_CTL_COUNT_},
	[SBX_OUT_COMPILE_FAILED] = {"the compilation failed", SBX_CTL_COUNT_},
	[SBX_OUT_INSTALL_FAILED] = {"the installation failed", SBX_CTL_COUNT_},
	[SBX_OUT_LOST] = {"the sandbox was lost", SBX_CTL_COUNT_},
	[SBX_OUT_FAILED] = {"failed", SBX_CTL_COUNT_},
};

static int put_output(struct raw *raw, const struct sbx_event *ev, struct sbx_err *err)
{
	bool is_out = ev->type == SBX_EV_STDOUT;
	struct sbx_out *out = is_out ? raw->opts.out : raw->opts.errout;
	struct sbx_str bytes = ev->output.bytes;

	if (bytes.n > 0 && (!is_out || raw->same_place))
		raw->mid_line = bytes.p[bytes.n - 1] != '\n';
	if (!(is_out ? raw->opts.escape_out : raw->opts.escape_err))
		return sbx_out_add(out, bytes.p, bytes.n, err);
	sbx_buf_reset(&raw->shown);
	if (sbx_text_add(is_out ? &raw->out_text : &raw->err_text, bytes, &raw->shown, err) < 0)
		return -1;
	return sbx_out_add(out, raw->shown.p, raw->shown.len, err);
}

static int finish_output(struct raw *raw, struct sbx_out *out, struct sbx_text *text,
			 struct sbx_err *err)
{
	sbx_buf_reset(&raw->shown);
	if (sbx_text_finish(text, &raw->shown, err) < 0)
		return -1;
	return sbx_out_add(out, raw->shown.p, raw->shown.len, err);
}

/* Adds to the line that is being made; what is too long for a line is cut. */
static SBX_PRINTF(2, 3) void add(struct raw *raw, const char *fmt, ...)
{
	size_t room = sizeof(raw->body) - raw->body_len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(raw->body + raw->body_len, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		raw->body_len += (size_t)n < room ? (size_t)n : room - 1;
}

/* Writes the line, harmless whatever bytes are in it, and begins an empty one. */
static int say(struct raw *raw, struct sbx_err *err)
{
	char line[sizeof(raw->body) + 32] = "\n";
	size_t n = raw->mid_line ? 1 : 0;

	n = sbx_utf8_show(line, sizeof(line) - 1, n, "llmsbx: ");
	n = sbx_utf8_show(line, sizeof(line) - 1, n, raw->body);
	line[n++] = '\n';
	raw->mid_line = false;
	raw->body[0] = '\0';
	raw->body_len = 0;
	return sbx_out_add(raw->opts.errout, line, n, err);
}

/* As the option would take it: 90s, 500ms, 1.5s. */
static void add_duration(struct raw *raw, uint64_t ns)
{
	uint64_t ms = ns / 1000000;
	int digits = 3;
	unsigned int rest = (unsigned int)(ms % 1000);

	if (ms < 1000 || rest == 0) {
		add(raw, "%llu%s", (unsigned long long)(ms < 1000 ? ms : ms / 1000),
		    ms < 1000 ? "ms" : "s");
		return;
	}
	for (; rest % 10 == 0; digits--)
		rest /= 10;
	add(raw, "%llu.%0*us", (unsigned long long)ms / 1000, digits, rest);
}

static void add_size(struct raw *raw, uint64_t bytes)
{
	static const char *const units[] = {" bytes", "KiB", "MiB", "GiB", "TiB"};
	size_t unit = 0;

	while (bytes > 0 && bytes % 1024 == 0 && unit + 1 < SBX_ARRAY_SIZE(units)) {
		bytes /= 1024;
		unit++;
	}
	add(raw, "%llu%s", (unsigned long long)bytes, units[unit]);
}

static void add_value(struct raw *raw, enum unit unit, uint64_t v)
{
	switch (unit) {
	case UNIT_COUNT:
		add(raw, "%llu", (unsigned long long)v);
		break;
	case UNIT_BYTES:
		add_size(raw, v);
		break;
	case UNIT_NS:
		add_duration(raw, v);
		break;
	case UNIT_MILLI:
		add(raw, "%llu.%03u", (unsigned long long)v / 1000, (unsigned int)(v % 1000));
		break;
	}
}

/* " of 2s (--timeout)"; without the value where no limit event told it. */
static void add_limit(struct raw *raw, enum sbx_control ctl)
{
	if (raw->limits_met & 1U << ctl) {
		add(raw, " of ");
		add_value(raw, limits[ctl].unit, raw->limit[ctl]);
	}
	add(raw, " (%s)", limits[ctl].option);
}

static int say_limits(struct raw *raw, enum sbx_control but, struct sbx_err *err)
{
	for (int i = 0; i < SBX_CTL_COUNT_; i++) {
		enum sbx_control ctl = (enum sbx_control)i;

		if (!(raw->limits_met & 1U << i) || ctl == but)
			continue;
		add(raw, "the program met the %s limit", sbx_control_name(ctl));
		add_limit(raw, ctl);
		if (say(raw, err) < 0)
			return -1;
	}
	return 0;
}

/* What happened, then the reason and the hint where there are some. */
static int say_ending(struct raw *raw, const struct sbx_ev_end *end, struct sbx_err *err)
{
	enum sbx_control limit = endings[end->outcome].limit;
	bool has_error = end->error && end->error->code != SBX_E_OK;

	/* That it failed need not be said where the reason is. */
	if (end->outcome != SBX_OUT_FAILED || !has_error)
		add(raw, "%s", endings[end->outcome].words);
	if (limit != SBX_CTL_COUNT_)
		add_limit(raw, limit);
	if (end->outcome == SBX_OUT_SIGNALED)
		add(raw, " %s", sbx_signal_name(end->signal));
	if (has_error)
		add(raw, "%s%s", raw->body_len > 0 ? ": " : "", end->error->msg);
	if (end->hint)
		add(raw, "; %s", end->hint);
	return say(raw, err);
}

static int put_end(struct raw *raw, const struct sbx_ev_end *end, struct sbx_err *err)
{
	if (finish_output(raw, raw->opts.out, &raw->out_text, err) < 0 ||
	    finish_output(raw, raw->opts.errout, &raw->err_text, err) < 0)
		return -1;
	if (!raw->opts.quiet && say_limits(raw, endings[end->outcome].limit, err) < 0)
		return -1;
	return end->outcome == SBX_OUT_EXITED ? 0 : say_ending(raw, end, err);
}

static void remember_limit(struct raw *raw, const struct sbx_ev_limit *limit)
{
	enum sbx_control ctl;

	if (!sbx_control_find(sbx_str_of(limit->name), &ctl) || !limits[ctl].option)
		return;
	raw->limits_met |= 1U << ctl;
	raw->limit[ctl] = limit->value;
}

/* For whoever watches a terminal: a line when what is being done changes, not for each step of it. */
static int put_progress(struct raw *raw, const struct sbx_ev_progress *progress,
			struct sbx_err *err)
{
	add(raw, "%s%s%s", progress->phase, progress->message ? ": " : "",
	    progress->message ? progress->message : "");
	if (!raw->opts.escape_err || strcmp(raw->body, raw->last_progress) == 0) {
		raw->body_len = 0;
		return 0;
	}
	memcpy(raw->last_progress, raw->body, raw->body_len + 1);
	return say(raw, err);
}

static int put_file(struct raw *raw, const struct sbx_ev_file *file, struct sbx_err *err)
{
	int n = file->path.n < PATH_MAX ? (int)file->path.n : PATH_MAX;

	if (file->skipped)
		add(raw, "did not save '%.*s': %s", n, file->path.p, file->skipped);
	else if (raw->opts.escape_err && file->saved_as)
		add(raw, "saved '%s'", file->saved_as);
	else
		return 0;
	return say(raw, err);
}

static int put_deny(struct raw *raw, const struct sbx_ev_deny *deny, struct sbx_err *err)
{
	add(raw, "denied %s %s", deny->kind, deny->what);
	if (deny->rule)
		add(raw, " (%s)", deny->rule);
	if (deny->hint)
		add(raw, "; %s", deny->hint);
	return say(raw, err);
}

static int put_warn(struct raw *raw, const struct sbx_ev_warn *warn, struct sbx_err *err)
{
	add(raw, "warning: %s", warn->message);
	return say(raw, err);
}

/* Nothing degrades in silence; which and why is in the events, and in doctor's answer. */
static int put_start(struct raw *raw, const struct sbx_ev_start *start, struct sbx_err *err)
{
	static const struct {
		enum sbx_held held;
		const char *words;
	} weak[] = {{SBX_HELD_DEGRADED, "degraded"}, {SBX_HELD_UNSUPPORTED, "not held"}};
	bool any = false;

	for (size_t w = 0; w < SBX_ARRAY_SIZE(weak); w++) {
		const char *sep = ": ";

		for (int i = 0; i < SBX_CTL_COUNT_; i++) {
			if (start->receipt->control[i].held != weak[w].held)
				continue;
			if (*sep == ':')
				add(raw, "%s%s", any ? "; " : "", weak[w].words);
			add(raw, "%s%s", sep, sbx_control_name((enum sbx_control)i));
			sep = ", ";
			any = true;
		}
	}
	if (!any)
		return 0;
	add(raw, " (llmsbx doctor tells why)");
	return say(raw, err);
}

static int put(struct sbx_sink *sink, const struct sbx_event *ev, struct sbx_err *err)
{
	struct raw *raw = (struct raw *)sink;

	switch (ev->type) {
	case SBX_EV_STDOUT:
	case SBX_EV_STDERR:
		return put_output(raw, ev, err);
	case SBX_EV_PROGRESS:
		return raw->opts.quiet ? 0 : put_progress(raw, &ev->progress, err);
	case SBX_EV_FILE:
		return raw->opts.quiet ? 0 : put_file(raw, &ev->file, err);
	case SBX_EV_DENY:
		return raw->opts.quiet ? 0 : put_deny(raw, &ev->deny, err);
	case SBX_EV_WARN:
		return raw->opts.quiet ? 0 : put_warn(raw, &ev->warn, err);
	case SBX_EV_LIMIT:
		remember_limit(raw, &ev->limit);
		return 0;
	case SBX_EV_END:
		return put_end(raw, &ev->end, err);
	case SBX_EV_START:
		return raw->opts.quiet || ev->start.refused ? 0 : put_start(raw, &ev->start, err);
	case SBX_EV_DISPLAY:
		break;
	}
	return 0;
}

static void release(struct sbx_sink *sink)
{
	struct raw *raw = (struct raw *)sink;

	sbx_buf_release(&raw->shown);
	free(raw);
}

static const struct sbx_sink_ops raw_ops = {.put = put, .free = release};

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

struct sbx_sink *sbx_sink_raw(const struct sbx_sink_raw_opts *opts)
{
	struct raw *raw = sbx_new(struct raw);

	raw->base.ops = &raw_ops;
	raw->opts = *opts;
	raw->same_place = same_file(opts->out->fd, opts->errout->fd);
	raw->shown.max = opts->out->queue.max;
	return &raw->base;
}
