#include "lib/attack/attack.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attack/test.h"
#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/sandbox/backends.h"

enum { ANY = SBX_CTL_COUNT_ };
enum { CONTROL = 1 << 0, REPORT = 1 << 1, ABSENT_PART = 1 << 2 };

/* The controls by the names of probes.def. */
#define SBX_CONTROL(sym, name) CTL_##sym = SBX_CTL_##sym,
enum {
#include "lib/event/control.def"
	CTL_ANY = ANY
};
#undef SBX_CONTROL

struct row {
	const char *id, *title;
	char severity;
	int ctl;
	unsigned int flags;
};

static const struct row rows[] = {
#define SBX_PROBE(id_, severity_, ctl_, flags_, title_) \
	{#id_, title_, severity_, CTL_##ctl_, flags_},
#include "lib/attack/probes.def"
#undef SBX_PROBE
};

/* In the order of the report; one function may serve several classes, and is called for the first. */
static const struct {
	const char *name;
	void (*run)(struct sbx_test *t);
} classes[] = {
	{"SP", sbx_test_paper},
	{"FS", sbx_test_core},
	{"PS", NULL},
	{"ID", NULL},
	{"SC", NULL},
	{"PR", sbx_test_beside},
	{"TT", sbx_test_terminal},
	{"NN", NULL},
	{"RL", sbx_test_limits},
	{"DK", sbx_test_disk},
	{"TM", sbx_test_life},
	{"CP", sbx_test_copy},
	{"LI", sbx_test_launch},
};

const char *sbx_verdict_name(enum sbx_verdict verdict)
{
	static const char *const names[] = {
		[SBX_VERDICT_NONE] = "unknown",        [SBX_VERDICT_WORKS] = "works",
		[SBX_VERDICT_REFUSED] = "refused",     [SBX_VERDICT_ABSENT] = "absent",
		[SBX_VERDICT_CONTAINED] = "contained", [SBX_VERDICT_KILLED] = "killed",
		[SBX_VERDICT_UNKNOWN] = "unknown",     [SBX_VERDICT_REACHED] = "reached",
	};

	return names[verdict];
}

const char *sbx_probe_id(enum sbx_probe p)
{
	return rows[p].id;
}

void sbx_note(struct sbx_test *t, enum sbx_probe p, enum sbx_verdict verdict, const char *fmt, ...)
{
	struct sbx_note *note = &t->note[p];
	char more[SBX_NOTE_MAX];
	size_t n;
	va_list ap;

	if (verdict < note->verdict)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(more, sizeof(more), fmt, ap);
	va_end(ap);
	if (verdict > note->verdict)
		note->detail[0] = '\0';
	note->verdict = verdict;
	if (strstr(note->detail, more))
		return;
	n = strlen(note->detail);
	(void)snprintf(note->detail + n, sizeof(note->detail) - n, "%s%s", n ? "; " : "", more);
}

void sbx_note_fact(struct sbx_test *t, enum sbx_probe p, bool holds, const char *fmt, ...)
{
	char text[SBX_NOTE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sbx_note(t, p, holds ? SBX_VERDICT_CONTAINED : SBX_VERDICT_REACHED, "%s%s",
		 holds ? "" : "not so: ", text);
}

enum sbx_held sbx_held(const struct sbx_test *t, enum sbx_control ctl)
{
	return t->has_receipt ? t->receipt.control[ctl].held : SBX_HELD_ABSENT;
}

/* `only` is the beginning of an id, or of a class that begins like it. */
static bool is_asked(const char *only, const char *id)
{
	return !only || strncmp(id, only, strlen(only)) == 0;
}

static bool same_class(const char *a, const char *b)
{
	return strncmp(a, b, 2) == 0;
}

bool sbx_wanted(const struct sbx_test *t, const char *class)
{
	return !t->opts->only || same_class(t->opts->only, class);
}

size_t sbx_attack_count(const char *only)
{
	size_t n = 0;

	for (size_t p = 0; p < SBX_P_COUNT_; p++)
		n += is_asked(only, rows[p].id);
	return n;
}

/* ---- judging */

static bool is_good(enum sbx_verdict verdict)
{
	return verdict >= SBX_VERDICT_WORKS && verdict <= SBX_VERDICT_KILLED;
}

static bool is_broken(const struct sbx_test *t, const char *id)
{
	for (size_t p = 0; p < SBX_P_COUNT_; p++)
		if ((rows[p].flags & CONTROL) && same_class(rows[p].id, id) &&
		    !is_good(t->note[p].verdict))
			return true;
	return false;
}

/* A control that the receipt does not call enforced: what comes through there was told before. */
static bool is_gap(const struct sbx_test *t, const struct row *row)
{
	enum sbx_held held =
		row->ctl == CTL_ANY ? SBX_HELD_ENFORCED : sbx_held(t, (enum sbx_control)row->ctl);

	return held == SBX_HELD_DEGRADED || held == SBX_HELD_UNSUPPORTED;
}

static enum sbx_attack_state judge(const struct sbx_test *t, enum sbx_probe p)
{
	const struct row *row = &rows[p];
	enum sbx_verdict verdict = t->note[p].verdict;

	if (row->flags & ABSENT_PART)
		return SBX_ATTACK_NOT_BUILT;
	if (verdict == SBX_VERDICT_REACHED && (row->flags & REPORT))
		return SBX_ATTACK_PASSED;
	if (verdict == SBX_VERDICT_REACHED)
		return is_gap(t, row) ? SBX_ATTACK_GAP : SBX_ATTACK_FAILED;
	if (!is_good(verdict))
		return SBX_ATTACK_UNKNOWN;
	return is_broken(t, row->id) ? SBX_ATTACK_BROKEN : SBX_ATTACK_PASSED;
}

/* The reason of a gap is the receipt's word. */
static void put_row(struct sbx_test *t, enum sbx_probe p, int *status)
{
	const struct row *row = &rows[p];
	struct sbx_attack_result r = {.id = row->id,
				      .title = row->title,
				      .severity = row->severity,
				      .state = judge(t, p),
				      .verdict = t->note[p].verdict,
				      .detail = t->note[p].detail};
	SBX_CLEANUP(sbx_freep) char *gap = NULL;

	if (r.state == SBX_ATTACK_GAP) {
		gap = sbx_xasprintf("%s (the receipt: %s, %s)", r.detail,
				    sbx_control_name((enum sbx_control)row->ctl),
				    t->receipt.control[row->ctl].by);
		r.detail = gap;
	} else if (r.state == SBX_ATTACK_NOT_BUILT) {
		r.detail = "llmsbx has no such part";
	} else if (r.verdict == SBX_VERDICT_NONE) {
		r.detail = "nobody said anything";
	}
	t->opts->put(t->opts->ctx, &r);
	if (r.state == SBX_ATTACK_FAILED)
		*status = 1;
	else if (r.state != SBX_ATTACK_PASSED && *status == 0)
		*status = 2;
}

static void put_class(struct sbx_test *t, const char *class, int *status)
{
	for (enum sbx_probe p = 0; p < SBX_P_COUNT_; p++)
		if (same_class(rows[p].id, class) && is_asked(t->opts->only, rows[p].id))
			put_row(t, p, status);
}

/* The core run has rows of every class but those of our own side. */
static bool is_needed(const struct sbx_test *t, size_t i)
{
	static const char *const own[] = {"SP", "CP", "LI"};

	if (classes[i].run != sbx_test_core)
		return sbx_wanted(t, classes[i].name);
	for (size_t o = 0; o < SBX_ARRAY_SIZE(own); o++)
		if (t->opts->only && sbx_wanted(t, own[o]))
			return false;
	return true;
}

int sbx_attack(const struct sbx_attack_opts *opts, struct sbx_attack_end *ret, struct sbx_err *err)
{
	struct sbx_backend *be = NULL;
	struct sbx_test *t;

	if (sbx_attack_count(opts->only) == 0)
		return sbx_fail(err, SBX_E_USAGE, "no probe's id begins with '%s'", opts->only);
	if (sbx_backends_open(opts->backend, &be, err) < 0)
		return -1;
	sbx_backends_close(be);
	t = sbx_new(struct sbx_test);
	t->opts = opts;
	if (sbx_plant(&t->plant, err) < 0) {
		free(t);
		return -1;
	}
	*ret = (struct sbx_attack_end){.status = 0};
	for (size_t i = 0; i < SBX_ARRAY_SIZE(classes) && !t->cancelled_by; i++) {
		if (classes[i].run && is_needed(t, i))
			classes[i].run(t);
		if (!t->cancelled_by)
			put_class(t, classes[i].name, &ret->status);
	}
	ret->cancelled_by = t->cancelled_by;
	sbx_plant_release(&t->plant);
	free(t);
	return 0;
}
