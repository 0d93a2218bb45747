/*
 * SC: the kernel's surface.  Each call has arguments that the kernel refuses with an error of its
 * own (EFAULT, EBADF, EINVAL, ESRCH) as soon as it looks at them: that error means that the call was
 * reached.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
enum { SYS_STATMOUNT = 457, SYS_LISTMOUNT = 458, SYS_NOTHING = 1000 };

static void sc01(struct attack *a)
{
	must_fail(a, "bpf", syscall(SYS_bpf, 0, BAD, 8));
	must_fail(a, "bpf(PROG_LOAD)", syscall(SYS_bpf, 5, BAD, 128));
}

static void sc02(struct attack *a)
{
	must_fail(a, "perf_event_open", syscall(SYS_perf_event_open, BAD, 0, -1, -1, 0));
}

static void sc03(struct attack *a)
{
	must_fail(a, "userfaultfd", syscall(SYS_userfaultfd, -1));
	must_not_open(a, "/dev/userfaultfd", O_RDWR);
}

static void sc04(struct attack *a)
{
	must_fail(a, "io_uring_setup", syscall(SYS_io_uring_setup, 1, BAD));
	must_fail(a, "io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
	must_fail(a, "io_uring_register", syscall(SYS_io_uring_register, -1, 0, BAD, 0));
	must_fail(a, "io_setup", syscall(SYS_io_setup, 1, BAD));
}

static void sc05(struct attack *a)
{
	must_fail(a, "keyctl", syscall(SYS_keyctl, 0, -3, 0));
	must_fail(a, "add_key", syscall(SYS_add_key, BAD, BAD, BAD, 0, -3));
	must_fail(a, "request_key", syscall(SYS_request_key, BAD, BAD, NULL, 0));
}

static void sc06(struct attack *a)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {BAD, 1};

	must_fail(a, "ptrace", syscall(SYS_ptrace, 16 /* ATTACH */, -1, 0, 0));
	must_fail(a, "process_vm_readv",
		  syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0));
	must_fail(a, "process_vm_writev",
		  syscall(SYS_process_vm_writev, getpid(), &here, 1, &there, 1, 0));
	must_fail(a, "pidfd_getfd", syscall(SYS_pidfd_getfd, -1, -1, 0));
	must_fail(a, "kcmp", syscall(SYS_kcmp, -1, -1, 0, 0, 0));
	must_fail(a, "process_madvise", syscall(SYS_process_madvise, -1, &here, 1, 20, 0));
}

