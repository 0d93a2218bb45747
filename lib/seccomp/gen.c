/*
 * Build-time: a seccomp profile (OCI JSON) in, a C header with four classic BPF programs out.
 *
 *	seccomp-gen PROFILE [ARCH] >seccomp-filter.h
 *
 * Theory of operation.  Installing a filter costs its length (the kernel compiles it) and, once for each system call, the length
 * of the way through it (the kernel finds out which calls are always allowed, and never runs the filter for them again).  So the
 * program is short and shallow: a binary search over ranges of numbers with one answer, and a chain of tests for each call whose
 * arguments matter.  What libseccomp makes of the same profile is four times as long; its tables give us the numbers.
 *
 * Jumps of this machine only go forward, at most 255 instructions if they are conditional: so instructions are made last first,
 * and a place is its distance from the end, known when something jumps to it.
 *
 * Arguments are compared by their lower 32 bits, which is all that the kernel looks at in those that the profile tests: a filter
 * that looks at 64 is passed by whoever sets a bit above.  The second program is for a guest that shares its id with the program:
 * it keeps the program's hands off process 1.  The third and the fourth are for sandboxes without namespaces, with two ids and one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <seccomp.h>

#include "lib/base/attr.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"
#include "lib/json/bind.h"
#include "lib/json/doc.h"

enum {
	ARGS = 6, /* of a system call */
	RULES_MAX = 1000,
	NR_X32 = 0x40000000, /* x86_64: the bit that says x32 */
	NEAR = 200, /* a conditional jump reaches 255; this leaves room for two stepping stones */
	ERRNO_MAX = 4095,
};

#define ALLOW    SECCOMP_RET_ALLOW
#define DENY     (SECCOMP_RET_ERRNO | EPERM)
#define FULL     UINT32_MAX
#define LD_ABS   (BPF_LD | BPF_W | BPF_ABS)
#define NO_CHAIN SIZE_MAX

struct cond {
	uint32_t arg, mask, value; /* (argument & mask) == value */
};

struct rule {
	uint32_t nr, action;
	unsigned int n; /* conditions, all of which must hold */
	struct cond cond[ARGS];
};

/* Sorted by nr; those of one call stay in order, and the first that holds decides. */
struct rules {
	struct rule *v; /* owned */
	size_t n, cap;
	uint32_t otherwise;
};

static const struct arch {
	const char *name, *oci;
	uint32_t token, audit;
	uint32_t foreign; /* numbers from here on belong to another ABI; 0: there is none */
} archs[] = {
	{"x86_64", "SCMP_ARCH_X86_64", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64, NR_X32},
	{"aarch64", "SCMP_ARCH_AARCH64", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64, 0},
};

/* Calls that an older libseccomp does not know; since 424 all architectures give a call the same number. */
static const struct {
	const char *name;
	uint32_t nr;
} newer[] = {
	{"cachestat", 451},     {"fchmodat2", 452},     {"futex_wake", 454}, {"futex_wait", 455},
	{"futex_requeue", 456}, {"mseal", 462},         {"setxattrat", 463}, {"getxattrat", 464},
	{"listxattrat", 465},   {"removexattrat", 466},
};

/*
 * What one id adds, for calls that the profile allows without a condition: if the conditions hold action, else otherwise.
 * PRIO_USER and IOPRIO_WHO_USER reach the guest also with 0, and F_SETSIG lets the kernel send in the program's name.
 */
