/* RL and DK: what is exhausted in small runs, and what the host has of it. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "lib/attack/test.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

enum { MEMORY_MIB = 64, QUIET_TRIES = 5, RSS_KIB = 48 << 10, HOST_MIB = 300, SLOW_MS = 40 };

/* A run with little of everything; seen is the caller's to free. */
static struct sbx_seen *try_small(struct sbx_test *t, const char *name)
{
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	const struct sbx_try try = {.name = name,
				    .set = {{"memory", "64m"}, {"pids", "32"}, {"timeout", "20s"}}};

	sbx_try(t, &try, seen);
	return seen;
}

/* ---- processes */

static void try_forks(struct sbx_test *t)
{
	struct sbx_seen *seen = try_small(t, "RL01");

	if (sbx_ran(t, SBX_P_RL01, seen)) {
		bool exact = seen->receipt.control[SBX_CTL_PIDS].held == SBX_HELD_ENFORCED;

		/* On a busy machine what the dead held is given back late, and the limit of memory may be met first. */
		if (seen->ends == 1 && seen->outcome == SBX_OUT_OOM)
			sbx_note(t, SBX_P_RL01, SBX_VERDICT_KILLED, "oom");
		else
			sbx_note_fact(t, SBX_P_RL01,
				      seen->ends == 1 && seen->outcome == SBX_OUT_EXITED,
				      "it ended as '%s'", sbx_outcome_name(seen->outcome));
		if (exact && seen->outcome == SBX_OUT_EXITED &&
		    !(seen->limits & 1U << SBX_CTL_PIDS))
			sbx_note(t, SBX_P_RL01, SBX_VERDICT_UNKNOWN,
				 "bounded, but no limit event tells of it");
	}
	free(seen);
	seen = try_small(t, "RL02");
	(void)sbx_ran(t, SBX_P_RL02, seen);
	free(seen);
}

static void try_cpu(struct sbx_test *t)
{
	static const struct sbx_try try = {.name = "RL11",
					   .set = {{"cpus", "0.5"}, {"timeout", "20s"}}};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);

	sbx_try(t, &try, seen);
	if (sbx_ran(t, SBX_P_RL11, seen)) {
		unsigned long long used = seen->cpu_ns / 1000000, wall = seen->wall_ns / 1000000;

		if (used == 0)
			sbx_note(t, SBX_P_RL11, SBX_VERDICT_UNKNOWN,
				 "nobody counted the processor time");
		else /* half of it, a tenth more, and one period of 100 ms */
			sbx_note_fact(t, SBX_P_RL11, used <= wall * 55 / 100 + 100,
				      "%llu ms in %llu ms, of half a processor", used, wall);
	}
	free(seen);
}

/* ---- memory */

/* Killed for memory, or refused it: either is a bound; the program says REACHED when it got far more. */
static void judge_memory(struct sbx_test *t, enum sbx_probe p, const struct sbx_seen *seen)
{
	if (!sbx_ran(t, p, seen))
		return;
	if (seen->outcome == SBX_OUT_OOM)
		sbx_note(t, p, SBX_VERDICT_KILLED, "oom");
	else if (seen->outcome == SBX_OUT_TIMEOUT)
		sbx_note(t, p, SBX_VERDICT_UNKNOWN, "it met its deadline first");
	else if (t->note[p].verdict == SBX_VERDICT_NONE)
		sbx_note(t, p, SBX_VERDICT_UNKNOWN, "it ended as '%s'",
			 sbx_outcome_name(seen->outcome));
}

static uint64_t number_of(const char *text)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	uint64_t n;

	return text && sbx_str_u64(sbx_str_of(text), UINT64_MAX, "number", &n, &ignored) == 0 ? n
											      : 0;
}