static void sc07(struct attack *a)
{
	must_fail(a, "init_module", syscall(SYS_init_module, BAD, 0, BAD));
	must_fail(a, "finit_module", syscall(SYS_finit_module, -1, BAD, 0));
	must_fail(a, "delete_module", syscall(SYS_delete_module, BAD, 0));
	must_fail(a, "kexec_load", syscall(SYS_kexec_load, 0, 0, BAD, 0));
#ifdef SYS_kexec_file_load
	must_fail(a, "kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, BAD, 0));
#endif
}

static void try_socket(struct attack *a, const char *what, const int kind[3])
{
	int fd = socket(kind[0], kind[1] | SOCK_CLOEXEC, kind[2]);

	must_fail(a, what, fd);
	if (fd >= 0)
		close(fd);
}

static void sc08(struct attack *a)
{
	static const struct {
		const char *name;
		int kind[3];
	} sockets[] = {
		{"AF_VSOCK", {40, SOCK_STREAM, 0}},
		{"AF_ALG", {38, SOCK_SEQPACKET, 0}},
		{"AF_PACKET", {17, SOCK_RAW, 0}},
		{"AF_KEY", {15, SOCK_RAW, 2}},
		{"AF_RDS", {21, SOCK_SEQPACKET, 0}},
		{"AF_XDP", {44, SOCK_RAW, 0}},
		{"AF_TIPC", {30, SOCK_DGRAM, 0}},
		{"AF_CAN", {29, SOCK_RAW, 1}},
		{"AF_BLUETOOTH", {31, SOCK_RAW, 1}},
		{"AF_NFC", {39, SOCK_SEQPACKET, 0}},
		{"AF_SMC", {43, SOCK_STREAM, 0}},
		{"NETLINK_NETFILTER", {16, SOCK_RAW, 12}},
		{"NETLINK_AUDIT", {16, SOCK_RAW, 9}},
		{"NETLINK_KOBJECT_UEVENT", {16, SOCK_RAW, 15}},
		{"NETLINK_CRYPTO", {16, SOCK_RAW, 21}},
		{"NETLINK_SOCK_DIAG", {16, SOCK_RAW, 4}},
	};

	for (size_t i = 0; i < LENGTH(sockets); i++)
		try_socket(a, sockets[i].name, sockets[i].kind);
}

static void sc09(struct attack *a)
{
	static const int raw[][3] = {
		{AF_INET, SOCK_RAW, 1}, {AF_INET6, SOCK_RAW, 58}, {AF_INET, SOCK_RAW, 255}};

	for (size_t i = 0; i < LENGTH(raw); i++)
		try_socket(a, "a raw socket", raw[i]);
}

/* ---- other tables of system calls */

#ifdef __x86_64__
static void by_int80(void *arg)
{
	struct attack *a = arg;
	long rc = 20; /* getpid of the 32-bit table */

	__asm__ volatile("int $0x80" : "+a"(rc) : : "memory", "r8", "r9", "r10", "r11");
	if (rc > 0)
		say(a, REACHED, "int $0x80 ran a call");
	else
		say(a, REFUSED, "%s", error_name((int)-rc));
}

static void by_x32(void *arg)
{
	must_fail(arg, "x32 getpid", syscall(0x40000000 | SYS_getpid));
}
#endif

static void sc10(struct attack *a)
{
#ifdef __x86_64__
	static void (*const tries[])(void *) = {by_int80, by_x32};

	for (size_t i = 0; i < LENGTH(tries); i++) {
		int status = in_child(tries[i], a, 2000);

		if (status < 0)
			say(a, UNKNOWN, "no child");
		else if (WIFSIGNALED(status))
			say(a, KILLED, "SIG%s", sigabbrev_np(WTERMSIG(status)));
	}
#else
	say(a, ABSENT, "this architecture has one table");
#endif
}

static void sc11(struct attack *a)
{
	must_fail(a, "clock_settime", syscall(SYS_clock_settime, 0, BAD));
	must_fail(a, "settimeofday", syscall(SYS_settimeofday, BAD, NULL));
	must_fail(a, "adjtimex", syscall(SYS_adjtimex, BAD));
	must_fail(a, "clock_adjtime", syscall(SYS_clock_adjtime, 0, BAD));
}

static void sc12(struct attack *a)
{
	must_fail(a, "reboot", syscall(SYS_reboot, 1, 2, 3, NULL));
	must_fail(a, "swapon", syscall(SYS_swapon, BAD, 0));
	must_fail(a, "acct", syscall(SYS_acct, BAD));
	must_fail(a, "quotactl", syscall(SYS_quotactl, -1, BAD, 0, BAD));
	must_fail(a, "syslog", syscall(SYS_syslog, 3, BAD, 1));
	must_fail(a, "vhangup", syscall(SYS_vhangup));
	must_fail(a, "lookup_dcookie", syscall(SYS_lookup_dcookie, 0, BAD, 0));
#ifdef SYS_iopl
	must_fail(a, "iopl", syscall(SYS_iopl, 99));
	must_fail(a, "ioperm", syscall(SYS_ioperm, 0x1000000, 1, 1));
#endif
}

static void sc13(struct attack *a)
{
	must_fail(a, "mbind", syscall(SYS_mbind, BAD, 1, 99, BAD, 1, 0));
	must_fail(a, "set_mempolicy", syscall(SYS_set_mempolicy, 99, BAD, 1));
	must_fail(a, "move_pages", syscall(SYS_move_pages, -1, 1, BAD, BAD, BAD, 0));
	must_fail(a, "migrate_pages", syscall(SYS_migrate_pages, -1, 1, BAD, BAD));
}

static void sc14(struct attack *a)
{
	must_fail(a, "memfd_secret", syscall(SYS_memfd_secret, -1));
	must_fail(a, "vmsplice", syscall(SYS_vmsplice, -1, BAD, 1, 0));
	must_fail(a, "fanotify_init", syscall(SYS_fanotify_init, -1, 0));
	must_fail(a, "mlockall", syscall(SYS_mlockall, 99));
	must_fail(a, "remap_file_pages", syscall(SYS_remap_file_pages, BAD, 0, 0, 0, 0));
#ifdef SYS_modify_ldt
	must_fail(a, "modify_ldt", syscall(SYS_modify_ldt, 99, BAD, 0));
#endif
}

/* A libc falls back from ENOSYS only. */
static void sc15(struct attack *a)
{
	static const long calls[] = {SYS_NOTHING, SYS_STATMOUNT, SYS_LISTMOUNT};

	for (size_t i = 0; i < LENGTH(calls); i++) {
		long rc = syscall(calls[i], BAD, 0, 0, 0);

		must_hold(a, rc < 0 && errno == ENOSYS, "ENOSYS for what is not known");
	}
}

static void sc16(struct attack *a)
{
	int word = 0, fd[4];
	struct {
		unsigned short len;
		const void *filter;
	} none = {0, NULL};

	must_work(a, syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0, "futex");
	must_work(a, (fd[0] = epoll_create1(EPOLL_CLOEXEC)) >= 0, "epoll");
	must_work(a, (fd[1] = eventfd(0, EFD_CLOEXEC)) >= 0, "eventfd");
	must_work(a, (fd[2] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) >= 0, "timerfd");
	must_work(a, (fd[3] = memfd_create("x", MFD_CLOEXEC)) >= 0, "memfd_create");
	/* An empty filter is EINVAL: the call was reached, as it should be. */
	must_work(a, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &none) < 0 && errno == EINVAL,
		  "seccomp");
	must_work(a,
		  syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >
				  0 ||
			  errno == ENOSYS || errno == EOPNOTSUPP,
		  "landlock");
	for (size_t i = 0; i < LENGTH(fd); i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

const struct probe sc_probes[] = {
	{"SC01", sc01},
	{"SC02", sc02},
	{"SC03", sc03},
	{"SC04", sc04},
	{"SC05", sc05},
	{"SC06", sc06},
	{"SC07", sc07},
	{"SC08", sc08},
	{"SC09", sc09},
	{"SC10", sc10},
	{"SC11", sc11},
	{"SC12", sc12},
	{"SC13", sc13},
	{"SC14", sc14},
	{"SC15", sc15},
	{"SC16", sc16},
	{0},
};
