/* What doctor finds out about the machine, apart from what a run tells. */
#pragma once

#include <stdint.h>

#include "cmd/list.h"
#include "lib/base/attr.h"
#include "lib/base/buf.h"
#include "lib/event/control.h"

struct sbx_err;

enum { SBX_FACT_MAX = 512 };

/* find writes a line of words about its subject; nothing where this machine has none of it. */
struct sbx_fact {
	const char *name;
	void (*find)(struct sbx_buf *text);
};

/* In the order of the report; ends with a row without a name. */
extern const struct sbx_fact sbx_facts[];

/*
 * What would make a control that is degraded, by what the receipt says, an enforced one on this
 * machine: a line of words for a person; nothing where nothing is known to help.
 */
void sbx_doctor_help(enum sbx_control control, const char *by, struct sbx_buf *text);

/* The containment self-test: the exit status, or -1. */
struct sbx_doctor_attack {
	const char *backend, *only; /* only: NULL for all */
	enum sbx_list_format format;
	uint64_t start_ns;
};
int sbx_doctor_attack(const struct sbx_doctor_attack *opts, struct sbx_err *err) SBX_MUST_USE;
