/* FS PS ID SC PR TT NN: one run that tries them all, two that go on at once, and what the host sees of both. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/attack/test.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/base/sha256.h"
#include "lib/base/str.h"

/* The program listens inside: whoever listens at that port here is somebody else, but then it accepts nothing. */
static void knock(const char *port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sbx_err ignored = SBX_ERR_INIT;
	uint64_t number;
	int fd;

	if (sbx_str_u64(sbx_str_of(port), 65535, "port", &number, &ignored) < 0)
		return;
	in.sin_port = htons((uint16_t)number);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)!connect(fd, (struct sockaddr *)&in, sizeof(in));
	sbx_sleep_ms(20);
	close(fd);
}

static void on_tell(struct sbx_test *t, const char *id, const char *key, const char *value)
{
	(void)t;
	if (strcmp(id, "NN09") == 0 && strcmp(key, "port") == 0)
		knock(value);
}

/* ---- what runs us must be as it was */

static bool digest_self(char digest[65])
{
	SBX_CLEANUP(sbx_closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct sbx_sha256 sha;
	char bytes[64 << 10];
	ssize_t n;

	sbx_sha256_init(&sha);
	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		sbx_sha256_add(&sha, bytes, (size_t)n);
	sbx_sha256_hex(&sha, digest);
	return fd >= 0;
}

static void judge_outside(struct sbx_test *t, const struct sbx_seen *seen, const char before[65])
{
	char after[65];
	char target[64] = "";
	const char *inside = sbx_told(seen, "netns");

	if (digest_self(after))
		sbx_note_fact(t, SBX_P_PR04, strcmp(before, after) == 0,
			      "the llmsbx that runs this is unchanged");
	sbx_note_fact(t, SBX_P_NN03,
		      sbx_plant_visits(&t->plant, 0) + sbx_plant_visits(&t->plant, 1) == 0,
		      "nobody came to the host's listeners");
	sbx_note_fact(t, SBX_P_PR07,
		      sbx_plant_visits(&t->plant, 2) + sbx_plant_visits(&t->plant, 3) == 0,
		      "nobody came to the host's sockets");
	if (!inside || readlink("/proc/self/ns/net", target, sizeof(target) - 1) < 0)
		sbx_note(t, SBX_P_NN08, SBX_VERDICT_UNKNOWN,
			 "a network namespace could not be named");
	else
		sbx_note_fact(t, SBX_P_NN08, strcmp(inside, target) != 0,
			      "it is not the host's (%s)", inside);
}

static void try_core(struct sbx_test *t, struct sbx_seen *seen)
{
	static const struct sbx_try try = {
		.name = "core", .set = {{"timeout", "120s"}}, .on_tell = on_tell};
	char before[65] = "";

	(void)digest_self(before);
	sbx_try(t, &try, seen);
	if (!seen->has_exit_code || seen->exit_code != 0)
		sbx_note(t, SBX_P_FS00, SBX_VERDICT_UNKNOWN, "the run ended as '%s' %s",
			 sbx_outcome_name(seen->outcome), seen->error);
	judge_outside(t, seen, before);
}

/* ---- two at once */

/* Set while A waits for B: the tells of both are compared. */
static void run_beside(struct sbx_test *t, const char *id, const char *key, const char *value)
{
	static const struct sbx_try second = {.name = "pairB"};
	struct sbx_seen *seen;

	(void)id;
	(void)value;
	if (strcmp(key, "ready") != 0)
		return;
	seen = sbx_new(struct sbx_seen);
	sbx_try(t, &second, seen);
	t->second = seen;
}

struct range {
	uint64_t first, count;
};

/* "FIRST COUNT", as it was told. */
static bool get_range(const struct sbx_tell *tell, struct range *ret)
{
	struct sbx_str rest = sbx_str_of(tell->value), first, count;
	struct sbx_err ignored = SBX_ERR_INIT;

	return strcmp(tell->key, "uid_map") == 0 && sbx_str_split(&rest, ' ', &first) &&
	       sbx_str_split(&rest, ' ', &count) &&
	       sbx_str_u64(first, UINT32_MAX, "id", &ret->first, &ignored) == 0 &&
	       sbx_str_u64(count, UINT32_MAX, "ids", &ret->count, &ignored) == 0;
}

static void compare_ids(struct sbx_test *t, const struct sbx_seen *a, const struct sbx_seen *b)
{
	unsigned int shared = 0, compared = 0;

	for (unsigned int i = 0; i < a->n_tells; i++) {
		for (unsigned int j = 0; j < b->n_tells; j++) {
			struct range x, y;

			if (!get_range(&a->tell[i], &x) || !get_range(&b->tell[j], &y))
				continue;
			compared++;
			shared += x.first < y.first + y.count && y.first < x.first + x.count;
		}
	}
	if (compared == 0)
		sbx_note(t, SBX_P_ID04, SBX_VERDICT_UNKNOWN, "no map was told");
	else
		sbx_note_fact(t, SBX_P_ID04, shared == 0, "two runs share no id");
}

static void try_pair(struct sbx_test *t)
{
	static const struct sbx_try first = {.name = "pairA", .on_tell = run_beside};
	struct sbx_seen *a = sbx_new(struct sbx_seen);
	const char *net_a, *net_b;

	sbx_try(t, &first, a);
	if (!t->second || !t->second->started) {
		sbx_note(t, SBX_P_PR10, SBX_VERDICT_UNKNOWN, "there were not two runs at once: %s",
			 t->second ? t->second->error : a->error);
		sbx_note(t, SBX_P_ID04, SBX_VERDICT_UNKNOWN, "there were not two runs at once");
	} else {
		compare_ids(t, a, t->second);
		net_a = sbx_told(a, "netns");
		net_b = sbx_told(t->second, "netns");
		sbx_note_fact(t, SBX_P_NN08, net_a && net_b && strcmp(net_a, net_b) != 0,
			      "two runs have two");
	}
	free(t->second);
	t->second = NULL;
	free(a);
}

/* ---- a folder of the host, read-only */

static void try_mount(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_freep) char *dir = sbx_xasprintf("%s/mounted", t->plant.folder);
	SBX_CLEANUP(sbx_freep) char *below = sbx_xasprintf("%s/below", dir);
	SBX_CLEANUP(sbx_freep) char *spec = sbx_xasprintf("%s:/mnt/host:ro", dir);
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	struct sbx_err err = SBX_ERR_INIT;
	const struct sbx_try try = {.name = "FS18", .set = {{"mount", spec}}};

	if (mkdir(dir, 0755) < 0 || chmod(dir, 0777) < 0 || mkdir(below, 0777) < 0) {
		sbx_note(t, SBX_P_FS18, SBX_VERDICT_UNKNOWN, "no folder to mount could be made");
	} else {
		SBX_CLEANUP(sbx_freep) char *file = sbx_xasprintf("%s/file", dir);

		if (sbx_replace_file(file, "host\n", 5, 0666, &err) < 0)
			sbx_note(t, SBX_P_FS18, SBX_VERDICT_UNKNOWN, "%s", err.msg);
		sbx_try(t, &try, seen);
		if (!seen->started)
			sbx_note(t, SBX_P_FS18, SBX_VERDICT_UNKNOWN, "%s", seen->error);
	}
	free(seen);
}

void sbx_test_core(struct sbx_test *t)
{
	struct sbx_seen *seen = sbx_new(struct sbx_seen);

	try_core(t, seen);
	free(seen);
	if (sbx_wanted(t, "FS"))
		try_mount(t);
	if (sbx_wanted(t, "ID") || sbx_wanted(t, "PR") || sbx_wanted(t, "NN"))
		try_pair(t);
}
