/* Pieces of the encoder for the sinks. */
#pragma once

#include "lib/event/event.h"

struct sbx_jw;

/* An event as an object of what its type carries: without `type`, `id`, `seq` and `t_ns`. */
void sbx_event_write_bare(struct sbx_jw *jw, const struct sbx_event *ev);

/* Members for an object that is open. */
void sbx_event_write_envelope(struct sbx_jw *jw, const struct sbx_event *ev); /* id seq t_ns */
void sbx_event_write_members(struct sbx_jw *jw, const struct sbx_event *ev);
void sbx_event_write_fields(struct sbx_jw *jw, const struct sbx_event *ev); /* the plain ones */
