/*
 * What a fuzzer is without libFuzzer: an ordinary test that runs its seeds, told as TAP.
 *
 * The seeds of fuzz-UNIT are the files of $SBX_SEEDS/UNIT.  Each is given in memory of exactly its size, so that a sanitizer
 * sees a read beyond it.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "lib/base/attr.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"

enum { SEED_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool run_seed(const char *path)
{
	struct sbx_err err = SBX_ERR_INIT;
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf buf = SBX_BUF_INIT(SEED_MAX);
	uint8_t *exact;

	if (sbx_read_file(path, &buf, &err) < 0) {
		printf("# %s\n", err.msg);
		return false;
	}
	exact = malloc(buf.len ? buf.len : 1);
	if (!exact)
		return false;
	memcpy(exact, sbx_buf_str(&buf), buf.len);
	(void)LLVMFuzzerTestOneInput(exact, buf.len);
	free(exact);
	return true;
}

static int is_seed(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	const char *seeds = getenv("SBX_SEEDS");
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *unit = slash && strncmp(slash, "/fuzz-", 6) == 0 ? slash + 6 : NULL;
	char path[4096];
	struct dirent **names;
	int n, failed = 0;

	if (!seeds || !unit) {
		(void)fputs("usage: SBX_SEEDS=FOLDER .../fuzz-UNIT\n", stderr);
		return 2;
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not swallow what was said before */
	(void)snprintf(path, sizeof(path), "%s/%s", seeds, unit);
	n = scandir(path, &names, is_seed, alphasort);
	if (n <= 0) {
		printf("1..1\nnot ok 1 - no seeds in %s\n", path);
		return 1;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s/%s", seeds, unit, names[i]->d_name);
		if (!run_seed(path)) {
			printf("not ");
			failed++;
		}
		printf("ok %d - %s\n", i + 1, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return failed > 0;
}
