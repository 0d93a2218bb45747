#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "lib/base/err.h"
#include "lib/base/strv.h"
#include "lib/sandbox/backends.h"

static int print_removed(const struct sbx_strv *removed, enum sbx_list_format format,
			 struct sbx_err *err)
{
	SBX_CLEANUP(sbx_list_release) struct sbx_list list;

	sbx_list_init(&list, format);
	for (size_t i = 0; i < removed->n; i++) {
		if (format == SBX_LIST_TEXT) {
			(void)printf("removed %s\n", removed->v[i]);
			continue;
		}
		sbx_list_begin(&list);
		sbx_jw_kstr(&list.jw, "removed", removed->v[i]);
		if (sbx_list_end(&list, err) < 0)
			return -1;
	}
	sbx_list_finish(&list);
	return 0;
}

static int run_gc(struct sbx_app *app, const struct sbx_args *args, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv removed = {0};
	enum sbx_list_format format = SBX_LIST_TEXT;

	(void)app;
	if (sbx_args_apply(args, &format, err) < 0)
		return -1;
	if (args->n_operands > 0)
		return sbx_fail(err, SBX_E_USAGE, "takes no arguments");
	if (sbx_backends_sweep(&removed, err) < 0)
		return -1;
	return print_removed(&removed, format, err);
}

static const struct sbx_opt gc_opts[] = {
	{.name = "format",
	 .arg = "text|json|jsonl",
	 .help = "for a person, or as one value, or as a value a line (text)",
	 .apply = sbx_list_format_apply},
	{0},
};

const struct sbx_cmd sbx_cmd_gc = {
	.name = "gc",
	.args = "[options]",
	.about = "remove what crashed or expired runs left",
	.opts = gc_opts,
	.run = run_gc,
};
