/*
 * The generator is part of this program, and a filter is judged by a machine of our own: against answers written down here, and
 * against the rules of the profile, read by somebody who knows nothing of ranges and jumps.
 */
int sbx_seccomp_gen_main(int argc, char **argv);
#define main sbx_seccomp_gen_main
#include "lib/seccomp/gen.c"
#undef main

#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "t/unit/tap.h"

#include "seccomp-filter.h"

enum { BAD_PROGRAM = 0x0badbad0, MOST_CALLS = 600 };

#define KILL   SECCOMP_RET_KILL_PROCESS
#define ABSENT (SECCOMP_RET_ERRNO | ENOSYS)

static uint32_t jump_from(const struct sock_filter *f, uint32_t a)
{
	bool yes = BPF_OP(f->code) == BPF_JSET  ? (a & f->k) != 0
		   : BPF_OP(f->code) == BPF_JEQ ? a == f->k
						: a >= f->k;

	return yes ? f->jt : f->jf;
}

static uint32_t run(const struct sock_filter *f, size_t n, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < n; pc++) {
		switch (f[pc].code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (f[pc].k > sizeof(*data) - 4 || f[pc].k % 4)
				return BAD_PROGRAM;
			memcpy(&a, (const char *)data + f[pc].k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f[pc].k;
			break;
		case BPF_JMP | BPF_JA:
			pc += f[pc].k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += jump_from(&f[pc], a);
			break;
		case BPF_RET | BPF_K:
			return f[pc].k;
		default:
			return BAD_PROGRAM;
		}
	}
	return BAD_PROGRAM;
}

static const struct arch *native(void)
{
	const struct arch *arch = find_arch(NULL);

	return arch ? arch : &archs[0];
}

static uint32_t ask(const struct sock_filter *f, size_t n, uint32_t nr, uint64_t a0, uint64_t a1,
		    uint64_t a2)
{
	struct seccomp_data data = {
		.nr = (int)nr, .arch = native()->audit, .args = {a0, a1, a2, 0, 0, 0}};

	return run(f, n, &data);
}

static uint32_t plain(uint32_t nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	return ask(seccomp_filter, SBX_ARRAY_SIZE(seccomp_filter), nr, a0, a1, a2);
}

static uint32_t one_id(uint32_t nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	return ask(seccomp_filter_one_id, SBX_ARRAY_SIZE(seccomp_filter_one_id), nr, a0, a1, a2);
}

/* Both filters give this answer. */
#define ok_both(want, nr, a0, a1, a2)                           \
	do {                                                    \
		ok_int(plain((nr), (a0), (a1), (a2)), (want));  \
		ok_int(one_id((nr), (a0), (a1), (a2)), (want)); \
	} while (0)

#define HIGH (1ULL << 32) /* the kernel does not see it in an int */

static const uint32_t allowed[] = {SYS_read,
				   SYS_write,
				   SYS_openat,
				   SYS_openat2,
				   SYS_close_range,
				   SYS_faccessat2,
				   SYS_statx,
				   SYS_futex,
				   SYS_rseq,
				   SYS_membarrier,
				   SYS_memfd_create,
				   SYS_epoll_create1,
				   SYS_eventfd2,
				   SYS_timerfd_create,
				   SYS_inotify_init1,
				   SYS_copy_file_range,
				   SYS_splice,
				   SYS_tee,
				   SYS_waitid,
				   SYS_flock,
				   SYS_mlock,
				   SYS_mlock2,
				   SYS_getrandom,
				   SYS_prctl,
				   SYS_seccomp,
				   SYS_execve,
				   SYS_landlock_create_ruleset,
				   SYS_sched_getaffinity,
				   SYS_sched_yield,
				   SYS_shmget,
				   SYS_pidfd_send_signal,
				   SYS_exit_group,
				   SYS_setresuid,
				   SYS_capset};