static const struct guard {
	const char *name;
	uint32_t action, otherwise;
	unsigned int n;
	struct cond cond[2];
} guards[] = {
	{"kill", DENY, ALLOW, 1, {{0, FULL, 1}}},
	{"tkill", DENY, ALLOW, 1, {{0, FULL, 1}}},
	{"tgkill", DENY, ALLOW, 1, {{0, FULL, 1}}},
	{"tgkill", DENY, ALLOW, 1, {{1, FULL, 1}}},
	{"rt_sigqueueinfo", DENY, ALLOW, 1, {{0, FULL, 1}}},
	{"rt_tgsigqueueinfo", DENY, ALLOW, 1, {{0, FULL, 1}}},
	{"rt_tgsigqueueinfo", DENY, ALLOW, 1, {{1, FULL, 1}}},
	{"pidfd_open", DENY, ALLOW, 1, {{0, FULL, 1}}},
	{"fcntl", DENY, ALLOW, 1, {{1, FULL, F_SETSIG}}},
	{"prlimit64", ALLOW, DENY, 1, {{0, FULL, 0}}},
	{"sched_setaffinity", ALLOW, DENY, 1, {{0, FULL, 0}}},
	{"sched_setattr", ALLOW, DENY, 1, {{0, FULL, 0}}},
	{"sched_setparam", ALLOW, DENY, 1, {{0, FULL, 0}}},
	{"sched_setscheduler", ALLOW, DENY, 1, {{0, FULL, 0}}},
	{"setpriority", ALLOW, DENY, 2, {{0, FULL, PRIO_PROCESS}, {1, FULL, 0}}},
	{"ioprio_set", ALLOW, DENY, 2, {{0, FULL, IOPRIO_WHO_PROCESS}, {1, FULL, 0}}},
};

/*
 * What no namespace holds there: sockets reach the host's network and its services, IPC objects outlive the run.  A pair of stream
 * sockets has no way out; one of datagrams sends to whatever name it is given.
 */
static const char *const shared[] = {
	"inotify_add_watch",
	"msgctl",
	"msgget",
	"msgrcv",
	"msgsnd",
	"semctl",
	"semget",
	"semop",
	"shmat",
	"shmctl",
	"semtimedop",
	"shmget",
	"socket",
};
static const struct rule pairs[] = {
	{.action = ALLOW, .n = 2, .cond = {{0, FULL, AF_UNIX}, {1, 15, SOCK_STREAM}}},
	{.action = ALLOW, .n = 2, .cond = {{0, FULL, AF_UNIX}, {1, 15, SOCK_SEQPACKET}}},
};

/* What Landlock does not hold and ids do not where there is one: attributes of the caller's files, by path. */
static const char *const attributes[] = {
	"chmod",         "chown",    "fchmodat",     "fchmodat2", "fchownat",
	"futimesat",     "lchown",   "lremovexattr", "lsetxattr", "removexattr",
	"removexattrat", "setxattr", "setxattrat",   "utime",     "utimes",
};
/* Without a path it is a descriptor's. */
static const struct rule own_times = {.action = ALLOW, .n = 1, .cond = {{1, FULL, 0}}};

static void rules_release(struct rules *rules)
{
	sbx_freep(&rules->v);
}

/* The first rule of a call, or where it would stand. */
static size_t find(const struct rules *rules, uint32_t nr)
{
	size_t i = 0;

	while (i < rules->n && rules->v[i].nr < nr)
		i++;
	return i;
}

static bool has_rule(const struct rules *rules, size_t at, uint32_t nr)
{
	return at < rules->n && rules->v[at].nr == nr;
}

static int insert(struct rules *rules, size_t at, const struct rule *rule, struct sbx_err *err)
{
	if (sbx_array_grow(&rules->v, &rules->cap, rules->n + 1, RULES_MAX, sizeof(*rule), err) < 0)
		return -1;
	memmove(rules->v + at + 1, rules->v + at, (rules->n - at) * sizeof(*rule));
	rules->v[at] = *rule;
	rules->n++;
	return 0;
}

/* 1 and the number; 0: another architecture has it; -1: nobody does. */
static int resolve(const struct arch *arch, const char *name, uint32_t *nr, struct sbx_err *err)
{
	int found = seccomp_syscall_resolve_name_arch(arch->token, name);

	if (found >= 0) {
		*nr = (uint32_t)found;
		return 1;
	}
	if (found != __NR_SCMP_ERROR)
		return 0;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(newer); i++) {
		if (strcmp(newer[i].name, name) == 0) {
			*nr = newer[i].nr;
			return 1;
		}
	}
	return sbx_fail(err, SBX_E_INVALID, "there is no system call '%s'", name);
}

