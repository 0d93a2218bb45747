/*
 * The test while it goes on: its verdicts, its canaries, its runs.  Private to lib/attack/.
 *
 * A file a group of classes; each has one function, which makes the runs that its rows need and notes verdicts.
 */
#pragma once

#include "lib/attack/attack.h"
#include "lib/attack/plant.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/event/event.h"

struct sbx_buf;
struct sbx_seen;

enum sbx_probe {
#define SBX_PROBE(id, severity, ctl, flags, title) SBX_P_##id,
#include "lib/attack/probes.def"
#undef SBX_PROBE
	SBX_P_COUNT_
};

const char *sbx_probe_id(enum sbx_probe p);

enum { SBX_NOTE_MAX = 400 };

struct sbx_note {
	enum sbx_verdict verdict;
	char detail[SBX_NOTE_MAX];
};

struct sbx_test {
	const struct sbx_attack_opts *opts;
	struct sbx_plant plant;
	struct sbx_note note[SBX_P_COUNT_];
	struct sbx_receipt receipt; /* of the first run */
	bool has_receipt, has_engine;
	int cancelled_by;        /* a signal: no further run is made */
	struct sbx_seen *second; /* of two runs at once */
};

/* Raises the verdict of a row; details of the worst one are kept. */
void sbx_note(struct sbx_test *t, enum sbx_probe p, enum sbx_verdict verdict, const char *fmt, ...)
	SBX_PRINTF(4, 5);
/* holds: contained, else reached. */
void sbx_note_fact(struct sbx_test *t, enum sbx_probe p, bool holds, const char *fmt, ...)
	SBX_PRINTF(4, 5);

/* Whether the options ask for a row of this class ("FS"). */
bool sbx_wanted(const struct sbx_test *t, const char *class);
/* How the receipt of the first run holds a control. */
enum sbx_held sbx_held(const struct sbx_test *t, enum sbx_control ctl);

/* ---- a run: try.c */

enum { SBX_TRY_TELLS = 32, SBX_TRY_FILES = 64, SBX_TRY_SETS = 12 };

/* What is asked for. */
struct sbx_try {
	const char *name;                 /* "core", or one that runs alone */
	bool compile;                     /* as a compiler, not as the program */
	const char *set[SBX_TRY_SETS][2]; /* options of a run; ends with NULL */
	struct sbx_sink *also;            /* gets every event as well; borrowed */
	/* Called when the program tells something, while it waits. */
	void (*on_tell)(struct sbx_test *t, const char *id, const char *key, const char *value);
	struct sbx_str code;    /* instead of nothing: what is run is still the program */
	const char *command[4]; /* instead of the program of attack/; ends with NULL */
};

struct sbx_tell {
	char id[8], key[16], value[200];
};

struct sbx_seen_file {
	char path[256]; /* printable only */
	uint64_t size;
	bool saved;
	char skipped[24];
};

/* What came of it.  No pointers: it is sent from child processes as it stands. */
struct sbx_seen {
	bool started, has_exit_code, truncated[2], too_much, bad_event;
	struct sbx_receipt receipt;
	bool has_engine;
	enum sbx_outcome outcome;
	int exit_code, signal, cancelled_by;
	enum sbx_code code; /* of its error */
	char error[300];
	unsigned int ends;               /* `end` events: exactly one */
	uint32_t limits;                 /* 1 << enum sbx_control: `limit` events */
	uint64_t wall_ns, bytes, cpu_ns; /* bytes: of stdout and stderr */
	uint64_t memory_peak, pids_peak; /* 0: not known */
	struct sbx_tell tell[SBX_TRY_TELLS];
	unsigned int n_tells;
	struct sbx_seen_file file[SBX_TRY_FILES];
	unsigned int n_files; /* all, also those that did not fit */
};

/* Makes the run; verdicts that the program reports are noted at once. */
void sbx_try(struct sbx_test *t, const struct sbx_try *try, struct sbx_seen *seen);

/* Whether the program was started; else the row is not known. */
bool sbx_ran(struct sbx_test *t, enum sbx_probe p, const struct sbx_seen *seen);

/* The value that was told under key, or NULL. */
const char *sbx_told(const struct sbx_seen *seen, const char *key);

/* The same in a process of its own, so that it can be killed, or several go on at once. */
struct sbx_try_child {
	int pid, fd;
};
bool sbx_try_begin(struct sbx_test *t, const struct sbx_try *try, struct sbx_try_child *ret);
/* Waits for it; false when it was killed before it could say what it saw. */
bool sbx_try_end(struct sbx_test *t, struct sbx_try_child *child, struct sbx_seen *seen);

/* Processes that carry our mark in their command line; -1 where /proc shows none of them. */
int sbx_count_marked(const struct sbx_test *t);
/* Waits until there are none, at most ms; how many are left. */
int sbx_wait_unmarked(const struct sbx_test *t, unsigned int ms);
bool sbx_wait_marked(const struct sbx_test *t, unsigned int ms);
void sbx_sleep_ms(unsigned int ms);

/* What a run would be, as `--dry-run` has it. */
int sbx_try_plan(struct sbx_test *t, struct sbx_buf *out, struct sbx_err *err) SBX_MUST_USE;

/* ---- the classes */

void sbx_test_paper(struct sbx_test *t); /* SP */
void sbx_test_core(
	struct sbx_test *t); /* FS PS ID SC NN, and what of the others needs no run of its own */
void sbx_test_beside(struct sbx_test *t);   /* PR: what needs a second run, or ends the first */
void sbx_test_terminal(struct sbx_test *t); /* TT: what the host shows of hostile output */
void sbx_test_limits(struct sbx_test *t);   /* RL */
void sbx_test_disk(struct sbx_test *t);     /* DK */
void sbx_test_trees(struct sbx_test *t);    /* DK: what comes back of hostile trees */
void sbx_test_life(struct sbx_test *t);     /* TM */
void sbx_test_death(struct sbx_test *t);    /* PR13, TM08: llmsbx is killed */
void sbx_test_copy(struct sbx_test *t);     /* CP */
void sbx_test_launch(struct sbx_test *t);   /* LI */