static void try_memory(struct sbx_test *t)
{
	struct sbx_seen *seen = try_small(t, "RL03");
	uint64_t most = 0;

	judge_memory(t, SBX_P_RL03, seen);
	for (unsigned int i = 0; i < seen->n_tells; i++)
		if (strcmp(seen->tell[i].key, "mib") == 0 && number_of(seen->tell[i].value) > most)
			most = number_of(seen->tell[i].value);
	if (sbx_ran(t, SBX_P_RL12, seen)) {
		if (most == 0)
			sbx_note(t, SBX_P_RL12, SBX_VERDICT_UNKNOWN,
				 "not even 16 MiB were touched");
		else
			sbx_note_fact(t, SBX_P_RL12, most <= MEMORY_MIB, "%llu MiB were held of %d",
				      (unsigned long long)most, MEMORY_MIB);
	}
	free(seen);
}

static void try_scratch(struct sbx_test *t)
{
	struct sbx_seen *seen = try_small(t, "RL05");
	uint64_t size = number_of(sbx_told(seen, "scratch"));

	judge_memory(t, SBX_P_RL05, seen);
	if (size == 0)
		sbx_note(t, SBX_P_RL05, SBX_VERDICT_UNKNOWN,
			 "the size of the scratch is not known");
	else
		sbx_note_fact(t, SBX_P_RL05, size <= (uint64_t)MEMORY_MIB << 19,
			      "%llu MiB of scratch", (unsigned long long)size >> 20);
	free(seen);
}

static void try_other_memory(struct sbx_test *t)
{
	static const struct {
		const char *name;
		enum sbx_probe p;
	} bombs[] = {{"RL04", SBX_P_RL04}, {"RL06", SBX_P_RL06}, {"RL07", SBX_P_RL07}};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(bombs); i++) {
		struct sbx_seen *seen = try_small(t, bombs[i].name);

		judge_memory(t, bombs[i].p, seen);
		free(seen);
	}
}

/* ---- crashes and compilers */

static void try_crashes(struct sbx_test *t)
{
	static const char *const names[] = {"RL13", "recurse"};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++) {
		struct sbx_seen *seen = try_small(t, names[i]);

		if (sbx_ran(t, SBX_P_RL13, seen))
			sbx_note_fact(t, SBX_P_RL13,
				      seen->outcome == SBX_OUT_SIGNALED && seen->signal == 11,
				      "'%s' of %s", sbx_outcome_name(seen->outcome),
				      sbx_signal_name(seen->signal));
		free(seen);
	}
}

static void try_compiler(struct sbx_test *t)
{
	static const struct sbx_try endless = {
		.name = "spin", .compile = true, .set = {{"timeout", "1s"}}};
	static const struct sbx_try large = {
		.name = "RL03", .compile = true, .set = {{"memory", "64m"}}};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	struct sbx_note before = t->note[SBX_P_RL03];

	sbx_try(t, &endless, seen);
	sbx_note_fact(t, SBX_P_RL14,
		      seen->outcome == SBX_OUT_TIMEOUT && seen->wall_ns < UINT64_C(3000000000),
		      "an endless one ended as '%s'", sbx_outcome_name(seen->outcome));
	t->note[SBX_P_RL03] = (struct sbx_note){.verdict = SBX_VERDICT_NONE};
	sbx_try(t, &large, seen);
	/* Killed, or refused the memory, of which it then has told. */
	sbx_note_fact(t, SBX_P_RL14,
		      seen->outcome == SBX_OUT_OOM || seen->outcome == SBX_OUT_COMPILE_FAILED ||
			      t->note[SBX_P_RL03].verdict == SBX_VERDICT_CONTAINED,
		      "a large one as '%s'", sbx_outcome_name(seen->outcome));
	t->note[SBX_P_RL03] = before; /* that was about the program */
	free(seen);
}

static void judge_fallback(struct sbx_test *t)
{
	if (sbx_held(t, SBX_CTL_MEMORY) != SBX_HELD_DEGRADED)
		return;
	sbx_note_fact(t, SBX_P_RL15, t->note[SBX_P_RL03].verdict != SBX_VERDICT_REACHED,
		      "memory is degraded, and was bounded");
}

/* ---- a neighbour */

static uint64_t quickest(struct sbx_test *t)
{
	static const struct sbx_try quick = {.name = "nothing"};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < QUIET_TRIES; i++) {
		sbx_try(t, &quick, seen);
		if (seen->outcome == SBX_OUT_EXITED && seen->wall_ns < best)
			best = seen->wall_ns;
	}
	free(seen);
	return best;
}

