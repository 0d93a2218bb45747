/* The guest program of this machine's architecture, embedded in llmsbx by guest/embed.S. */
#pragma once

#include <stddef.h>
#include <stdint.h>

extern const unsigned char sbx_guest_start[];
extern const unsigned char sbx_guest_end[]; /* one past its last byte */

static inline size_t sbx_guest_size(void)
{
	/* Two symbols, not one array: their difference is for integers. */
	return (size_t)((uintptr_t)sbx_guest_end - (uintptr_t)sbx_guest_start);
}