static const uint32_t denied[] = {SYS_bpf,
				  SYS_perf_event_open,
				  SYS_userfaultfd,
				  SYS_io_uring_setup,
				  SYS_io_uring_enter,
				  SYS_keyctl,
				  SYS_add_key,
				  SYS_request_key,
				  SYS_ptrace,
				  SYS_process_vm_readv,
				  SYS_process_vm_writev,
				  SYS_pidfd_getfd,
				  SYS_kcmp,
				  SYS_process_madvise,
				  SYS_init_module,
				  SYS_finit_module,
				  SYS_delete_module,
				  SYS_kexec_load,
				  SYS_clock_settime,
				  SYS_settimeofday,
				  SYS_adjtimex,
				  SYS_reboot,
				  SYS_swapon,
				  SYS_acct,
				  SYS_quotactl,
				  SYS_syslog,
				  SYS_vhangup,
				  SYS_lookup_dcookie,
				  SYS_mbind,
				  SYS_set_mempolicy,
				  SYS_move_pages,
				  SYS_migrate_pages,
				  SYS_vmsplice,
				  SYS_fanotify_init,
				  SYS_mlockall,
				  SYS_mount,
				  SYS_umount2,
				  SYS_fsopen,
				  SYS_open_tree,
				  SYS_move_mount,
				  SYS_mount_setattr,
				  SYS_fsmount,
				  SYS_pivot_root,
				  SYS_chroot,
				  SYS_name_to_handle_at,
				  SYS_open_by_handle_at,
				  SYS_unshare,
				  SYS_setns,
				  SYS_sethostname,
				  SYS_setdomainname,
				  SYS_mq_open,
				  SYS_ioprio_set,
				  SYS_sched_setattr};
static const uint32_t absent[] = {SYS_clone3, SYS_sync, SYS_io_setup, 457 /* statmount */, 1000};

TEST(calls)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(allowed); i++)
		ok_both(ALLOW, allowed[i], 7, 7, 7);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(denied); i++)
		ok_both(DENY, denied[i], 7, 7, 7);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(absent); i++)
		ok_both(ABSENT, absent[i], 7, 7, 7);
}

TEST(clone)
{
	ok_both(ALLOW, SYS_clone, SIGCHLD, 0, 0);
	ok_both(ALLOW, SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_SETTLS, 0, 0);
	ok_both(DENY, SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0);
	ok_both(DENY, SYS_clone, CLONE_NEWNS | SIGCHLD, 0, 0);
	ok_both(DENY, SYS_clone, CLONE_NEWCGROUP | SIGCHLD, 0, 0);
	ok_both(DENY, SYS_clone, CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID, 0, 0);
	ok_both(DENY, SYS_clone, HIGH | CLONE_NEWNET, 0, 0);
}

TEST(sockets)
{
	ok_both(ALLOW, SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	ok_both(ALLOW, SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		IPPROTO_TCP);
	ok_both(ALLOW, SYS_socket, AF_INET6, SOCK_STREAM, 0);
	ok_both(ALLOW, SYS_socket, AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP);
	ok_both(ALLOW, SYS_socket, AF_INET, SOCK_DGRAM, 0);
	ok_both(ALLOW, SYS_socket, HIGH | AF_INET, HIGH | SOCK_DGRAM, HIGH);
	ok_both(ALLOW, SYS_socket, AF_NETLINK, SOCK_RAW, 0);
	ok_both(ABSENT, SYS_socket, AF_NETLINK, SOCK_RAW, 15); /* KOBJECT_UEVENT */
	ok_both(ABSENT, SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP);
	ok_both(ABSENT, SYS_socket, AF_INET6, SOCK_RAW, 0);
	ok_both(ABSENT, SYS_socket, AF_INET, SOCK_PACKET, 0);
	ok_both(ABSENT, SYS_socket, AF_INET, SOCK_STREAM, IPPROTO_SCTP);
	for (uint64_t family = 0; family < 64; family++) {
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6 &&
		    family != AF_NETLINK)
			ok_both(ABSENT, SYS_socket, family, SOCK_STREAM, 0);
		if (family != AF_UNIX)
			ok_both(ABSENT, SYS_socketpair, family, SOCK_STREAM, 0);
	}
	ok_both(ABSENT, SYS_socket, HIGH | AF_VSOCK, SOCK_STREAM, 0);
	ok_both(ALLOW, SYS_socketpair, AF_UNIX, SOCK_SEQPACKET, 0);
}

