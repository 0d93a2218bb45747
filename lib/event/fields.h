/* The members of events that are plain values, once for the encoder and the decoder. */
#pragma once

#include <stddef.h>

#include "lib/event/event.h"

enum sbx_ev_kind {
	SBX_EVK_TEXT,      /* const char *, never NULL */
	SBX_EVK_TEXT_NULL, /* const char *; NULL is null */
	SBX_EVK_U64,
	SBX_EVK_U32_NULL, /* 0 is null */
};

struct sbx_ev_field {
	const char *key;
	enum sbx_ev_kind kind;
	size_t offset; /* in struct sbx_event */
};

struct sbx_ev_fields {
	const struct sbx_ev_field *rows;
	size_t n;
};

const char *sbx_event_type_name(enum sbx_event_type type);

/* Those of a type, in the order in which they are written. */
struct sbx_ev_fields sbx_event_fields(enum sbx_event_type type);
/* Those of the object `timing` in end. */
struct sbx_ev_fields sbx_event_timing_fields(void);
