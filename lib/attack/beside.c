/* PR: killing everything beside a neighbour, and what the host's core handler saw. */
#include <stdlib.h>
#include <string.h>

#include "lib/attack/test.h"
#include "lib/base/buf.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"

enum { NEIGHBOUR_MS = 5000 };

/* Two of ours: one that only sleeps, one that kills all it can.  The first must not notice. */
static void try_killing(struct sbx_test *t)
{
	static const struct sbx_try sleeper = {.name = "sleep"}, killer = {.name = "PR02"};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	struct sbx_try_child child;

	if (!sbx_try_begin(t, &sleeper, &child)) {
		sbx_note(t, SBX_P_PR02, SBX_VERDICT_UNKNOWN, "no neighbour could be started");
		free(seen);
		return;
	}
	(void)sbx_wait_marked(t, NEIGHBOUR_MS);
	sbx_try(t, &killer, seen);
	if (sbx_ran(t, SBX_P_PR02, seen))
		sbx_note_fact(t, SBX_P_PR02, seen->ends == 1 && seen->outcome == SBX_OUT_EXITED,
			      "its guest is alive and told its end (%s)",
			      sbx_outcome_name(seen->outcome));
	if (!sbx_try_end(t, &child, seen))
		sbx_note(t, SBX_P_PR02, SBX_VERDICT_REACHED, "the neighbour's llmsbx was killed");
	else
		sbx_note_fact(t, SBX_P_PR02,
			      seen->outcome == SBX_OUT_EXITED && seen->exit_code == 0,
			      "the neighbour ended well (%s)", sbx_outcome_name(seen->outcome));
	free(seen);
}

/*
 * RLIMIT_CORE is 1 inside: that stops files and, since Linux 2.6.24 or so, handlers behind a pipe, which get no process of a limit
 * of 1.  Whether the host has one decides whether that was tried.
 */
static void tell_handler(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(4096);
	struct sbx_err why = SBX_ERR_INIT;

	if (sbx_read_file("/proc/sys/kernel/core_pattern", &text, &why) < 0)
		return;
	sbx_note(t, SBX_P_PR12, SBX_VERDICT_CONTAINED, "the host's handler is %s",
		 sbx_buf_str(&text)[0] == '|' ? "a program, which a limit of 1 does not start"
					      : "a file name");
}

void sbx_test_beside(struct sbx_test *t)
{
	try_killing(t);
	tell_handler(t);
	sbx_test_death(t);
}
