/* The program of attack/, embedded in llmsbx by attack/embed.S. */
#pragma once

#include <stddef.h>
#include <stdint.h>

extern const unsigned char sbx_attack_start[];
extern const unsigned char sbx_attack_end[]; /* one past its last byte */

static inline size_t sbx_attack_size(void)
{
	/* Two symbols, not one array: their difference is for integers. */
	return (size_t)((uintptr_t)sbx_attack_end - (uintptr_t)sbx_attack_start);
}