TEST(terminals)
{
	ok_both(ABSENT, SYS_ioctl, 0, TIOCSTI, 0);
	ok_both(ABSENT, SYS_ioctl, 0, HIGH | TIOCSTI, 0);
	ok_both(ABSENT, SYS_ioctl, 0, 0xffffffff00000000 | TIOCSTI, 0);
	ok_both(ABSENT, SYS_ioctl, 0, TIOCLINUX, 0);
	ok_both(ABSENT, SYS_ioctl, 0, HIGH << 31 | TIOCLINUX, 0);
	for (uint64_t request = 0; request < 0x10000; request++) {
		if (request != TIOCSTI && request != TIOCLINUX &&
		    plain(SYS_ioctl, 0, request, 0) != ALLOW)
			ok_int(request, -1);
	}
	for (int bit = 0; bit < 32; bit++)
		ok_both(ALLOW, SYS_ioctl, 0, TIOCSTI ^ 1U << bit, 0);
}

TEST(nodes)
{
	ok_both(ALLOW, SYS_mknodat, 0, 0, 0600);
	ok_both(ALLOW, SYS_mknodat, 0, 0, S_IFREG | 0600);
	ok_both(ALLOW, SYS_mknodat, 0, 0, S_IFIFO | 0600);
	ok_both(DENY, SYS_mknodat, 0, 0, S_IFCHR | 0600);
	ok_both(DENY, SYS_mknodat, 0, 0, S_IFBLK | 0600);
	ok_both(DENY, SYS_mknodat, 0, 0, HIGH | S_IFBLK | 0600);
	ok_both(ABSENT, SYS_mknodat, 0, 0, S_IFSOCK | 0600);
#ifdef SYS_mknod
	ok_both(ALLOW, SYS_mknod, 0, S_IFIFO | 0600, 0);
	ok_both(DENY, SYS_mknod, 0, S_IFCHR | 0600, 0);
#endif
	ok_both(ALLOW, SYS_personality, 0xffffffff, 0, 0);
	ok_both(ABSENT, SYS_personality, 0x0040000 /* ADDR_NO_RANDOMIZE */, 0, 0);
	ok_both(ABSENT, SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */, 0, 0);
}

/* With an id of its own the program may ask: the kernel answers.  With the guest's id the filter has to. */
TEST(guest)
{
	static const uint32_t by_pid[] = {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setparam,
					  SYS_sched_setscheduler};
	static const uint32_t signals[] = {
		SYS_kill,      SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
		SYS_pidfd_open};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(by_pid); i++) {
		ok_both(ALLOW, by_pid[i], 0, 0, 0);
		ok_int(plain(by_pid[i], 1, 0, 0), ALLOW);
		ok_int(one_id(by_pid[i], 1, 0, 0), DENY);
		ok_int(one_id(by_pid[i], HIGH | 1, 0, 0), DENY);
		ok_int(one_id(by_pid[i], 1U << 31, 0, 0), DENY);
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(signals); i++) {
		ok_both(ALLOW, signals[i], 2, 2, 0);
		ok_int(plain(signals[i], 1, 1, 0), ALLOW);
		ok_int(one_id(signals[i], 1, 2, 0), DENY);
		ok_int(one_id(signals[i], HIGH | 1, 2, 0), DENY);
	}
	ok_int(one_id(SYS_tgkill, 2, 1, 0), DENY);
	ok_int(one_id(SYS_rt_tgsigqueueinfo, 2, HIGH | 1, 0), DENY);
	ok_both(ALLOW, SYS_kill, (uint64_t)-1, 9, 0); /* the kernel spares process 1 */
	ok_both(ALLOW, SYS_setpriority, PRIO_PROCESS, 0, 5);
	ok_int(one_id(SYS_setpriority, PRIO_PROCESS, 1, 5), DENY);
	ok_int(one_id(SYS_setpriority, PRIO_PGRP, 0, 5), DENY);
	ok_int(one_id(SYS_setpriority, PRIO_USER, 0, 5), DENY);
	ok_int(one_id(SYS_fcntl, 3, F_SETSIG, 5), DENY);
	ok_both(ALLOW, SYS_fcntl, 3, F_SETFL, 5);
}

TEST(foreign_abi)
{
	struct seccomp_data data = {.nr = SYS_getpid, .arch = AUDIT_ARCH_I386};

	ok_int(run(seccomp_filter, SBX_ARRAY_SIZE(seccomp_filter), &data), KILL);
	ok_int(run(seccomp_filter_one_id, SBX_ARRAY_SIZE(seccomp_filter_one_id), &data), KILL);
	data.arch = 0;
	ok_int(run(seccomp_filter, SBX_ARRAY_SIZE(seccomp_filter), &data), KILL);
	if (native()->foreign) {
		ok_both(KILL, NR_X32, 0, 0, 0);
		ok_both(KILL, NR_X32 | SYS_getpid, 0, 0, 0);
		ok_both(KILL, UINT32_MAX, 0, 0, 0);
		ok_both(ABSENT, NR_X32 - 1, 0, 0, 0);
	}
}

