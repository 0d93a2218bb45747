#include "lib/event/decode.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/base64.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/event/fields.h"
#include "lib/json/doc.h"

/* The member of a type, or of null where that may be; *ret is untouched for null. */
static int member(struct sbx_json object, const char *key, enum sbx_json_type type,
		  struct sbx_json *ret, struct sbx_err *err)
{
	struct sbx_json v;

	if (!sbx_json_get(object, key, &v))
		return sbx_fail(err, SBX_E_INVALID, "event: no '%s'", key);
	if (sbx_json_type(v) != type)
		return sbx_fail(err, SBX_E_INVALID, "event: '%s' must be %s, not %s", key,
				sbx_json_type_name(type), sbx_json_type_name(sbx_json_type(v)));
	*ret = v;
	return 0;
}

static bool is_null(struct sbx_json object, const char *key)
{
	struct sbx_json v;

	return sbx_json_get(object, key, &v) && sbx_json_type(v) == SBX_JSON_NULL;
}

/* A copy that lives as long as dec. */
static int keep(struct sbx_decoded *dec, struct sbx_str s, const char *key, const char **ret,
		struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *copy = NULL;

	if (s.n > 0 && memchr(s.p, '\0', s.n))
		return sbx_fail(err, SBX_E_INVALID, "event: a NUL in '%s'", key);
	copy = sbx_str_dup(s);
	if (sbx_strv_add(&dec->texts, copy, err) < 0)
		return -1;
	*ret = dec->texts.v[dec->texts.n - 1];
	return 0;
}

static int get_text(struct sbx_decoded *dec, struct sbx_json object, const char *key,
		    const char **ret, struct sbx_err *err)
{
	struct sbx_json v;

	if (member(object, key, SBX_JSON_STRING, &v, err) < 0)
		return -1;
	return keep(dec, sbx_json_string(v), key, ret, err);
}

static int get_text_null(struct sbx_decoded *dec, struct sbx_json object, const char *key,
			 const char **ret, struct sbx_err *err)
{
	return is_null(object, key) ? 0 : get_text(dec, object, key, ret, err);
}

static int get_u64(struct sbx_json object, const char *key, uint64_t max, uint64_t *ret,
		   struct sbx_err *err)
{
	struct sbx_json v;

	if (member(object, key, SBX_JSON_NUMBER, &v, err) < 0)
		return -1;
	if (sbx_json_u64(v, max, key, ret, err) < 0)
		return sbx_wrap(err, "event");
	return 0;
}

/* *known is false for null. */
static int get_u64_null(struct sbx_json object, const char *key, bool *known, uint64_t *ret,
			struct sbx_err *err)
{
	*known = !is_null(object, key);
	return *known ? get_u64(object, key, UINT64_MAX, ret, err) : 0;
}

static int get_bool(struct sbx_json object, const char *key, bool *ret, struct sbx_err *err)
{
	struct sbx_json v;

	if (member(object, key, SBX_JSON_BOOL, &v, err) < 0)
		return -1;
	*ret = sbx_json_bool(v);
	return 0;
}

static int get_u32_null(struct sbx_json object, const char *key, uint32_t *ret, struct sbx_err *err)
{
	uint64_t v = 0;

	if (!is_null(object, key) && get_u64(object, key, UINT32_MAX, &v, err) < 0)
		return -1;
	*ret = (uint32_t)v;
	return 0;
}

static int get_field(struct sbx_decoded *dec, struct sbx_json object,
		     const struct sbx_ev_field *row, struct sbx_err *err)
{
	void *at = (char *)&dec->ev + row->offset;

	switch (row->kind) {
	case SBX_EVK_TEXT:
		return get_text(dec, object, row->key, at, err);
	case SBX_EVK_TEXT_NULL:
		return get_text_null(dec, object, row->key, at, err);
	case SBX_EVK_U64:
		return get_u64(object, row->key, UINT64_MAX, at, err);
	case SBX_EVK_U32_NULL:
		break;
	}
	return get_u32_null(object, row->key, at, err);
}

static int get_fields(struct sbx_decoded *dec, struct sbx_json object, struct sbx_ev_fields fields,
		      struct sbx_err *err)
{
	for (size_t i = 0; i < fields.n; i++) {
		if (get_field(dec, object, &fields.rows[i], err) < 0)
			return -1;
	}
	return 0;
}