static int read_action(const char *name, uint64_t num, uint32_t *ret, struct sbx_err *err)
{
	if (strcmp(name, "SCMP_ACT_ALLOW") == 0)
		*ret = SECCOMP_RET_ALLOW;
	else if (strcmp(name, "SCMP_ACT_ERRNO") != 0)
		return sbx_fail(err, SBX_E_INVALID,
				"action '%s' is neither SCMP_ACT_ALLOW nor SCMP_ACT_ERRNO", name);
	else if (num == 0 || num > ERRNO_MAX)
		return sbx_fail(err, SBX_E_INVALID, "%llu is no error number",
				(unsigned long long)num);
	else
		*ret = SECCOMP_RET_ERRNO | (uint32_t)num;
	return 0;
}

struct arg {
	uint64_t index, mask, value;
	char *op; /* owned */
};

static void arg_release(struct arg *arg)
{
	sbx_freep(&arg->op);
}

static int read_cond(struct sbx_json v, const char *where, struct cond *ret, struct sbx_err *err)
{
	static const struct sbx_bind rows[] = {
		{"index", SBX_BIND_U64, offsetof(struct arg, index), .required = true},
		{"value", SBX_BIND_U64, offsetof(struct arg, mask), .required = true},
		{"valueTwo", SBX_BIND_U64, offsetof(struct arg, value), .required = true},
		{"op", SBX_BIND_STRING, offsetof(struct arg, op), .required = true},
	};
	SBX_CLEANUP(arg_release) struct arg arg = {0};

	if (sbx_bind_object(rows, SBX_ARRAY_SIZE(rows), v, where, &arg, err) < 0)
		return -1;
	if (strcmp(arg.op, "SCMP_CMP_MASKED_EQ") != 0 || arg.mask > FULL)
		return sbx_fail(err, SBX_E_INVALID,
				"%s: must be SCMP_CMP_MASKED_EQ within the lower 32 bits", where);
	if (arg.index >= ARGS || (arg.value & ~arg.mask) != 0)
		return sbx_fail(err, SBX_E_INVALID, "%s: can never hold", where);
	*ret = (struct cond){(uint32_t)arg.index, (uint32_t)arg.mask, (uint32_t)arg.value};
	return 0;
}

struct entry {
	struct sbx_strv names;
	char *action, *comment; /* owned */
	uint64_t errno_ret;
	struct rule rule; /* its conditions */
};

static void entry_release(struct entry *entry)
{
	sbx_strv_release(&entry->names);
	sbx_freep(&entry->action);
	sbx_freep(&entry->comment);
}

static int read_args(struct sbx_json v, const char *where, void *field, struct sbx_err *err)
{
	struct rule *rule = field;
	struct sbx_json key, value;
	struct sbx_json_iter it;

	if (sbx_json_type(v) != SBX_JSON_ARRAY || sbx_json_count(v) < 1 || sbx_json_count(v) > ARGS)
		return sbx_fail(err, SBX_E_INVALID, "%s: must be an array of 1 to %d conditions",
				where, ARGS);
	it = sbx_json_iter(v);
	while (sbx_json_next(&it, &key, &value)) {
		if (read_cond(value, where, &rule->cond[rule->n], err) < 0)
			return -1;
		rule->n++;
	}
	return 0;
}

/*
 * The lint: where a call has several rules, each has conditions.  An unconditional one beside them would swallow them, in our
 * program and in that of every OCI runtime: "allow ioctl, but not TIOCSTI" then denies nothing.
 */
static int add_rule(struct rules *rules, const struct arch *arch, const char *name,
		    struct rule *rule, struct sbx_err *err)
{
	int rc = resolve(arch, name, &rule->nr, err);
	size_t at;

