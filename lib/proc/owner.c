#include "lib/proc/owner.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define PREFIX "llmsbx-"

/* The digits of the boot's id; empty where procfs does not tell (then all boots look alike). */
static void boot_digits(char digits[SBX_OWNER_BOOT + 1])
{
	struct sbx_buf text = SBX_BUF_INIT(64);
	struct sbx_err ignored = SBX_ERR_INIT;
	const char *p;
	size_t n = 0;

	if (sbx_read_file("/proc/sys/kernel/random/boot_id", &text, &ignored) < 0)
		sbx_buf_reset(&text);
	for (p = sbx_buf_str(&text); *p && *p != '\n' && n < SBX_OWNER_BOOT; p++) {
		if (*p != '-')
			digits[n++] = *p;
	}
	while (n < SBX_OWNER_BOOT)
		digits[n++] = '0';
	digits[n] = '\0';
	sbx_buf_release(&text);
}

/* The number in the field-th word of text, words counted from 1. */
static bool word_u64(struct sbx_str text, unsigned int field, uint64_t *ret)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_str word;

	do {
		if (!sbx_str_split(&text, ' ', &word))
			return false;
	} while (--field > 0);
	return sbx_str_u64(word, UINT64_MAX, "stat", ret, &ignored) == 0;
}

bool sbx_process_stat(pid_t pid, uint64_t *ret_start, pid_t *ret_parent)
{
	struct sbx_buf text = SBX_BUF_INIT(4096);
	struct sbx_err ignored = SBX_ERR_INIT;
	uint64_t start = 0, parent = 0;
	char path[32];
	const char *p;
	bool found;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	found = sbx_read_file(path, &text, &ignored) == 0;
	/* The second word is the program's name in brackets, with any bytes in it: what follows the last one is field 3. */
	p = found ? strrchr(sbx_buf_str(&text), ')') : NULL;
	found = p && p[1] == ' ' && word_u64(sbx_str_of(p + 2), 4 - 2, &parent) &&
		word_u64(sbx_str_of(p + 2), 22 - 2, &start);
	sbx_buf_release(&text);
	if (found) {
		*ret_start = start;
		*ret_parent = (pid_t)parent;
	}
	return found;
}

int sbx_owner_name(char name[SBX_OWNER_NAME_MAX], uint64_t n, struct sbx_err *err)
{
	char boot[SBX_OWNER_BOOT + 1];
	uint64_t start;
	pid_t parent;

	if (!sbx_process_stat(getpid(), &start, &parent))
		return sbx_fail(err, SBX_E_UNSUPPORTED,
				"cannot read '/proc/%d/stat': is /proc mounted?", (int)getpid());
	boot_digits(boot);
	(void)snprintf(name, SBX_OWNER_NAME_MAX, PREFIX "%s-%d-%" PRIu64 "-%" PRIu64, boot,
		       (int)getpid(), start, n);
	return 0;
}

bool sbx_owner_parse(const char *name, struct sbx_owner *ret)
{
	struct sbx_str rest = sbx_str_of(name), boot, word[3];
	struct sbx_err ignored = SBX_ERR_INIT;
	uint64_t pid, start, n;

	if (!sbx_str_has_prefix(rest, PREFIX))
		return false;
	rest.p += strlen(PREFIX);
	rest.n -= strlen(PREFIX);
	if (!sbx_str_split(&rest, '-', &boot) || boot.n != SBX_OWNER_BOOT)
		return false;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(word); i++) {
		if (!sbx_str_split(&rest, '-', &word[i]))
			return false;
	}
	if (rest.n > 0 || sbx_str_u64(word[0], INT_MAX, "pid", &pid, &ignored) < 0 ||
	    sbx_str_u64(word[1], UINT64_MAX, "start", &start, &ignored) < 0 ||
	    sbx_str_u64(word[2], UINT64_MAX, "number", &n, &ignored) < 0 || pid == 0)
		return false;
	memcpy(ret->boot, boot.p, boot.n);
	ret->boot[boot.n] = '\0';
	ret->pid = (pid_t)pid;
	ret->start = start;
	return true;
}

bool sbx_owner_alive(const struct sbx_owner *owner)
{
	char boot[SBX_OWNER_BOOT + 1];
	uint64_t start;
	pid_t parent;

	if (kill(owner->pid, 0) < 0 && errno == ESRCH)
		return false;
	boot_digits(boot);
	if (strcmp(boot, owner->boot) != 0)
		return false;
	/* Where others' processes are hidden (hidepid) nothing can be told: it lives. */
	if (!sbx_process_stat(owner->pid, &start, &parent))
		return true;
	return start == owner->start;
}
