/*
 * The program that attacks its own sandbox: the inside observer of `llmsbx doctor --attack`.
 *
 * It is put into the work directory of an ordinary run and started there, so it has what any
 * program has and nothing else.  Each probe tries one thing, in a process of its own, in a way that
 * would do no harm if it succeeded: a bad pointer, descriptor -1, an open without a write.  The
 * verdict is written to stdout as a JSON line that carries a nonce, which the host gave on stdin,
 * so that nothing else in the sandbox can speak for it.
 *
 * Nothing here is believed by the host beyond that: whoever can fake these lines is this program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define LENGTH(a)          (sizeof(a) / sizeof((a)[0]))
/* A pointer that nothing can be read from. */
#define BAD ((void *)1)

/* From good to bad: of several attempts the worst one counts. */
enum verdict {
	NONE,
	WORKS,     /* a control: what must go on working does */
	REFUSED,   /* the attempt failed with an error that refuses */
	ABSENT,    /* what was attacked is not there */
	CONTAINED, /* it did something, within a bound */
	KILLED,    /* whoever tried was killed */
	UNKNOWN,   /* it could not be told */
	REACHED,   /* it worked: a breach */
};

/* What the host planted, and expects; names as on the lines of stdin. */
struct plant {
	char nonce[64];    /* of our lines */
	char flag[64];     /* inside each flag file, and part of their names */
	char abstract[64]; /* an abstract socket's name */
	char socket[256];  /* a pathname socket */
	char workdir[256];
	char flags[8][256]; /* paths of flag files */
	size_t n_flags;
	uint64_t port4, port6; /* listeners on the host's loopback */
	uint64_t key;          /* of System V objects */
	uint64_t uid;          /* the program's, inside */
	uint64_t memory, pids; /* limits; UINT64_MAX: none */
	char only[4];          /* the class that is asked for; empty: all */
};

struct attack {
	const struct plant *plant;
	const char *id; /* of the probe */
	enum verdict verdict;
	char detail[400];
};

struct probe {
	const char *id;
	void (*run)(struct attack *a);
};

/* Each ends with a row without an id.  One file a class. */
extern const struct probe fs_probes[], ps_probes[], id_probes[], sc_probes[], pr_probes[],
	tt_probes[], nn_probes[], rl_probes[], dk_probes[], tm_probes[];
/* Started by name, alone in a run of their own; what they print or do is for the host to judge. */
extern const struct probe alone_bombs[], alone_files[], alone_life[], alone_tty[];

/* ---- verdicts: report.c */

/* Raises the verdict; details of the worst one are kept, joined by "; ". */
void say(struct attack *a, enum verdict verdict, const char *fmt, ...) PRINTF(3, 4);

/* Right after a call that must not succeed: errno decides between REFUSED, ABSENT and REACHED. */
void must_fail(struct attack *a, const char *what, long rc);
/* The same where further errors refuse as well: a list that ends with 0. */
void must_fail_or(struct attack *a, const char *what, long rc, const int *errors);

/* Fact or breach: holds says CONTAINED, else REACHED. */
void must_hold(struct attack *a, bool holds, const char *fmt, ...) PRINTF(3, 4);
/* Of controls: works says WORKS, else UNKNOWN, which breaks the class. */
void must_work(struct attack *a, bool works, const char *what);

/* Opens for writing, and never writes. */
void must_not_open(struct attack *a, const char *path, int flags);

/* One line for the host: a fact under a key, for what only the host can judge. */
void tell(const struct attack *a, const char *key, const char *fmt, ...) PRINTF(3, 4);
/* The verdict's line. */
void report(const struct attack *a);
const char *error_name(int num);

/* ---- helpers: util.c */

/* Runs fn in a child; its wait status, or -1; killed after ms milliseconds. */
int in_child(void (*fn)(void *), void *arg, unsigned int ms);

/* A small file as text, at most size - 1 bytes; -1 when it cannot be read. */
ssize_t read_text(const char *path, char *text, size_t size);
int write_text(const char *path, const char *text, size_t n, mode_t mode);

/* Reads "Name:\tVALUE" of /proc/self/status; false when it is not there. */
bool status_field(const char *path, const char *name, char *value, size_t size);
bool parse_number(const char *text, int base, uint64_t *ret);
/* The next word of *rest, which blanks and line feeds separate; false when there is none, or it is no number. */
bool take_number(char **rest, uint64_t *ret);

uint64_t now_ms(void);
void sleep_ms(unsigned int ms);

/* Walks below path, not into /proc, at most max entries; every name is given to see. */
struct walk {
	void (*see)(struct walk *w, const char *path, unsigned char type);
	struct attack *attack;
	size_t left; /* entries */
	size_t hits;
	char first[300];
};
void walk_tree(struct walk *w, const char *path, unsigned int depth);
