#include "lib/base/sha256.h"

#include <string.h>

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

/*
 * One round of FIPS 180-4, 6.2.2.  The working variables a to h stay where they are, and it is their names that move on with n, the
 * round modulo 8: with constant n this compiles to no moves at all.
 */
static inline void one_round(uint32_t v[8], unsigned int n, uint32_t kw)
{
	uint32_t a = v[(0 - n) & 7], b = v[(1 - n) & 7], c = v[(2 - n) & 7];
	uint32_t e = v[(4 - n) & 7], f = v[(5 - n) & 7], g = v[(6 - n) & 7];
	uint32_t *d = &v[(3 - n) & 7], *h = &v[(7 - n) & 7];
	uint32_t t1 =
		*h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + kw;

	*d += t1;
	*h = t1 + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b)));
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
	uint32_t w[64], v[8];

	for (size_t t = 0; t < 16; t++, block += 4)
		w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
		       (uint32_t)block[2] << 8 | block[3];
	for (size_t t = 16; t < 64; t++) {
		uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
		uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;

		w[t] = s1 + w[t - 7] + s0 + w[t - 16];
	}
	memcpy(v, state, sizeof(v));
	for (size_t t = 0; t < 64; t += 8) {
		one_round(v, 0, k[t] + w[t]);
		one_round(v, 1, k[t + 1] + w[t + 1]);
		one_round(v, 2, k[t + 2] + w[t + 2]);
		one_round(v, 3, k[t + 3] + w[t + 3]);
		one_round(v, 4, k[t + 4] + w[t + 4]);
		one_round(v, 5, k[t + 5] + w[t + 5]);
		one_round(v, 6, k[t + 6] + w[t + 6]);
		one_round(v, 7, k[t + 7] + w[t + 7]);
	}
	for (size_t i = 0; i < 8; i++)
		state[i] += v[i];
}

void sbx_sha256_init(struct sbx_sha256 *ctx)
{
	static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	*ctx = (struct sbx_sha256){.total = 0};
	memcpy(ctx->state, initial, sizeof(initial));
}

void sbx_sha256_add(struct sbx_sha256 *ctx, const void *p, size_t n)
{
	const uint8_t *in = p;

	while (n > 0) {
		size_t used = ctx->total % 64, take = 64 - used < n ? 64 - used : n;

		if (take == 64) {
			compress(ctx->state, in);
		} else {
			memcpy(ctx->block + used, in, take);
			if (used + take == 64)
				compress(ctx->state, ctx->block);
		}
		ctx->total += take;
		in += take;
		n -= take;
	}
}

void sbx_sha256_hex(struct sbx_sha256 *ctx, char hex[65])
{
	static const char digits[] = "0123456789abcdef";
	static const uint8_t padding[64] = {0x80};
	uint64_t bits = ctx->total * 8;
	uint8_t length[8];

	for (size_t i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sbx_sha256_add(ctx, padding, 64 - (ctx->total + 8) % 64);
	sbx_sha256_add(ctx, length, sizeof(length));
	for (size_t i = 0; i < 64; i++)
		hex[i] = digits[ctx->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
	hex[64] = '\0';
}
