/*
 * llmsbx-attack MARK core             every probe of the tables
 * llmsbx-attack MARK alone NAME       one of those that need a run of their own
 * llmsbx-attack MARK ids              prints who it is: what a set-id copy of it is started for
 *
 * MARK is there to be seen: the host finds what survived by it in the command lines of /proc.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.h"

enum { PROBE_MS = 20000, INPUT_MAX = 4096 };

static const struct probe *const classes[] = {
	fs_probes, ps_probes, id_probes, sc_probes, pr_probes,
	tt_probes, nn_probes, rl_probes, dk_probes, tm_probes,
};

/* ---- what the host says on stdin: a word and a value a line */

static void set_text(char *to, size_t size, const char *value)
{
	(void)snprintf(to, size, "%s", value);
}

static void set_number(uint64_t *to, const char *value)
{
	if (!parse_number(value, 10, to))
		*to = UINT64_MAX;
}

static void set(struct plant *p, const char *word, const char *value)
{
	const struct {
		const char *word;
		char *text;
		size_t size;
		uint64_t *number;
	} rows[] = {
		{"nonce", p->nonce, sizeof(p->nonce), NULL},
		{"flag", p->flag, sizeof(p->flag), NULL},
		{"abstract", p->abstract, sizeof(p->abstract), NULL},
		{"socket", p->socket, sizeof(p->socket), NULL},
		{"workdir", p->workdir, sizeof(p->workdir), NULL},
		{"only", p->only, sizeof(p->only), NULL},
		{"port4", NULL, 0, &p->port4},
		{"port6", NULL, 0, &p->port6},
		{"key", NULL, 0, &p->key},
		{"uid", NULL, 0, &p->uid},
		{"memory", NULL, 0, &p->memory},
		{"pids", NULL, 0, &p->pids},
	};

	if (strcmp(word, "flagfile") == 0 && p->n_flags < LENGTH(p->flags)) {
		set_text(p->flags[p->n_flags], sizeof(p->flags[0]), value);
		p->n_flags++;
	}
	for (size_t i = 0; i < LENGTH(rows); i++) {
		if (strcmp(word, rows[i].word) != 0)
			continue;
		if (rows[i].text)
			set_text(rows[i].text, rows[i].size, value);
		else
			set_number(rows[i].number, value);
	}
}

static void read_plant(struct plant *p)
{
	char text[INPUT_MAX], *at = text, *end;
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(text) - 1 &&
	       (n = read(STDIN_FILENO, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	for (; (end = strchr(at, '\n')); at = end + 1) {
		char *space = strchr(at, ' ');

		*end = '\0';
		if (space) {
			*space = '\0';
			set(p, at, space + 1);
		}
	}
}

/* ---- one probe, in a process of its own */

static void run_probe(const struct probe *probe, struct attack *a)
{
	uint64_t deadline = now_ms() + PROBE_MS;
	int status = 0;
	pid_t pid;

	a->id = probe->id;
	a->verdict = NONE;
	a->detail[0] = '\0';
	pid = fork();
	if (pid == 0) {
		(void)setpgid(0, 0);
		probe->run(a);
		_exit(0);
	}
	if (pid < 0) {
		say(a, UNKNOWN, "fork: %s", error_name(errno));
		return;
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (now_ms() > deadline) {
			say(a, UNKNOWN, "it did not end in time");
			(void)kill(pid, SIGKILL);
		}
		sleep_ms(1);
	}
	(void)kill(-pid, SIGKILL); /* what it left of its group */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (WIFSIGNALED(status) && a->verdict == NONE)
		say(a, WTERMSIG(status) == SIGSYS ? KILLED : UNKNOWN, "SIG%s",
		    sigabbrev_np(WTERMSIG(status)));
}

static void run_core(struct attack *a)
{
	for (size_t c = 0; c < LENGTH(classes); c++) {
		for (const struct probe *p = classes[c]; p->id; p++) {
			if (a->plant->only[0] && strncmp(p->id, a->plant->only, 2) != 0)
				continue;
			run_probe(p, a);
			report(a);
		}
	}
}

static int run_alone(struct attack *a, const char *name)
{
	const struct probe *const tables[] = {alone_bombs, alone_files, alone_life, alone_tty};

	for (size_t t = 0; t < LENGTH(tables); t++) {
		for (const struct probe *p = tables[t]; p->id; p++) {
			if (strcmp(p->id, name) != 0)
				continue;
			a->id = p->id;
			p->run(a);
			if (a->verdict != NONE)
				report(a);
			return 0;
		}
	}
	return 2;
}

static int print_ids(void)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	(void)getresuid(&ruid, &euid, &suid);
	(void)getresgid(&rgid, &egid, &sgid);
	(void)dprintf(STDOUT_FILENO, "%u %u %u %u %u %u\n", ruid, euid, suid, rgid, egid, sgid);
	return 0;
}

int main(int argc, char **argv)
{
	static struct plant plant; /* zeroed; set once, before anything else */
	struct attack *a;

	if (argc >= 3 && strcmp(argv[2], "ids") == 0)
		return print_ids();
	if (argc < 3)
		return 2;
	/* Shared, so that what a probe said is not lost with its process. */
	a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a == MAP_FAILED)
		return 2;
	read_plant(&plant);
	*a = (struct attack){.plant = &plant};
	if (strcmp(argv[2], "core") == 0) {
		run_core(a);
		return 0;
	}
	return argc > 3 ? run_alone(a, argv[3]) : 2;
}
