/* Every ceiling of the program, each with its reason. */
#pragma once

enum {
	/* Code of a run: a program someone wrote, not data; larger input belongs in --file or stdin. */
	SBX_CODE_MAX = 64 << 20,
	/* A data file a user may edit (languages, policies, configuration): jsmn's offsets are int. */
	SBX_DOC_MAX = 8 << 20,
	/* One line of --jobs: code and small files of one job, base64 included. */
	SBX_JOB_LINE_MAX = 96 << 20,
	/* Elements of an argument or environment vector; the kernel's own limit is 2 MiB of strings. */
	SBX_STRV_MAX = 65536,
	/* Depth of JSON: deeper is an attack on recursion (16.1 of the style page). */
	SBX_JSON_DEPTH = 64,
	/* Values and keys of one JSON text: each takes 20 bytes, whatever it takes to write. */
	SBX_JSON_TOKENS = 1 << 20,
	/* What may wait for a slow reader before the run is slowed down. */
	SBX_OUT_HIGH = 1 << 20,
	/* --out: files, bytes and depth that are brought back from one run. */
	SBX_OUT_FILES = 10000,
	SBX_OUT_DEPTH = 32,
};

/* All files of --out of one run together: a sandbox can make up bytes for ever. */
#define SBX_OUT_BYTES (4ull << 30)
