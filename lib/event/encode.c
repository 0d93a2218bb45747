#include "lib/event/encode.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "lib/event/fields.h"
#include "lib/event/sinks.h"
#include "lib/json/write.h"

static void write_field(struct sbx_jw *jw, const struct sbx_ev_field *row,
			const struct sbx_event *ev)
{
	const void *at = (const char *)ev + row->offset;

	sbx_jw_key(jw, row->key);
	switch (row->kind) {
	case SBX_EVK_TEXT:
	case SBX_EVK_TEXT_NULL:
		sbx_jw_cstr(jw, *(const char *const *)at);
		break;
	case SBX_EVK_U64:
		sbx_jw_u64(jw, *(const uint64_t *)at);
		break;
	case SBX_EVK_U32_NULL:
		if (*(const uint32_t *)at)
			sbx_jw_u64(jw, *(const uint32_t *)at);
		else
			sbx_jw_null(jw);
		break;
	}
}

static void write_fields(struct sbx_jw *jw, struct sbx_ev_fields fields, const struct sbx_event *ev)
{
	for (size_t i = 0; i < fields.n; i++)
		write_field(jw, &fields.rows[i], ev);
}

void sbx_event_write_fields(struct sbx_jw *jw, const struct sbx_event *ev)
{
	write_fields(jw, sbx_event_fields(ev->type), ev);
}

static void write_known(struct sbx_jw *jw, const char *key, bool known, uint64_t v)
{
	if (known)
		sbx_jw_ku64(jw, key, v);
	else
		sbx_jw_knull(jw, key);
}

static void write_bytes(struct sbx_jw *jw, struct sbx_str bytes, bool text)
{
	sbx_jw_key(jw, text ? "data" : "base64");
	if (text)
		sbx_jw_str(jw, bytes);
	else
		sbx_jw_base64(jw, bytes);
}

/* A name is exact where JSON can hold it; else printable, and exact under key_base64. */
static void write_path(struct sbx_jw *jw, const char *key, const char *key_base64,
		       struct sbx_str path)
{
	SBX_CLEANUP(sbx_freep) char *name = NULL;
	char shown[PATH_MAX];

	sbx_jw_key(jw, key);
	if (sbx_utf8_valid(path.p, path.n)) {
		sbx_jw_str(jw, path);
		return;
	}
	name = sbx_str_dup(path);
	(void)sbx_utf8_show(shown, sizeof(shown), 0, name);
	sbx_jw_cstr(jw, shown);
	sbx_jw_key(jw, key_base64);
	sbx_jw_base64(jw, path);
}

static void write_file(struct sbx_jw *jw, const struct sbx_event *ev)
{
	write_path(jw, "path", "path_base64", ev->file.path);
	sbx_event_write_fields(jw, ev);
	if (ev->file.saved_as)
		write_path(jw, "saved_as", "saved_as_base64", sbx_str_of(ev->file.saved_as));
	else
		sbx_jw_knull(jw, "saved_as");
}

/* RFC 3339, UTC, nanoseconds. */
static void write_time(struct sbx_jw *jw, int64_t time_ns)
{
	const int64_t second = 1000000000;
	int64_t ns = (time_ns % second + second) % second; /* not negative before 1970 either */
	time_t at = (time_ns - ns) / second;
	struct tm tm;
	char date[64] = "", text[96];

	if (gmtime_r(&at, &tm))
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text, sizeof(text), "%s.%09dZ", date, (int)ns);
	sbx_jw_kstr(jw, "time", text);
}

static void write_start(struct sbx_jw *jw, const struct sbx_event *ev)
{
	sbx_jw_ku64(jw, "v", 1);
	write_time(jw, ev->start.time_ns);
	sbx_event_write_fields(jw, ev);
	sbx_receipt_write(ev->start.receipt, jw);
}

static void write_progress(struct sbx_jw *jw, const struct sbx_event *ev)
{
	bool known = ev->progress.done || ev->progress.total;

	sbx_event_write_fields(jw, ev);
	write_known(jw, "done", known, ev->progress.done);
	write_known(jw, "total", known, ev->progress.total);
}

static void write_error(struct sbx_jw *jw, const struct sbx_ev_end *end)
{
	if (!end->error || end->error->code == SBX_E_OK) {
		sbx_jw_knull(jw, "error");
		return;
	}
	sbx_jw_key(jw, "error");
	sbx_jw_object(jw);
	sbx_jw_kstr(jw, "code", sbx_code_name(end->error->code));
	sbx_jw_kstr(jw, "message", end->error->msg);
	sbx_jw_kstr(jw, "phase", end->phase);
	sbx_jw_kstr(jw, "hint", end->hint);
	sbx_jw_end(jw);
}

