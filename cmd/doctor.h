/* What doctor finds out about the machine, apart from what a run tells. */
#pragma once

#include "lib/base/buf.h"

enum { SBX_FACT_MAX = 512 };

/* find writes a line of words about its subject; nothing where this machine has none of it. */
struct sbx_fact {
	const char *name;
	void (*find)(struct sbx_buf *text);
};

/* In the order of the report; ends with a row without a name. */
extern const struct sbx_fact sbx_facts[];
