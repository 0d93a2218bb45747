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

/* A program that a variant needs, and the packages that bring it: both are set, to the program's name where the file has none. */
struct sbx_lang_need {
	char *program;
	char *debian, *fedora;
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
	struct sbx_strv
		aliases; /* other names for --lang, and interpreter names of #! lines (without versions) */
	struct sbx_strv suffixes; /* without the dot */
	char *title;              /* "C++" */
	char *image;              /* default image of the engines */
	char *file;               /* what code from stdin or -c is called: main.py */
	char *file_pattern; /* for source.h: finds the stem that the file must have, or NULL */
	/* For source.h, NULL or set together: {main} is the package and the last type above the line of the entry. */
	char *main_package, *main_type, *main_entry;
	struct sbx_lang_variant *variants;
	size_t n_variants;
	struct sbx_strv env;        /* NAME=value, may hold placeholders */
	struct sbx_strv path;       /* further folders below /usr */
	struct sbx_strv host_paths; /* globs below /etc, /opt, /nix/store */
	struct sbx_strv warn;       /* of: bom, cr */
	char *selftest_code, *selftest_stdin, *selftest_stdout;
	char *source; /* the path it was read from */
};

/* Those read so far; zeroed is empty. */
struct sbx_langs {
	struct sbx_lang **v;
	size_t n, cap;
	bool all;
};

/*
 * Reads one definition (llmsbx-language(5)); unknown keys, wrong types and impossible values are refused with file and place.
 * parse takes the text of the file at path.
 */
int sbx_lang_parse(struct sbx_str text, const char *path, struct sbx_lang **ret,
		   struct sbx_err *err) SBX_MUST_USE;
int sbx_lang_load(const char *path, struct sbx_lang **ret, struct sbx_err *err) SBX_MUST_USE;
void sbx_lang_free(struct sbx_lang *lang);

/*
 * Each finds a language, borrowed from langs, and reads no more files than it needs.
 * By name or alias, case ignored; SBX_E_NOT_FOUND lists what there is.
 */
int sbx_langs_find(struct sbx_langs *langs, struct sbx_str name, const struct sbx_lang **ret,
		   struct sbx_err *err) SBX_MUST_USE;

/* By the suffix of a path's last component as written, else in another case (MAIN.PY); *ret is NULL when no language has it. */
int sbx_langs_find_suffix(struct sbx_langs *langs, const char *path, const struct sbx_lang **ret,
			  struct sbx_err *err) SBX_MUST_USE;

/* By a first line `#!...`, where `env -S X` means X and python3.11 means python; *ret is NULL when there is none or it is unknown. */
int sbx_langs_find_shebang(struct sbx_langs *langs, struct sbx_str code,
			   const struct sbx_lang **ret, struct sbx_err *err) SBX_MUST_USE;

/*
 * Reads every definition, sorted by name.  What is wrong with one that cannot be read is added to broken, which lacks it then; where
 * broken is NULL, it is the failure.
 */
int sbx_langs_load_all(struct sbx_langs *langs, struct sbx_strv *broken,
		       struct sbx_err *err) SBX_MUST_USE;
void sbx_langs_release(struct sbx_langs *langs);