static void write_pair(struct sbx_jw *jw, const char *key, const char *first, uint64_t first_v,
		       const char *second, uint64_t second_v)
{
	sbx_jw_key(jw, key);
	sbx_jw_object(jw);
	sbx_jw_ku64(jw, first, first_v);
	sbx_jw_ku64(jw, second, second_v);
	sbx_jw_end(jw);
}

static void write_usage(struct sbx_jw *jw, const struct sbx_usage *usage)
{
	sbx_jw_key(jw, "usage");
	sbx_jw_object(jw);
	sbx_jw_ku64(jw, "cpu_user_ns", usage->cpu_user_ns);
	sbx_jw_ku64(jw, "cpu_sys_ns", usage->cpu_sys_ns);
	write_known(jw, "memory_peak_bytes", usage->has_memory, usage->memory_peak_bytes);
	write_known(jw, "pids_peak", usage->has_pids, usage->pids_peak);
	if (usage->has_io)
		write_pair(jw, "io", "read_bytes", usage->io_read_bytes, "write_bytes",
			   usage->io_write_bytes);
	else
		sbx_jw_knull(jw, "io");
	if (usage->has_net)
		write_pair(jw, "net", "sent_bytes", usage->net_sent_bytes, "received_bytes",
			   usage->net_received_bytes);
	else
		sbx_jw_knull(jw, "net");
	sbx_jw_end(jw);
}

static void write_end(struct sbx_jw *jw, const struct sbx_event *ev)
{
	const struct sbx_ev_end *end = &ev->end;

	sbx_jw_kstr(jw, "outcome", sbx_outcome_name(end->outcome));
	sbx_jw_key(jw, "exit_code");
	if (end->has_exit_code)
		sbx_jw_i64(jw, end->exit_code);
	else
		sbx_jw_null(jw);
	sbx_jw_kstr(jw, "signal", end->signal ? sbx_signal_name(end->signal) : NULL);
	sbx_jw_kbool(jw, "ran", end->ran);
	write_error(jw, end);
	sbx_jw_key(jw, "truncated");
	sbx_jw_object(jw);
	sbx_jw_kbool(jw, "stdout", end->truncated_stdout);
	sbx_jw_kbool(jw, "stderr", end->truncated_stderr);
	sbx_jw_end(jw);
	write_pair(jw, "bytes", "stdout", end->bytes_stdout, "stderr", end->bytes_stderr);
	sbx_jw_key(jw, "timing");
	sbx_jw_object(jw);
	write_fields(jw, sbx_event_timing_fields(), ev);
	sbx_jw_end(jw);
	write_usage(jw, &end->usage);
}

void sbx_event_write_members(struct sbx_jw *jw, const struct sbx_event *ev)
{
	switch (ev->type) {
	case SBX_EV_START:
		write_start(jw, ev);
		break;
	case SBX_EV_PROGRESS:
		write_progress(jw, ev);
		break;
	case SBX_EV_STDOUT:
	case SBX_EV_STDERR:
		write_bytes(jw, ev->output.bytes, ev->output.text);
		break;
	case SBX_EV_DISPLAY:
		sbx_event_write_fields(jw, ev);
		write_bytes(jw, ev->display.bytes, ev->display.text);
		break;
	case SBX_EV_FILE:
		write_file(jw, ev);
		break;
	case SBX_EV_DENY:
	case SBX_EV_LIMIT:
	case SBX_EV_WARN:
		sbx_event_write_fields(jw, ev);
		break;
	case SBX_EV_END:
		write_end(jw, ev);
		break;
	}
}

void sbx_event_write_envelope(struct sbx_jw *jw, const struct sbx_event *ev)
{
	sbx_jw_kstr(jw, "id", ev->id);
	sbx_jw_ku64(jw, "seq", ev->seq);
	sbx_jw_ku64(jw, "t_ns", ev->t_ns);
}

void sbx_event_write_bare(struct sbx_jw *jw, const struct sbx_event *ev)
{
	sbx_jw_object(jw);
	sbx_event_write_members(jw, ev);
	sbx_jw_end(jw);
}

int sbx_event_json(const struct sbx_event *ev, struct sbx_buf *out, struct sbx_err *err)
{
	struct sbx_jw jw;

	sbx_jw_init(&jw, out);
	sbx_jw_object(&jw);
	sbx_jw_kstr(&jw, "type", sbx_event_type_name(ev->type));
	sbx_event_write_envelope(&jw, ev);
	sbx_event_write_members(&jw, ev);
	sbx_jw_end(&jw);
	return sbx_jw_done(&jw, err);
}