/* `data` or `base64`, whichever is there. */
static int get_bytes(struct sbx_decoded *dec, struct sbx_json object, struct sbx_str *ret,
		     bool *text, struct sbx_err *err)
{
	struct sbx_json v;

	*text = sbx_json_get(object, "data", &v);
	if (member(object, *text ? "data" : "base64", SBX_JSON_STRING, &v, err) < 0)
		return -1;
	*ret = sbx_json_string(v);
	if (*text)
		return 0;
	dec->bytes.max = ret->n;
	if (sbx_base64_decode(&dec->bytes, *ret, err) < 0)
		return sbx_wrap(err, "event: 'base64'");
	*ret = (struct sbx_str){.p = sbx_buf_str(&dec->bytes), .n = dec->bytes.len};
	return 0;
}

/* The exact name: from key_base64 where that is there. */
static int get_path(struct sbx_decoded *dec, struct sbx_json object, const char *key,
		    const char *key_base64, const char **ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf exact = SBX_BUF_INIT(SBX_DOC_MAX);
	struct sbx_json v;

	if (!sbx_json_get(object, key_base64, &v))
		return get_text(dec, object, key, ret, err);
	if (member(object, key_base64, SBX_JSON_STRING, &v, err) < 0)
		return -1;
	if (sbx_base64_decode(&exact, sbx_json_string(v), err) < 0)
		return sbx_wrap(err, "event: '%s'", key_base64);
	return keep(dec, (struct sbx_str){.p = sbx_buf_str(&exact), .n = exact.len}, key_base64,
		    ret, err);
}

static int get_file(struct sbx_decoded *dec, struct sbx_json object, struct sbx_err *err)
{
	struct sbx_ev_file *file = &dec->ev.file;
	const char *path;

	if (get_path(dec, object, "path", "path_base64", &path, err) < 0)
		return -1;
	file->path = sbx_str_of(path);
	if (is_null(object, "saved_as"))
		return 0;
	return get_path(dec, object, "saved_as", "saved_as_base64", &file->saved_as, err);
}

/* The digits of shape are marked 0; all else must be there as it is. */
static bool has_shape(struct sbx_str s, const char *shape)
{
	if (s.n != strlen(shape))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (shape[i] == '0' ? s.p[i] < '0' || s.p[i] > '9' : s.p[i] != shape[i])
			return false;
	}
	return true;
}

static int number(const char *p, size_t n)
{
	int v = 0;

	for (size_t i = 0; i < n; i++)
		v = v * 10 + (p[i] - '0');
	return v;
}

static int get_time(struct sbx_json object, int64_t *ret, struct sbx_err *err)
{
	struct sbx_json v;
	struct sbx_str s;
	struct tm tm = {0};

	if (member(object, "time", SBX_JSON_STRING, &v, err) < 0)
		return -1;
	s = sbx_json_string(v);
	if (!has_shape(s, "0000-00-00T00:00:00.000000000Z"))
		return sbx_fail(err, SBX_E_INVALID, "event: 'time' is not a time");
	tm.tm_year = number(s.p, 4) - 1900;
	tm.tm_mon = number(s.p + 5, 2) - 1;
	tm.tm_mday = number(s.p + 8, 2);
	tm.tm_hour = number(s.p + 11, 2);
	tm.tm_min = number(s.p + 14, 2);
	tm.tm_sec = number(s.p + 17, 2);
	if (__builtin_mul_overflow(timegm(&tm), (int64_t)1000000000, ret) ||
	    __builtin_add_overflow(*ret, number(s.p + 20, 9), ret))
		return sbx_fail(err, SBX_E_INVALID, "event: 'time' is too far away");
	return 0;
}

/* Controls that are not known are passed over. */
static int get_held(struct sbx_decoded *dec, struct sbx_json object, const char *key,
		    enum sbx_held held, struct sbx_err *err)
{
	struct sbx_json part, name, by;
	struct sbx_json_iter it;

	if (member(object, key, SBX_JSON_OBJECT, &part, err) < 0)
		return -1;
	it = sbx_json_iter(part);
	while (sbx_json_next(&it, &name, &by)) {
		enum sbx_control ctl;
		const char *text;

		if (!sbx_control_find(sbx_json_string(name), &ctl))
			continue;
		if (get_text(dec, part, sbx_control_name(ctl), &text, err) < 0)
			return -1;
		sbx_receipt_set(&dec->receipt, ctl, held, "%s", text);
	}
	return 0;
}

