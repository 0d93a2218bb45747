/*
 * Languages are data: share/languages/NAME.json, replaced whole by a file of the same name in the configuration folders (search.h).
 * No code names a language.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

struct sbx_err;

/* A program that a variant needs, and what to install where it is missing ("python3"; by distribution where names differ). */
struct sbx_lang_need {
	char *program;
	char *debian, *fedora; /* packages; fedora falls back to debian */
};

/* One way to run the language; the first whose programs are all there is taken. */
struct sbx_lang_variant {
	struct sbx_lang_need *needs;
	size_t n_needs;
	struct sbx_strv *compile; /* steps, each an argument vector */
	size_t n_compile;
	struct sbx_strv run;
};

struct sbx_lang {
	char *name;
	struct sbx_strv aliases;  /* other names for --lang, and interpreter names of #! lines (without versions) */
	struct sbx_strv suffixes; /* without the dot */
	char *title;		  /* "C++" */
	char *image;		  /* default image of the engines */
	char *file;		  /* what code from stdin or -c is called: main.py */
	char *file_pattern;	  /* POSIX ERE whose first group names the file's stem (Java's public class), or NULL */
	struct sbx_lang_variant *variants;
	size_t n_variants;
	struct sbx_strv env;	    /* NAME=value, may hold placeholders */
	struct sbx_strv path;	    /* further folders below /usr */
	struct sbx_strv host_paths; /* globs below /etc, /opt, /nix/store */
	struct sbx_strv warn;	    /* of: bom, cr */
	char *selftest_code, *selftest_stdin, *selftest_stdout;
	char *source; /* the path it was read from */
};

struct sbx_langs {
	struct sbx_lang **v;
	size_t n, cap;
};

/* Reads one definition; unknown keys, wrong types and impossible values are refused with file and place. */
int sbx_lang_load(const char *path, struct sbx_lang **ret, struct sbx_err *err) SBX_MUST_USE;
void sbx_lang_free(struct sbx_lang *lang);

/* Finds by name or alias, case ignored, reading no more files than needed: NAME.json first, then all for aliases. SBX_E_NOT_FOUND lists what there is. */
int sbx_langs_find(struct sbx_langs *langs, struct sbx_str name, const struct sbx_lang **ret,
		   struct sbx_err *err) SBX_MUST_USE;
int sbx_langs_find_suffix(struct sbx_langs *langs, const char *path, const struct sbx_lang **ret,
			  struct sbx_err *err) SBX_MUST_USE; /* *ret NULL: no language has it */

/* The language that a first line `#!...` names: `env -S X`, `python3.11` mean X, python; *ret NULL when there is none or it is unknown. */
int sbx_langs_find_shebang(struct sbx_langs *langs, struct sbx_str code,
			   const struct sbx_lang **ret, struct sbx_err *err) SBX_MUST_USE;

/* Reads every definition, sorted by name. */
int sbx_langs_load_all(struct sbx_langs *langs, struct sbx_err *err) SBX_MUST_USE;
void sbx_langs_release(struct sbx_langs *langs);
