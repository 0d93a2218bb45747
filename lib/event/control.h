/* The controls of a sandbox and the receipt that says how far each holds. Names are part of the contract (llmsbx-events(5)). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"

struct sbx_err;
struct sbx_jw;

enum sbx_control {
#define SBX_CONTROL(sym, name) SBX_CTL_##sym,
#include "lib/event/control.def"
#undef SBX_CONTROL
	SBX_CTL_COUNT_
};

enum sbx_held {
	SBX_HELD_ABSENT,      /* the run does not have this control */
	SBX_HELD_ENFORCED,    /* kernel-exact */
	SBX_HELD_DEGRADED,    /* a weaker bound that still ends the run */
	SBX_HELD_UNSUPPORTED, /* nothing bounds it */
};

struct sbx_receipt {
	struct {
		enum sbx_held held;
		char by[120]; /* by what ("cgroup v1"), or why not */
	} control[SBX_CTL_COUNT_];
};

const char *sbx_control_name(enum sbx_control ctl);
bool sbx_control_find(struct sbx_str name, enum sbx_control *ret);

/* Records how a control is held; a later call replaces an earlier one. */
void sbx_receipt_set(struct sbx_receipt *receipt, enum sbx_control ctl, enum sbx_held held,
		     const char *fmt, ...) SBX_PRINTF(4, 5);

/* Writes the members "enforced", "degraded" and "unsupported" into the open object. */
void sbx_receipt_write(const struct sbx_receipt *receipt, struct sbx_jw *jw);

/* A list of names by comma, or `all`, as bits 1 << ctl; an unknown name is SBX_E_USAGE. option names it in the message. */
int sbx_control_parse(struct sbx_str list, const char *option, uint32_t *ret_bits,
		      struct sbx_err *err) SBX_MUST_USE;

/*
 * The judgement of a receipt: unsupported controls fail unless in accept_bits; those in require_bits fail unless they are
 * enforced, also when the run does not have them, but for `all`, which means those that it has.  Fails with SBX_E_UNSUPPORTED naming the controls, why, and the option that accepts them.
 */
int sbx_receipt_judge(const struct sbx_receipt *receipt, uint32_t require_bits,
		      uint32_t accept_bits, struct sbx_err *err) SBX_MUST_USE;
