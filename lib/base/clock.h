/* Monotonic time, deadlines, and the notations of durations, sizes and cpus. */
#pragma once

#include <stdint.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"

struct sbx_err;

/* `none`, lifted: the value of a limit that is not there. */
#define SBX_UNLIMITED UINT64_MAX

uint64_t sbx_now_ns(void); /* CLOCK_MONOTONIC */

/* Milliseconds from now until deadline_ns for poll(): 0 when it passed, -1 for SBX_UNLIMITED, rounded up, at most INT_MAX. */
int sbx_poll_ms(uint64_t deadline_ns);

/* now + span, saturating to SBX_UNLIMITED. */
uint64_t sbx_deadline(uint64_t span_ns);

/* 500ms 30s 2m 1h, a bare number is seconds, decimals allowed (1.5s); `none` gives SBX_UNLIMITED; 0 is refused naming `none`. */
int sbx_parse_duration(struct sbx_str s, const char *what, uint64_t *ret_ns,
		       struct sbx_err *err) SBX_MUST_USE;

/* 64m 1g 1GiB 512k (powers of 1024, case ignored, optional b or ib), a bare number is bytes; `none` gives SBX_UNLIMITED. */
int sbx_parse_size(struct sbx_str s, const char *what, uint64_t *ret_bytes,
		   struct sbx_err *err) SBX_MUST_USE;

/* A decimal number of processors ("1", "0.5", "2.25") in thousandths; `none` gives SBX_UNLIMITED. */
int sbx_parse_milli(struct sbx_str s, const char *what, uint64_t *ret_milli,
		    struct sbx_err *err) SBX_MUST_USE;
