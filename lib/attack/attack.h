/*
 * The containment self-test: hostile runs through lib/sandbox, seen from inside (the program of attack/), from outside
 * (what the host can see of it), and on paper (the plan and the receipt).
 *
 * A verdict is believed only from the program's own lines, which carry the nonce that was put on its stdin; what can be seen
 * from outside is looked at there.  Nothing is assumed of the backend: what its receipt calls degraded or unsupported is a gap
 * where a probe comes through, printed as such and never counted as passed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/attr.h"

struct sbx_err;

enum sbx_verdict {
	SBX_VERDICT_NONE, /* nobody said anything: unknown */
	SBX_VERDICT_WORKS,
	SBX_VERDICT_REFUSED,
	SBX_VERDICT_ABSENT,
	SBX_VERDICT_CONTAINED,
	SBX_VERDICT_KILLED,
	SBX_VERDICT_UNKNOWN,
	SBX_VERDICT_REACHED,
};
const char *sbx_verdict_name(enum sbx_verdict verdict);

enum sbx_attack_state {
	SBX_ATTACK_PASSED,
	SBX_ATTACK_FAILED,  /* reached */
	SBX_ATTACK_UNKNOWN, /* it could not be told */
	SBX_ATTACK_BROKEN,  /* the control of its class failed: its verdict says nothing */
	SBX_ATTACK_GAP,     /* reached, behind a control that the receipt does not call enforced */
	SBX_ATTACK_NOT_BUILT, /* llmsbx has no such part */
};

struct sbx_attack_result {
	const char *id, *title;
	char severity;
	enum sbx_attack_state state;
	enum sbx_verdict verdict;
	const char *detail; /* borrowed; printable */
};

struct sbx_attack_opts {
	const char *backend;
	const char *only; /* ids that begin with this; NULL: all */
	uint64_t start_ns;
	int signal_fd; /* a signalfd of those that end it, or -1 */
	/* Called for each row, in the order of the table, as soon as its class is over. */
	void (*put)(void *ctx, const struct sbx_attack_result *result);
	void *ctx;
};

/* How many rows a test with these options has. */
size_t sbx_attack_count(const char *only);

/*
 * Fails only when the test could not be begun (no such backend, no room for canaries); what goes wrong later is a verdict.
 * ret->status is 0 when all passed, 1 when something was reached, 2 when something is not known, broken, a gap or not built.
 */
struct sbx_attack_end {
	int status;
	int cancelled_by; /* a signal that ended it early, or 0 */
};
int sbx_attack(const struct sbx_attack_opts *opts, struct sbx_attack_end *ret,
	       struct sbx_err *err) SBX_MUST_USE;
