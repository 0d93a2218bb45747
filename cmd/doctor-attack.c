/*
 * doctor --attack: what lib/attack finds, as TAP or as JSON lines.
 *
 * A skipped test counts as passed for readers of TAP, which nothing that did not pass may do: the
 * exit status tells.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/doctor.h"
#include "cmd/signals.h"
#include "lib/attack/attack.h"
#include "lib/base/err.h"
#include "lib/json/write.h"

enum { ROW_MAX = 8192 };

static const char *const states[] = {
	[SBX_ATTACK_PASSED] = "passed",   [SBX_ATTACK_FAILED] = "failed",
	[SBX_ATTACK_UNKNOWN] = "unknown", [SBX_ATTACK_BROKEN] = "broken",
	[SBX_ATTACK_GAP] = "gap",         [SBX_ATTACK_NOT_BUILT] = "not_built",
};

struct report {
	enum sbx_list_format format;
	size_t n;
	size_t count[SBX_ATTACK_NOT_BUILT + 1];
};

/* What a reader of TAP takes for a directive stands behind " # ": our words have none. */
static void put_tap(struct report *r, const struct sbx_attack_result *res)
{
	bool skipped = res->state == SBX_ATTACK_GAP || res->state == SBX_ATTACK_NOT_BUILT;
	bool ok = skipped || res->state == SBX_ATTACK_PASSED;

	(void)printf("%s %zu - %s %s", ok ? "ok" : "not ok", r->n, res->id, res->title);
	if (skipped)
		(void)printf(" # SKIP %s: %s\n", states[res->state], res->detail);
	else
		(void)printf(": %s%s (%s)\n", sbx_verdict_name(res->verdict),
			     res->state == SBX_ATTACK_BROKEN ? ", but the class's control failed"
							     : "",
			     res->detail);
}

static void put_json(const struct sbx_attack_result *res)
{
	SBX_CLEANUP(sbx_list_release) struct sbx_list list;
	struct sbx_err ignored = SBX_ERR_INIT; /* of a text that is too long: none is */
	char class[3] = {res->id[0], res->id[1], '\0'}, severity[2] = {res->severity, '\0'};

	sbx_list_init(&list, SBX_LIST_JSONL);
	sbx_list_begin(&list);
	sbx_jw_kstr(&list.jw, "id", res->id);
	sbx_jw_kstr(&list.jw, "class", class);
	sbx_jw_kstr(&list.jw, "severity", severity);
	sbx_jw_kstr(&list.jw, "title", res->title);
	sbx_jw_kstr(&list.jw, "state", states[res->state]);
	sbx_jw_kstr(&list.jw, "verdict", sbx_verdict_name(res->verdict));
	sbx_jw_kstr(&list.jw, "detail", res->detail);
	(void)!sbx_list_end(&list, &ignored);
}

static void put(void *ctx, const struct sbx_attack_result *res)
{
	struct report *r = ctx;

	r->n++;
	r->count[res->state]++;
	if (r->format == SBX_LIST_TEXT)
		put_tap(r, res);
	else
		put_json(res);
	(void)fflush(stdout);
}

static void put_sums(const struct report *r)
{
	if (r->format != SBX_LIST_TEXT)
		return;
	(void)printf("#");
	for (size_t i = 0; i < SBX_ARRAY_SIZE(states); i++)
		(void)printf("%s %zu %s", i > 0 ? "," : "", r->count[i], states[i]);
	(void)printf("\n");
}

int sbx_doctor_attack(const struct sbx_doctor_attack *opts, struct sbx_err *err)
{
	struct report report = {.format = opts->format};
	struct sbx_signals signals = {.fd = -1};
	struct sbx_attack_end end = {.status = 0};
	struct sbx_attack_opts o = {.backend = opts->backend,
				    .only = opts->only,
				    .start_ns = opts->start_ns,
				    .put = put,
				    .ctx = &report};
	int failed;

	if (opts->format == SBX_LIST_JSON)
		return sbx_fail(err, SBX_E_USAGE,
				"--format: the attack is told as text (TAP) or as jsonl");
	if (sbx_signals_open(&signals, false, err) < 0)
		return -1;
	o.signal_fd = signals.fd;
	if (opts->format == SBX_LIST_TEXT && sbx_attack_count(opts->only) > 0)
		(void)printf("TAP version 13\n1..%zu\n", sbx_attack_count(opts->only));
	failed = sbx_attack(&o, &end, err);
	sbx_signals_restore(&signals);
	if (failed < 0)
		return -1;
	if (end.cancelled_by != 0)
		sbx_end_by_signal(end.cancelled_by);
	put_sums(&report);
	return end.status;
}