static bool holds(const struct rule *rule, const struct seccomp_data *data)
{
	for (unsigned int i = 0; i < rule->n; i++) {
		if (((uint32_t)data->args[rule->cond[i].arg] & rule->cond[i].mask) !=
		    rule->cond[i].value)
			return false;
	}
	return true;
}

static uint32_t judge(const struct rules *rules, const struct seccomp_data *data)
{
	for (size_t i = find(rules, (uint32_t)data->nr); has_rule(rules, i, (uint32_t)data->nr);
	     i++) {
		if (holds(&rules->v[i], data))
			return rules->v[i].action;
	}
	return rules->otherwise;
}

/* An OCI runtime may try the rules of a call in any order. */
static bool is_contradicted(const struct rules *rules, const struct seccomp_data *data)
{
	uint32_t action = judge(rules, data);

	for (size_t i = find(rules, (uint32_t)data->nr); has_rule(rules, i, (uint32_t)data->nr);
	     i++) {
		if (holds(&rules->v[i], data) && rules->v[i].action != action)
			return true;
	}
	return false;
}

static uint64_t noise(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

/* Arguments that meet a rule's conditions, whole or but for one bit. */
static void compare(const struct rules *rules, const struct prog *prog, const struct arch *arch,
		    const struct rule *rule, bool ordered)
{
	struct sock_filter insn[BPF_MAXINSNS];

	for (size_t i = 0; i < prog->n; i++)
		insn[i] = prog->insn[prog->n - 1 - i];
	for (int bit = -1; bit < 64; bit++) {
		struct seccomp_data data = {.nr = (int)rule->nr, .arch = arch->audit};

		for (int i = 0; i < ARGS; i++)
			data.args[i] = noise();
		for (unsigned int i = 0; i < rule->n; i++) {
			const struct cond *c = &rule->cond[i];

			data.args[c->arg] = (noise() & ~(uint64_t)c->mask) | c->value;
		}
		if (bit >= 0 && rule->n > 0)
			data.args[rule->cond[noise() % rule->n].arg] ^= 1ULL << bit;
		ok_int(run(insn, prog->n, &data), judge(rules, &data));
		ok(!ordered || !is_contradicted(rules, &data));
	}
}

static int load_shipped(const struct arch *arch, struct rules *rules, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_DOC_MAX);
	const char *share = getenv("SBX_SHARE");
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/seccomp/default.json", share ? share : "share");
	if (sbx_read_file(path, &text, err) < 0)
		return -1;
	return load((struct sbx_str){sbx_buf_str(&text), text.len}, path, arch, rules, err);
}

static void compare_all(const struct rules *rules, const struct arch *arch, bool ordered)
{
	struct prog prog = {.n = 0};

	compile(rules, arch, &prog);
	ok(prog.n < 300); /* a filter that costs more to install than it should */
	for (size_t i = 0; i < rules->n; i++)
		compare(rules, &prog, arch, &rules->v[i], ordered);
	for (uint32_t nr = 0; nr < MOST_CALLS; nr++)
		compare(rules, &prog, arch, &(struct rule){.nr = nr}, ordered);
}

TEST(profile)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(archs); i++) {
		SBX_CLEANUP(rules_release) struct rules rules = {0};

		if (!ok_call(load_shipped(&archs[i], &rules, err)))
			return;
		ok(rules.n > 300);
		compare_all(&rules, &archs[i], true);
		ok_call(add_guards(&rules, &archs[i], err));
		compare_all(&rules, &archs[i], false);
	}
}

/* What is compiled into the guest is what the profile says now. */
TEST(header)
{
	SBX_CLEANUP(rules_release) struct rules rules = {0};
	struct prog prog = {.n = 0};

	if (!ok_call(load_shipped(native(), &rules, err)))
		return;
	compile(&rules, native(), &prog);
	ok_int(prog.n, SBX_ARRAY_SIZE(seccomp_filter));
	for (size_t i = 0; i < prog.n && prog.n == SBX_ARRAY_SIZE(seccomp_filter); i++)
		ok_mem(&prog.insn[prog.n - 1 - i], sizeof(prog.insn[0]), &seccomp_filter[i],
		       sizeof(seccomp_filter[i]));
}

