#include "cmd/list.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/limits.h"

int sbx_list_format_apply(const struct sbx_opt *opt, const char *value, const char *where,
			  void *ctx, struct sbx_err *err)
{
	static const char *const names[] = {"text", "json", "jsonl"};
	enum sbx_list_format *field = (void *)((char *)ctx + opt->offset);

	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]) == 0) {
			*field = (enum sbx_list_format)i;
			return 0;
		}
	}
	return sbx_fail(err, SBX_E_USAGE, "%s: '%s' is none of 'text', 'json', 'jsonl'", where,
			value);
}

void sbx_list_init(struct sbx_list *list, enum sbx_list_format format)
{
	*list = (struct sbx_list){.format = format, .item = SBX_BUF_INIT(SBX_DOC_MAX)};
}

void sbx_list_release(struct sbx_list *list)
{
	sbx_buf_release(&list->item);
}

void sbx_list_begin(struct sbx_list *list)
{
	sbx_buf_reset(&list->item);
	sbx_jw_init(&list->jw, &list->item);
	sbx_jw_object(&list->jw);
}

int sbx_list_end(struct sbx_list *list, struct sbx_err *err)
{
	const char *before = list->format == SBX_LIST_JSONL ? "" : list->n == 0 ? "[" : ",\n ";

	sbx_jw_end(&list->jw);
	if (sbx_jw_done(&list->jw, err) < 0)
		return -1;
	(void)printf("%s%s%s", before, sbx_buf_str(&list->item),
		     list->format == SBX_LIST_JSONL ? "\n" : "");
	list->n++;
	return 0;
}

void sbx_list_finish(struct sbx_list *list)
{
	if (list->format == SBX_LIST_JSON)
		(void)puts(list->n == 0 ? "[]" : "]");
}
