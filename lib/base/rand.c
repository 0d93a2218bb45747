#include "lib/base/rand.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

/* Aborts where the kernel has none, since nothing safe could follow. */
static void fill(char *at, size_t n)
{
	while (n > 0) {
		ssize_t got = getrandom(at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			abort();
		at += got;
		n -= (size_t)got;
	}
}

void sbx_random_id(char *id, size_t n)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

	fill(id, n);
	for (size_t i = 0; i < n; i++)
		id[i] = alphabet[(unsigned char)id[i] & 31];
	id[n] = '\0';
}