static int get_start(struct sbx_decoded *dec, struct sbx_json object, struct sbx_err *err)
{
	uint64_t version;

	dec->ev.start.receipt = &dec->receipt;
	if (get_u64(object, "v", 1, &version, err) < 0 ||
	    get_time(object, &dec->ev.start.time_ns, err) < 0 ||
	    get_held(dec, object, "enforced", SBX_HELD_ENFORCED, err) < 0 ||
	    get_held(dec, object, "degraded", SBX_HELD_DEGRADED, err) < 0)
		return -1;
	return get_held(dec, object, "unsupported", SBX_HELD_UNSUPPORTED, err);
}

static int get_progress(struct sbx_decoded *dec, struct sbx_json object, struct sbx_err *err)
{
	bool known;

	if (get_u64_null(object, "done", &known, &dec->ev.progress.done, err) < 0)
		return -1;
	return get_u64_null(object, "total", &known, &dec->ev.progress.total, err);
}

static int get_outcome(struct sbx_decoded *dec, struct sbx_json object, struct sbx_err *err)
{
	struct sbx_json v;

	if (member(object, "outcome", SBX_JSON_STRING, &v, err) < 0)
		return -1;
	for (int i = 0; i < SBX_OUTCOME_COUNT_; i++) {
		if (sbx_str_eq(sbx_json_string(v), sbx_outcome_name((enum sbx_outcome)i))) {
			dec->ev.end.outcome = (enum sbx_outcome)i;
			return 0;
		}
	}
	return sbx_fail(err, SBX_E_INVALID, "event: no such outcome");
}

static int get_exit_code(struct sbx_decoded *dec, struct sbx_json object, struct sbx_err *err)
{
	struct sbx_ev_end *end = &dec->ev.end;
	uint64_t v = 0;

	end->has_exit_code = !is_null(object, "exit_code");
	if (end->has_exit_code && get_u64(object, "exit_code", INT_MAX, &v, err) < 0)
		return -1;
	end->exit_code = (int)v;
	return 0;
}

static int get_signal(struct sbx_decoded *dec, struct sbx_json object, struct sbx_err *err)
{
	struct sbx_json v;

	if (is_null(object, "signal"))
		return 0;
	if (member(object, "signal", SBX_JSON_STRING, &v, err) < 0)
		return -1;
	for (int i = 1; i <= 64; i++) {
		if (sbx_str_eq(sbx_json_string(v), sbx_signal_name(i))) {
			dec->ev.end.signal = i;
			return 0;
		}
	}
	return sbx_fail(err, SBX_E_INVALID, "event: no such signal");
}

/* A code that is not known was made by another version. */
static int get_error(struct sbx_decoded *dec, struct sbx_json object, struct sbx_err *err)
{
	enum sbx_code code = SBX_E_BACKEND;
	const char *name, *message;
	struct sbx_json v;

	if (is_null(object, "error"))
		return 0;
	if (member(object, "error", SBX_JSON_OBJECT, &v, err) < 0 ||
	    get_text(dec, v, "code", &name, err) < 0 ||
	    get_text(dec, v, "message", &message, err) < 0 ||
	    get_text_null(dec, v, "phase", &dec->ev.end.phase, err) < 0 ||
	    get_text_null(dec, v, "hint", &dec->ev.end.hint, err) < 0)
		return -1;
	for (int i = SBX_E_OK + 1; i < SBX_E_COUNT_; i++) {
		if (strcmp(name, sbx_code_name((enum sbx_code)i)) == 0)
			code = (enum sbx_code)i;
	}
	sbx_fail_(&dec->error, code, "%s", message);
	dec->ev.end.error = &dec->error;
	return 0;
}

static int get_pair(struct sbx_json v, const char *first, uint64_t *first_v, const char *second,
		    uint64_t *second_v, struct sbx_err *err)
{
	if (get_u64(v, first, UINT64_MAX, first_v, err) < 0)
		return -1;
	return get_u64(v, second, UINT64_MAX, second_v, err);
}

static int get_usage(struct sbx_usage *usage, struct sbx_json object, struct sbx_err *err)
{
	struct sbx_json v, io, net;

	if (member(object, "usage", SBX_JSON_OBJECT, &v, err) < 0 ||
	    get_pair(v, "cpu_user_ns", &usage->cpu_user_ns, "cpu_sys_ns", &usage->cpu_sys_ns, err) <
		    0 ||
	    get_u64_null(v, "memory_peak_bytes", &usage->has_memory, &usage->memory_peak_bytes,
			 err) < 0 ||
	    get_u64_null(v, "pids_peak", &usage->has_pids, &usage->pids_peak, err) < 0)
		return -1;
	usage->has_io = !is_null(v, "io");
	if (usage->has_io && (member(v, "io", SBX_JSON_OBJECT, &io, err) < 0 ||
			      get_pair(io, "read_bytes", &usage->io_read_bytes, "write_bytes",
				       &usage->io_write_bytes, err) < 0))
		return -1;
	usage->has_net = !is_null(v, "net");
	if (!usage->has_net)
		return 0;
	if (member(v, "net", SBX_JSON_OBJECT, &net, err) < 0)
		return -1;
	return get_pair(net, "sent_bytes", &usage->net_sent_bytes, "received_bytes",
			&usage->net_received_bytes, err);
}

