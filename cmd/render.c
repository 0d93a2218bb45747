#include "cmd/render.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/event/sinks.h"

static const char *const format_names[] = {
	[SBX_FORMAT_JSONL] = "jsonl",
	[SBX_FORMAT_RAW] = "raw",
	[SBX_FORMAT_JSON] = "json",
};

int sbx_format_parse(const char *text, const char *where, enum sbx_format *ret, struct sbx_err *err)
{
	for (size_t i = SBX_FORMAT_JSONL; i < SBX_ARRAY_SIZE(format_names); i++) {
		if (strcmp(text, format_names[i]) == 0) {
			*ret = (enum sbx_format)i;
			return 0;
		}
	}
	return sbx_fail(err, SBX_E_USAGE, "%s: '%s' is none of 'jsonl', 'raw', 'json'", where,
			text);
}

enum sbx_format sbx_format_settle(enum sbx_format format)
{
	if (format != SBX_FORMAT_AUTO)
		return format;
	return isatty(STDOUT_FILENO) ? SBX_FORMAT_RAW : SBX_FORMAT_JSONL;
}

int sbx_events_fd_check(int fd, const char *where, struct sbx_err *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (fd == STDIN_FILENO)
		return sbx_fail(err, SBX_E_USAGE, "%s: 0 is standard input", where);
	if (flags < 0)
		return sbx_fail(err, SBX_E_USAGE,
				"%s: descriptor %d is not open; open it in the shell: %d>FILE",
				where, fd, fd);
	if ((flags & O_ACCMODE) == O_RDONLY)
		return sbx_fail(err, SBX_E_USAGE, "%s: descriptor %d is open for reading only",
				where, fd);
	return 0;
}

/* The queue of fd, opened when it is first named. */
static int out_of(struct sbx_render *r, int fd, struct sbx_out **ret, struct sbx_err *err)
{
	size_t i;

	for (i = 0; i < r->n_outs && r->fd[i] != fd; i++)
		;
	if (i == r->n_outs) {
		if (sbx_out_open(&r->out[i], fd, SBX_RENDER_QUEUE, err) < 0)
			return -1;
		r->fd[i] = fd;
		r->n_outs++;
	}
	*ret = &r->out[i];
	return 0;
}

static int open_main_sink(struct sbx_render *r, const struct sbx_render_opts *opts,
			  struct sbx_err *err)
{
	enum sbx_format format = sbx_format_settle(opts->format);
	struct sbx_sink_raw_opts raw = {.quiet = opts->quiet};
	struct sbx_out *out;

	if (out_of(r, STDOUT_FILENO, &out, err) < 0)
		return -1;
	if (format == SBX_FORMAT_JSONL) {
		r->sink = sbx_sink_jsonl(out, opts->seq);
	} else if (format == SBX_FORMAT_JSON) {
		r->sink = sbx_sink_json(out, opts->max_output);
	} else {
		raw.out = out;
		if (out_of(r, STDERR_FILENO, &raw.errout, err) < 0)
			return -1;
		raw.escape_out = !opts->raw_output && isatty(STDOUT_FILENO);
		raw.escape_err = !opts->raw_output && isatty(STDERR_FILENO);
		r->sink = sbx_sink_raw(&raw);
	}
	return 0;
}

int sbx_render_open(struct sbx_render *r, const struct sbx_render_opts *opts, struct sbx_err *err)
{
	struct sbx_out *events;

	*r = (struct sbx_render){0};
	if (open_main_sink(r, opts, err) < 0)
		return -1;
	if (opts->events_fd < 0)
		return 0;
	if (out_of(r, opts->events_fd, &events, err) < 0)
		return -1;
	r->sink = sbx_sink_tee(r->sink, sbx_sink_jsonl(events, opts->seq));
	return 0;
}

void sbx_render_outs(struct sbx_render *r, struct sbx_out *outs[SBX_RENDER_OUTS + 1])
{
	for (size_t i = 0; i <= SBX_RENDER_OUTS; i++)
		outs[i] = i < r->n_outs ? &r->out[i] : NULL;
}

int sbx_render_drain(struct sbx_render *r, struct sbx_err *err)
{
	for (size_t i = 0; i < r->n_outs; i++) {
		if (sbx_out_drain(&r->out[i], SBX_UNLIMITED, err) < 0)
			return -1;
	}
	return 0;
}

void sbx_render_release(struct sbx_render *r)
{
	sbx_sink_free(r->sink);
	r->sink = NULL;
	for (size_t i = 0; i < r->n_outs; i++)
		sbx_out_release(&r->out[i]);
	r->n_outs = 0;
}
