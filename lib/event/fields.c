#include "lib/event/fields.h"

#define AT(member) offsetof(struct sbx_event, member)

static const struct sbx_ev_field start_rows[] = {
	{"lang", SBX_EVK_TEXT, AT(start.lang)},
	{"backend", SBX_EVK_TEXT, AT(start.backend)},
	{"engine", SBX_EVK_TEXT_NULL, AT(start.engine)},
	{"image", SBX_EVK_TEXT_NULL, AT(start.image)},
	{"state", SBX_EVK_TEXT, AT(start.state)},
};

static const struct sbx_ev_field progress_rows[] = {
	{"phase", SBX_EVK_TEXT, AT(progress.phase)},
	{"message", SBX_EVK_TEXT_NULL, AT(progress.message)},
};

static const struct sbx_ev_field display_rows[] = {
	{"mime", SBX_EVK_TEXT, AT(display.mime)},
	{"title", SBX_EVK_TEXT_NULL, AT(display.title)},
	{"width", SBX_EVK_U32_NULL, AT(display.width)},
	{"height", SBX_EVK_U32_NULL, AT(display.height)},
};

static const struct sbx_ev_field file_rows[] = {
	{"size", SBX_EVK_U64, AT(file.size)},
	{"sha256", SBX_EVK_TEXT_NULL, AT(file.sha256)},
	{"mime", SBX_EVK_TEXT_NULL, AT(file.mime)},
	{"change", SBX_EVK_TEXT, AT(file.change)},
	{"skipped", SBX_EVK_TEXT_NULL, AT(file.skipped)},
};

static const struct sbx_ev_field deny_rows[] = {
	{"kind", SBX_EVK_TEXT, AT(deny.kind)},
	{"what", SBX_EVK_TEXT, AT(deny.what)},
	{"rule", SBX_EVK_TEXT_NULL, AT(deny.rule)},
	{"hint", SBX_EVK_TEXT_NULL, AT(deny.hint)},
};

static const struct sbx_ev_field limit_rows[] = {
	{"name", SBX_EVK_TEXT, AT(limit.name)},
	{"value", SBX_EVK_U64, AT(limit.value)},
};

static const struct sbx_ev_field warn_rows[] = {
	{"code", SBX_EVK_TEXT, AT(warn.code)},
	{"message", SBX_EVK_TEXT, AT(warn.message)},
};

static const struct sbx_ev_field timing_rows[] = {
	{"queue", SBX_EVK_U64, AT(end.timing.queue)},
	{"acquire", SBX_EVK_U64, AT(end.timing.acquire)},
	{"install", SBX_EVK_U64, AT(end.timing.install)},
	{"compile", SBX_EVK_U64, AT(end.timing.compile)},
	{"exec", SBX_EVK_U64, AT(end.timing.exec)},
	{"drain", SBX_EVK_U64, AT(end.timing.drain)},
	{"teardown", SBX_EVK_U64, AT(end.timing.teardown)},
	{"total", SBX_EVK_U64, AT(end.timing.total)},
};

#define FIELDS(rows_)                                       \
	{                                                   \
		.rows = (rows_), .n = SBX_ARRAY_SIZE(rows_) \
	}

static const struct {
	const char *name;
	struct sbx_ev_fields fields;
} types[] = {
	[SBX_EV_START] = {"start", FIELDS(start_rows)},
	[SBX_EV_PROGRESS] = {"progress", FIELDS(progress_rows)},
	[SBX_EV_STDOUT] = {"stdout", {NULL, 0}},
	[SBX_EV_STDERR] = {"stderr", {NULL, 0}},
	[SBX_EV_DISPLAY] = {"display", FIELDS(display_rows)},
	[SBX_EV_FILE] = {"file", FIELDS(file_rows)},
	[SBX_EV_DENY] = {"deny", FIELDS(deny_rows)},
	[SBX_EV_LIMIT] = {"limit", FIELDS(limit_rows)},
	[SBX_EV_WARN] = {"warn", FIELDS(warn_rows)},
	[SBX_EV_END] = {"end", {NULL, 0}},
};

const char *sbx_event_type_name(enum sbx_event_type type)
{
	return types[type].name;
}

struct sbx_ev_fields sbx_event_fields(enum sbx_event_type type)
{
	return types[type].fields;
}

struct sbx_ev_fields sbx_event_timing_fields(void)
{
	return (struct sbx_ev_fields)FIELDS(timing_rows);
}