	if (rc <= 0)
		return rc;
	at = find(rules, rule->nr);
	if (has_rule(rules, at, rule->nr) && (rule->n == 0 || rules->v[at].n == 0))
		return sbx_fail(err, SBX_E_INVALID,
				"'%s' has a rule without conditions, which swallows its others",
				name);
	while (has_rule(rules, at, rule->nr))
		at++;
	return insert(rules, at, rule, err);
}

static int read_entry(struct rules *rules, const struct arch *arch, struct sbx_json v,
		      const char *where, struct sbx_err *err)
{
	static const struct sbx_bind rows[] = {
		{"names", SBX_BIND_STRV, offsetof(struct entry, names), .required = true},
		{"action", SBX_BIND_STRING, offsetof(struct entry, action), .required = true},
		{"errnoRet", SBX_BIND_U64, offsetof(struct entry, errno_ret), .required = false},
		{"args", SBX_BIND_CUSTOM, offsetof(struct entry, rule), .custom = read_args},
		{"comment", SBX_BIND_STRING, offsetof(struct entry, comment), .required = false},
	};
	SBX_CLEANUP(entry_release) struct entry entry = {.errno_ret = EPERM};

	if (sbx_bind_object(rows, SBX_ARRAY_SIZE(rows), v, where, &entry, err) < 0)
		return -1;
	if (read_action(entry.action, entry.errno_ret, &entry.rule.action, err) < 0)
		return sbx_wrap(err, "%s", where);
	for (size_t i = 0; i < entry.names.n; i++) {
		if (add_rule(rules, arch, entry.names.v[i], &entry.rule, err) < 0)
			return sbx_wrap(err, "%s", where);
	}
	return 0;
}

struct profile {
	char *action; /* owned */
	uint64_t errno_ret;
	struct sbx_strv architectures;
	struct sbx_json syscalls;
};

static void profile_release(struct profile *profile)
{
	sbx_freep(&profile->action);
	sbx_strv_release(&profile->architectures);
}

static int read_profile(struct sbx_json root, const char *where, const struct arch *arch,
			struct rules *rules, struct sbx_err *err)
{
	static const struct sbx_bind rows[] = {
		{"defaultAction", SBX_BIND_STRING, offsetof(struct profile, action),
		 .required = true},
		{"defaultErrnoRet", SBX_BIND_U64, offsetof(struct profile, errno_ret),
		 .required = false},
		{"architectures", SBX_BIND_STRV, offsetof(struct profile, architectures),
		 .required = true},
		{"syscalls", SBX_BIND_VALUE, offsetof(struct profile, syscalls), .required = true},
	};
	SBX_CLEANUP(profile_release) struct profile profile = {.errno_ret = EPERM};
	struct sbx_json key, value;
	struct sbx_json_iter it;
	int rc = 0;

	if (sbx_bind_object(rows, SBX_ARRAY_SIZE(rows), root, where, &profile, err) < 0)
		return -1;
	if (!sbx_strv_contains(&profile.architectures, arch->oci))
		return sbx_fail(err, SBX_E_INVALID, "%s: architectures: %s is not among them",
				where, arch->oci);
	if (sbx_json_type(profile.syscalls) != SBX_JSON_ARRAY)
		return sbx_fail(err, SBX_E_INVALID, "%s: syscalls: must be an array", where);
	if (read_action(profile.action, profile.errno_ret, &rules->otherwise, err) < 0)
		return sbx_wrap(err, "%s", where);
	it = sbx_json_iter(profile.syscalls);
	for (int i = 0; rc == 0 && sbx_json_next(&it, &key, &value); i++) {
		SBX_CLEANUP(sbx_freep) char *place = sbx_xasprintf("%s: syscalls[%d]", where, i);

		rc = read_entry(rules, arch, value, place, err);
	}
	return rc;
}