#define PROFILE(syscalls)                                                                 \
	"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"architectures\":[\"SCMP_ARCH_X86_64\"]," \
	"\"syscalls\":[" syscalls "]}"
#define RULE(name, more) "{\"names\":[\"" name "\"],\"action\":\"SCMP_ACT_ALLOW\"" more "}"
#define COND(index, mask, value, op) \
	"{\"index\":" #index ",\"value\":" #mask ",\"valueTwo\":" #value ",\"op\":\"" op "\"}"
#define ARG(mask, value) ",\"args\":[" COND(1, mask, value, "SCMP_CMP_MASKED_EQ") "]"

static int try(const char *text, const struct arch *arch, struct sbx_err *err)
{
	SBX_CLEANUP(rules_release) struct rules rules = {0};

	return load(sbx_str_of(text), "p.json", arch, &rules, err);
}

static const struct {
	const char *text, *words;
} bad[] = {
	{PROFILE(RULE("ioctl", "") "," RULE("ioctl", ARG(255, 3))), "p.json: syscalls[1]: 'ioctl'"},
	{PROFILE(RULE("ioctl", ARG(255, 3)) "," RULE("ioctl", "")), "swallows"},
	{PROFILE(RULE("read", "") "," RULE("read", "")), "syscalls[1]: 'read'"},
	{PROFILE(RULE("reed", "")), "p.json: syscalls[0]: there is no system call 'reed'"},
	{PROFILE(RULE("read", ",\"excludes\":{}")), "excludes"},
	{PROFILE(RULE("read", ",\"args\":[]")), "1 to 6 conditions"},
	{PROFILE(RULE("read", ",\"args\":{}")), "1 to 6 conditions"},
	{PROFILE(RULE("read", ",\"args\":[" COND(0, 1, 1, "SCMP_CMP_EQ") "]")), "MASKED_EQ"},
	{PROFILE(RULE("read", ",\"args\":[" COND(6, 1, 1, "SCMP_CMP_MASKED_EQ") "]")),
	 "never hold"},
	{PROFILE(RULE("read", ARG(1, 2))), "never hold"},
	{PROFILE(RULE("read", ARG(4294967296, 0))), "32 bits"},
	{PROFILE("{\"names\":[\"read\"],\"action\":\"SCMP_ACT_LOG\"}"), "SCMP_ACT_LOG"},
	{PROFILE("{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":0}"),
	 "error number"},
	{PROFILE("{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":4096}"), "4096"},
	{PROFILE("{\"action\":\"SCMP_ACT_ALLOW\"}"), "names"},
	{"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"architectures\":[],\"syscalls\":[]}",
	 "ARCH_X86_64"},
	{"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"architectures\":[\"SCMP_ARCH_X86_64\"],"
	 "\"syscalls\":{}}",
	 "must be an array"},
	{"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"archMap\":[]}", "archMap"},
};

TEST(lint)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++)
		ok_fail(try(bad[i].text, &archs[0], err), SBX_E_INVALID, bad[i].words);
	ok_fail(try(PROFILE(","), &archs[0], err), SBX_E_INVALID, "p.json");
	ok_call(try(PROFILE(RULE("read", ARG(255, 3)) "," RULE("read", ARG(255, 4))), &archs[0],
		    err));
}

/* Each architecture lacks calls that another has. */
TEST(other_architecture)
{
	static const char text[] =
		"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"architectures\":[\"SCMP_ARCH_AARCH64\"],"
		"\"syscalls\":["
		"{\"names\":[\"open\",\"openat\"],\"action\":\"SCMP_ACT_ALLOW\"}]}";
	SBX_CLEANUP(rules_release) struct rules rules = {0};

	ok_fail(try(text, &archs[0], err), SBX_E_INVALID, "SCMP_ARCH_X86_64 is not among them");
	ok_call(load(sbx_str_of(text), "p.json", &archs[1], &rules, err));
	if (ok_int(rules.n, 1))
		ok_int(rules.v[0].nr, 56);
}

TAP_MAIN(RUN(calls), RUN(clone), RUN(sockets), RUN(terminals), RUN(nodes), RUN(guest),
	 RUN(foreign_abi), RUN(profile), RUN(header), RUN(lint), RUN(other_architecture))