static void try_neighbour(struct sbx_test *t)
{
	static const struct sbx_try bomb = {.name = "spin",
					    .set = {{"timeout", "5s"}, {"memory", "64m"}}};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	uint64_t quiet = quickest(t), beside;
	struct sbx_try_child child;

	if (!sbx_try_begin(t, &bomb, &child)) {
		sbx_note(t, SBX_P_RL16, SBX_VERDICT_UNKNOWN, "no neighbour could be started");
		free(seen);
		return;
	}
	(void)sbx_wait_marked(t, 3000);
	sbx_sleep_ms(100);
	beside = quickest(t);
	(void)sbx_try_end(t, &child, seen);
	if (quiet == UINT64_MAX || beside == UINT64_MAX)
		sbx_note(t, SBX_P_RL16, SBX_VERDICT_UNKNOWN, "no run ended well");
	else
		sbx_note_fact(t, SBX_P_RL16,
			      beside <= 2 * quiet || beside - quiet < SLOW_MS * UINT64_C(1000000),
			      "%llu us alone, %llu us beside it", (unsigned long long)quiet / 1000,
			      (unsigned long long)beside / 1000);
	free(seen);
}

/* ---- disks */

static uint64_t free_mib(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize >> 20 : 0;
}

static void try_disks(struct sbx_test *t)
{
	static const struct sbx_try try = {.name = "DK01",
					   .set = {{"memory", "256m"}, {"timeout", "60s"}}};
	const char *places[] = {"/", "/tmp", "/var/tmp", t->plant.folder};
	uint64_t before[SBX_ARRAY_SIZE(places)];
	struct sbx_seen *seen = sbx_new(struct sbx_seen);

	for (size_t i = 0; i < SBX_ARRAY_SIZE(places); i++)
		before[i] = free_mib(places[i]);
	sbx_try(t, &try, seen);
	if (sbx_ran(t, SBX_P_DK01, seen))
		sbx_note_fact(t, SBX_P_DK01, seen->outcome == SBX_OUT_EXITED, "it ended as '%s'",
			      sbx_outcome_name(seen->outcome));
	/* Others write to these disks too: what would tell is as much as the program tried. */
	for (size_t i = 0; i < SBX_ARRAY_SIZE(places); i++)
		sbx_note_fact(t, SBX_P_DK01, free_mib(places[i]) + HOST_MIB > before[i],
			      "the host's %s has as much as before", places[i]);
	free(seen);
}

static long peak_kib(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static void try_output(struct sbx_test *t)
{
	static const struct sbx_try try = {.name = "DK04",
					   .set = {{"max-output", "1m"}, {"timeout", "60s"}}};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	long before = peak_kib();

	sbx_try(t, &try, seen);
	if (sbx_ran(t, SBX_P_DK04, seen)) {
		sbx_note_fact(t, SBX_P_DK04, seen->outcome == SBX_OUT_OUTPUT, "it ended as '%s'",
			      sbx_outcome_name(seen->outcome));
		sbx_note_fact(t, SBX_P_DK04, seen->truncated[0] && seen->truncated[1],
			      "both streams are told as cut");
		sbx_note_fact(t, SBX_P_DK04, peak_kib() - before < RSS_KIB,
			      "%ld KiB more memory here", peak_kib() - before);
	}
	sbx_note(t, SBX_P_DK06, t->has_engine ? SBX_VERDICT_UNKNOWN : SBX_VERDICT_ABSENT,
		 t->has_engine ? "an engine may log: it is not asked yet" : "there is no engine");
	free(seen);
}

void sbx_test_limits(struct sbx_test *t)
{
	try_forks(t);
	try_memory(t);
	try_other_memory(t);
	try_scratch(t);
	try_cpu(t);
	try_crashes(t);
	try_compiler(t);
	try_neighbour(t);
	judge_fallback(t);
}

void sbx_test_disk(struct sbx_test *t)
{
	try_disks(t);
	try_output(t);
	sbx_test_trees(t);
}