static int add_guards(struct rules *rules, const struct arch *arch, struct sbx_err *err)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(guards); i++) {
		const struct guard *guard = &guards[i];
		struct rule rule = {.action = guard->action, .n = guard->n};
		int rc = resolve(arch, guard->name, &rule.nr, err);
		size_t first = find(rules, rule.nr), last = first;

		if (rc < 0)
			return -1;
		while (has_rule(rules, last + 1, rule.nr))
			last++;
		if (rc == 0 || !has_rule(rules, last, rule.nr) || rules->v[last].n > 0 ||
		    rules->v[last].action != SECCOMP_RET_ALLOW)
			continue; /* the profile is at least as strict */
		rules->v[last].action = guard->otherwise;
		memcpy(rule.cond, guard->cond, sizeof(guard->cond));
		if (insert(rules, first, &rule, err) < 0)
			return -1;
	}
	return 0;
}

/* Refuses a call, whatever the profile says of it, but for what the n rules allow. */
static int refuse(struct rules *rules, const struct arch *arch, const char *name,
		  const struct rule *but, size_t n, struct sbx_err *err)
{
	struct rule rule = {.action = DENY};
	int rc = resolve(arch, name, &rule.nr, err);
	size_t at = find(rules, rule.nr), end = at;

	if (rc <= 0)
		return rc;
	while (has_rule(rules, end, rule.nr))
		end++;
	memmove(rules->v + at, rules->v + end, (rules->n - end) * sizeof(rule));
	rules->n -= end - at;
	if (insert(rules, at, &rule, err) < 0)
		return -1;
	while (n-- > 0) {
		struct rule allowed = but[n];

		allowed.nr = rule.nr;
		if (insert(rules, at, &allowed, err) < 0)
			return -1;
	}
	return 0;
}

/* For a sandbox without namespaces. */
static int refuse_shared(struct rules *rules, const struct arch *arch, struct sbx_err *err)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(shared); i++) {
		if (refuse(rules, arch, shared[i], NULL, 0, err) < 0)
			return -1;
	}
	return refuse(rules, arch, "socketpair", pairs, SBX_ARRAY_SIZE(pairs), err);
}

static int refuse_attributes(struct rules *rules, const struct arch *arch, struct sbx_err *err)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(attributes); i++) {
		if (refuse(rules, arch, attributes[i], NULL, 0, err) < 0)
			return -1;
	}
	return refuse(rules, arch, "utimensat", &own_times, 1, err);
}

/* A program, last instruction first: a place is an index here. */
struct prog {
	struct sock_filter insn[BPF_MAXINSNS];
	size_t n;
};

static size_t emit(struct prog *prog, uint16_t code, uint32_t k, size_t jt, size_t jf)
{
	if (prog->n == BPF_MAXINSNS) {
		fputs("seccomp-gen: the filter is too long\n", stderr);
		exit(1);
	}
	prog->insn[prog->n] = (struct sock_filter){code, (uint8_t)jt, (uint8_t)jf, k};
	return prog->n++;
}

/* A place from which the next instructions can go to where: itself, or a stepping stone. */
static size_t near(struct prog *prog, size_t where)
{
	if (prog->n - where < NEAR)
		return where;
	return emit(prog, BPF_JMP | BPF_JA, (uint32_t)(prog->n - 1 - where), 0, 0);
}

static size_t jump(struct prog *prog, uint16_t op, uint32_t k, size_t yes, size_t no)
{
	yes = near(prog, yes);
	no = near(prog, no);
	return emit(prog, BPF_JMP | BPF_K | op, k, prog->n - 1 - yes, prog->n - 1 - no);
}

static size_t answer(struct prog *prog, uint32_t action)
{
	for (size_t i = prog->n; i-- > 0 && prog->n - i < NEAR;) {
		if (prog->insn[i].code == (BPF_RET | BPF_K) && prog->insn[i].k == action)
			return i;
	}
	return emit(prog, BPF_RET | BPF_K, action, 0, 0);
}

/* A condition as this machine tests it. */
struct test {
	uint16_t op;
	uint32_t arg, and, k; /* what is loaded, what is left of it, what that is compared with */
	bool negated;
};

