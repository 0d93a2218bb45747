/* SHA-256 (FIPS 180-4), for file events and digests of our own; not for secrets. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sbx_sha256 {
	uint32_t state[8];
	uint64_t total;
	uint8_t block[64];
};

void sbx_sha256_init(struct sbx_sha256 *ctx);
void sbx_sha256_add(struct sbx_sha256 *ctx, const void *p, size_t n);
void sbx_sha256_hex(struct sbx_sha256 *ctx, char hex[65]); /* ends it */