static int get_end(struct sbx_decoded *dec, struct sbx_json object, struct sbx_err *err)
{
	struct sbx_ev_end *end = &dec->ev.end;
	struct sbx_json v;

	if (get_outcome(dec, object, err) < 0 || get_exit_code(dec, object, err) < 0 ||
	    get_signal(dec, object, err) < 0 || get_bool(object, "ran", &end->ran, err) < 0 ||
	    get_error(dec, object, err) < 0)
		return -1;
	if (member(object, "truncated", SBX_JSON_OBJECT, &v, err) < 0 ||
	    get_bool(v, "stdout", &end->truncated_stdout, err) < 0 ||
	    get_bool(v, "stderr", &end->truncated_stderr, err) < 0)
		return -1;
	if (member(object, "bytes", SBX_JSON_OBJECT, &v, err) < 0 ||
	    get_pair(v, "stdout", &end->bytes_stdout, "stderr", &end->bytes_stderr, err) < 0)
		return -1;
	if (member(object, "timing", SBX_JSON_OBJECT, &v, err) < 0 ||
	    get_fields(dec, v, sbx_event_timing_fields(), err) < 0)
		return -1;
	return get_usage(&end->usage, object, err);
}

static int get_members(struct sbx_decoded *dec, struct sbx_json object, struct sbx_err *err)
{
	struct sbx_event *ev = &dec->ev;

	if (get_fields(dec, object, sbx_event_fields(ev->type), err) < 0)
		return -1;
	switch (ev->type) {
	case SBX_EV_START:
		return get_start(dec, object, err);
	case SBX_EV_PROGRESS:
		return get_progress(dec, object, err);
	case SBX_EV_STDOUT:
	case SBX_EV_STDERR:
		return get_bytes(dec, object, &ev->output.bytes, &ev->output.text, err);
	case SBX_EV_DISPLAY:
		return get_bytes(dec, object, &ev->display.bytes, &ev->display.text, err);
	case SBX_EV_FILE:
		return get_file(dec, object, err);
	case SBX_EV_END:
		return get_end(dec, object, err);
	case SBX_EV_DENY:
	case SBX_EV_LIMIT:
	case SBX_EV_WARN:
		break;
	}
	return 0;
}

static bool find_type(struct sbx_str name, enum sbx_event_type *ret)
{
	for (int i = SBX_EV_START; i <= SBX_EV_END; i++) {
		if (sbx_str_eq(name, sbx_event_type_name((enum sbx_event_type)i))) {
			*ret = (enum sbx_event_type)i;
			return true;
		}
	}
	return false;
}

int sbx_event_decode(struct sbx_str line, struct sbx_decoded *ret, struct sbx_err *err)
{
	struct sbx_json root, type;

	if (line.n > SBX_DOC_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "event: more than %d bytes", SBX_DOC_MAX);
	if (sbx_json_parse(line, "event", &ret->doc, err) < 0)
		return -1;
	root = sbx_json_root(ret->doc);
	if (sbx_json_type(root) != SBX_JSON_OBJECT)
		return sbx_fail(err, SBX_E_INVALID, "event: must be an object, not %s",
				sbx_json_type_name(sbx_json_type(root)));
	if (member(root, "type", SBX_JSON_STRING, &type, err) < 0)
		return -1;
	if (!find_type(sbx_json_string(type), &ret->ev.type))
		return 0;
	if (get_text(ret, root, "id", &ret->ev.id, err) < 0 ||
	    get_pair(root, "seq", &ret->ev.seq, "t_ns", &ret->ev.t_ns, err) < 0)
		return -1;
	return get_members(ret, root, err) < 0 ? -1 : 1;
}

void sbx_decoded_release(struct sbx_decoded *dec)
{
	sbx_json_free(dec->doc);
	sbx_strv_release(&dec->texts);
	sbx_buf_release(&dec->bytes);
	*dec = (struct sbx_decoded){0};
}