static struct test plan(const struct cond *c)
{
	bool one_bit = (c->mask & (c->mask - 1)) == 0;

	if (c->mask != FULL && c->value == 0)
		return (struct test){BPF_JSET, c->arg, FULL, c->mask, true};
	if (c->value == c->mask && one_bit)
		return (struct test){BPF_JSET, c->arg, FULL, c->mask, false};
	return (struct test){BPF_JEQ, c->arg, c->mask, c->value, false};
}

static size_t emit_test(struct prog *prog, const struct test *t, bool load, size_t yes, size_t no)
{
	size_t at =
		t->negated ? jump(prog, t->op, t->k, no, yes) : jump(prog, t->op, t->k, yes, no);

	if (load && t->and != FULL)
		at = emit(prog, BPF_ALU | BPF_AND | BPF_K, t->and, 0, 0);
	if (load)
		at = emit(prog, LD_ABS, (uint32_t)offsetof(struct seccomp_data, args[t->arg]), 0,
			  0);
	return at;
}

/* Whether the accumulator is right for t when the only condition of the rule before has not held. */
static bool is_loaded(const struct rule *before, const struct test *t)
{
	struct test b = plan(&before->cond[0]);

	return before->n == 1 && b.arg == t->arg && b.and == t->and;
}

/* Whether any of several bits gives the same answer, so that one test does for both rules. */
static bool merge(struct test *t, const struct rule *rule, const struct rule *before)
{
	struct test b = plan(&before->cond[0]);

	if (rule->n != 1 || before->n != 1 || rule->action != before->action || b.arg != t->arg ||
	    t->op != BPF_JSET || b.op != BPF_JSET || t->negated || b.negated)
		return false;
	t->k |= b.k;
	return true;
}

/* The rules of one call, in order. */
static size_t chain(struct prog *prog, const struct rule *first, size_t n, uint32_t otherwise)
{
	size_t at;

	if (first[n - 1].n == 0)
		otherwise = first[--n].action;
	at = answer(prog, otherwise);
	while (n-- > 0) {
		const struct rule *rule = &first[n];
		size_t no = at;

		at = answer(prog, rule->action);
		for (unsigned int c = rule->n; c-- > 0;) {
			struct test t = plan(&rule->cond[c]);

			while (n > 0 && merge(&t, &first[n], &first[n - 1]))
				n--;
			at = emit_test(prog, &t, c > 0 || n == 0 || !is_loaded(&first[n - 1], &t),
				       at, no);
		}
	}
	return at;
}

/* From this number on: an answer, or the chain at a place. */
struct range {
	uint32_t start, action;
	size_t chain; /* NO_CHAIN: action */
};

static size_t search(struct prog *prog, const struct range *r, size_t n)
{
	size_t yes, no;

	if (n == 1)
		return r->chain == NO_CHAIN ? answer(prog, r->action) : r->chain;
	yes = search(prog, r + n / 2, n - n / 2);
	no = search(prog, r, n / 2);
	return jump(prog, BPF_JGE, r[n / 2].start, yes, no);
}

struct ranges {
	size_t n;
	struct range v[2 * RULES_MAX + 2]; /* a rule begins and ends one, at most */
};

/* Ends the last one at next, replacing it if nothing is left of it; neighbours with one answer are one. */
static void add_range(struct ranges *r, struct range next)
{
	const struct range *last;

	if (r->n > 0 && r->v[r->n - 1].start == next.start)
		r->n--;
	last = r->n > 0 ? &r->v[r->n - 1] : NULL;
	if (!last || last->chain != NO_CHAIN || next.chain != NO_CHAIN ||
	    last->action != next.action)
		r->v[r->n++] = next;
}

