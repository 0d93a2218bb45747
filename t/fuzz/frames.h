/*
 * Frames out of a fuzzer's bytes: a type, a byte of stream and request, two of length, the payload; so that what is tried is
 * what frames say, not how they are framed, which fuzz-wire tries.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/guest/wire.h"

struct fuzz_bytes {
	const uint8_t *p;
	size_t n;
};

static inline uint8_t fuzz_byte(struct fuzz_bytes *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->p++;
}

/* The next frame; false when there are no bytes left. */
static inline bool fuzz_frame(struct fuzz_bytes *in, struct sbx_frame *ret)
{
	uint8_t type, place;
	size_t n;

	if (in->n == 0)
		return false;
	type = fuzz_byte(in);
	place = fuzz_byte(in);
	n = fuzz_byte(in);
	n |= (size_t)fuzz_byte(in) << 8;
	n = n < in->n ? n : in->n;
	*ret = (struct sbx_frame){.type = type,
				  .stream = place >> 4,
				  .req = place & 15,
				  .p = in->p,
				  .n = (uint32_t)n};
	in->p += n;
	in->n -= n;
	return true;
}
