/* What `list` and the like print: lines for a person, a JSON array, or an object a line. */
#pragma once

#include "cmd/opt.h"
#include "lib/base/buf.h"
#include "lib/json/write.h"

enum sbx_list_format { SBX_LIST_TEXT, SBX_LIST_JSON, SBX_LIST_JSONL };

struct sbx_list {
	enum sbx_list_format format;
	size_t n; /* items so far */
	struct sbx_buf item;
	struct sbx_jw jw; /* of the item that is being written */
};

/* For option rows: "text", "json", "jsonl" into an enum sbx_list_format. */
sbx_opt_apply sbx_list_format_apply;

void sbx_list_init(struct sbx_list *list, enum sbx_list_format format);
void sbx_list_release(struct sbx_list *list);

/* One item, for the JSON formats: begin, members through list->jw, end, which prints it. */
void sbx_list_begin(struct sbx_list *list);
int sbx_list_end(struct sbx_list *list, struct sbx_err *err) SBX_MUST_USE;

/* After the last item. */
void sbx_list_finish(struct sbx_list *list);