static void compile(const struct rules *rules, const struct arch *arch, struct prog *prog)
{
	struct ranges r = {0};
	size_t kill, number;

	add_range(&r, (struct range){0, rules->otherwise, NO_CHAIN});
	for (size_t i = 0, end; i < rules->n; i = end) {
		const struct rule *rule = &rules->v[i];
		struct range call = {rule->nr, rule->action, NO_CHAIN};

		for (end = i + 1; has_rule(rules, end, rule->nr);)
			end++;
		if (rule->n > 0)
			call.chain = chain(prog, rule, end - i, rules->otherwise);
		add_range(&r, call);
		add_range(&r, (struct range){rule->nr + 1, rules->otherwise, NO_CHAIN});
	}
	if (arch->foreign)
		add_range(&r, (struct range){arch->foreign, SECCOMP_RET_KILL_PROCESS, NO_CHAIN});
	search(prog, r.v, r.n);
	number = emit(prog, LD_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	kill = answer(prog, SECCOMP_RET_KILL_PROCESS);
	jump(prog, BPF_JEQ, arch->audit, number, kill);
	emit(prog, LD_ABS, offsetof(struct seccomp_data, arch), 0, 0);
}

static void print(const char *name, const struct prog *prog)
{
	printf("\nstatic const struct sock_filter %s[%zu] = {\n", name, prog->n);
	for (size_t i = prog->n; i-- > 0;) {
		const struct sock_filter *f = &prog->insn[i];

		printf("\t{0x%02x, %u, %u, 0x%08x},\n", f->code, f->jt, f->jf, f->k);
	}
	puts("};");
}

static const struct arch *find_arch(const char *name)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(archs); i++) {
		if (name ? strcmp(archs[i].name, name) == 0
			 : archs[i].token == seccomp_arch_native())
			return &archs[i];
	}
	return NULL;
}

/* Reads the profile text for arch (NULL: this machine's) into *rules; what names it in messages. */
static int load(struct sbx_str text, const char *what, const struct arch *arch, struct rules *rules,
		struct sbx_err *err)
{
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;

	if (sbx_json_parse(text, what, &doc, err) < 0)
		return -1;
	return read_profile(sbx_json_root(doc), what, arch, rules, err);
}

static int generate(const char *path, const struct arch *arch, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_DOC_MAX);
	SBX_CLEANUP(rules_release) struct rules rules = {0};
	const char *slash = strrchr(path, '/'), *what = slash ? slash + 1 : path;
	static struct prog plain, one_id, bare, bare_one_id;

	if (sbx_read_file(path, &text, err) < 0 ||
	    load((struct sbx_str){sbx_buf_str(&text), text.len}, what, arch, &rules, err) < 0)
		return -1;
	compile(&rules, arch, &plain);
	if (add_guards(&rules, arch, err) < 0)
		return -1;
	compile(&rules, arch, &one_id);
	if (refuse_shared(&rules, arch, err) < 0)
		return -1;
	compile(&rules, arch, &bare);
	if (refuse_attributes(&rules, arch, err) < 0)
		return -1;
	compile(&rules, arch, &bare_one_id);
	printf("/* Made by seccomp-gen from %s for %s; not to be edited. */\n#pragma once\n\n"
	       "#include <linux/filter.h>\n",
	       what, arch->name);
	print("seccomp_filter", &plain);
	print("seccomp_filter_one_id", &one_id);
	print("seccomp_filter_bare", &bare);
	print("seccomp_filter_bare_one_id", &bare_one_id);
	if (fflush(stdout) == EOF || ferror(stdout))
		return sbx_fail_sys(err, errno, "cannot write");
	return 0;
}

int main(int argc, char **argv)
{
	const struct arch *arch = argc == 3 ? find_arch(argv[2]) : find_arch(NULL);
	struct sbx_err err = SBX_ERR_INIT;

	if (argc < 2 || argc > 3 || !arch) {
		fputs("usage: seccomp-gen PROFILE [x86_64|aarch64] >HEADER\n", stderr);
		return 2;
	}
	if (generate(argv[1], arch, &err) < 0) {
		fprintf(stderr, "seccomp-gen: %s\n", err.msg);
		return 1;
	}
	return 0;
}
