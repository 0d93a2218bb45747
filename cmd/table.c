#include <string.h>

#include "cmd/cmd.h"
#include "lib/base/err.h"

const struct sbx_cmd *const sbx_cmds[] = {
	&sbx_cmd_run, &sbx_cmd_check, &sbx_cmd_lang,    &sbx_cmd_doctor,
	&sbx_cmd_gc,  &sbx_cmd_help,  &sbx_cmd_version, NULL,
};

const struct sbx_cmd *sbx_cmd_find(const char *name)
{
	for (size_t i = 0; sbx_cmds[i]; i++) {
		if (strcmp(sbx_cmds[i]->name, name) == 0)
			return sbx_cmds[i];
	}
	return NULL;
}

int sbx_cmd_get(const char *name, const struct sbx_cmd **ret, struct sbx_err *err)
{
	const struct sbx_cmd *cmd = sbx_cmd_find(name);
	const char *nearest = NULL;
	size_t best = SBX_NEAR_INIT;

	if (cmd) {
		*ret = cmd;
		return 0;
	}
	for (size_t i = 0; sbx_cmds[i]; i++) {
		if (sbx_near(name, sbx_cmds[i]->name, &best))
			nearest = sbx_cmds[i]->name;
	}
	if (nearest)
		return sbx_fail(err, SBX_E_USAGE, "there is no command '%s'; did you mean '%s'?",
				name, nearest);
	return sbx_fail(err, SBX_E_USAGE, "there is no command '%s'; 'llmsbx help' lists them",
			name);
}
