/* Canaries: what the host holds out for a hostile program to find.  All of it is removed again. */
#pragma once

#include <stdint.h>

#include "lib/base/attr.h"

struct sbx_err;

enum { SBX_PLANT_FLAGS = 6, SBX_NONCE = 26, SBX_PLANT_PATH = 256 };

struct sbx_plant {
	char nonce[SBX_NONCE + 1];   /* of the program's lines */
	char flag[SBX_NONCE + 1];    /* what must not be seen inside */
	char mark[SBX_NONCE + 1];    /* in the command line of everything that we start */
	char folder[SBX_PLANT_PATH]; /* of ours, 0700: --out goes there */
	char flags[SBX_PLANT_FLAGS][SBX_PLANT_PATH]; /* files that hold the flag */
	unsigned int n_flags;
	char abstract[64];
	char socket[SBX_PLANT_PATH];
	int listener[4]; /* IPv4, IPv6, abstract, by path; -1: none */
	unsigned int port4, port6;
	int key; /* of System V objects; 0: none */
	int shm, sem, msg;
	int leaked
		[2]; /* descriptors without close-on-exec, the first from 3 on, the second from 9 on */
};

/* What could not be planted is left out; fails only without a folder of our own. */
int sbx_plant(struct sbx_plant *p, struct sbx_err *err) SBX_MUST_USE;
void sbx_plant_release(struct sbx_plant *p);

/* Connections that anybody made to listener[i] since the last call. */
unsigned int sbx_plant_visits(const struct sbx_plant *p, unsigned int i);
