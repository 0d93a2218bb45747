/*
 * refuse SYSCALL PATTERN COMMAND...: COMMAND, whose n-th call of SYSCALL (fork or pidfd_open) is refused where the n-th letter of
 * PATTERN is 'n', as a machine refuses that is full; the last letter holds for all that follow.  Its children's calls are their own.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/attr.h"

static void SBX_NORETURN die(const char *what)
{
	(void)dprintf(STDERR_FILENO, "refuse: %s failed (%d)\n", what, errno);
	exit(99);
}

/* The descriptor that is asked about each call of nr. */
static int install(unsigned int nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die("PR_SET_NO_NEW_PRIVS");
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static void send_fd(int to, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct iovec byte = {.iov_base = (char[]){"x"}, .iov_len = 1};
	struct msghdr m = {.msg_iov = &byte,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (sendmsg(to, &m, 0) != 1)
		die("sendmsg");
}

static int receive_fd(int from)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec v = {.iov_base = &byte, .iov_len = 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	int fd;

	if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m))
		exit(99); /* the child said why */
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* Until nobody is left whom it could ask about. */
static void answer(int listener, pid_t whose, const char *pattern, int error)
{
	for (;;) {
		struct seccomp_notif call = {0};
		struct seccomp_notif_resp say = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		say.id = call.id;
		if ((pid_t)call.pid == whose) {
			if (*pattern == 'n')
				say = (struct seccomp_notif_resp){.id = call.id, .error = -error};
			pattern += pattern[1] != '\0';
		}
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &say);
	}
}

int main(int argc, char **argv)
{
	int is_fork = argc > 3 && strcmp(argv[1], "fork") == 0, sockets[2], status = 0;
	pid_t child, helper;

	if (argc < 4)
		return 99;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		die("socketpair");
	child = fork();
	if (child == 0) {
		int listener = install(is_fork ? SYS_clone : SYS_pidfd_open);

		if (listener < 0)
			die("seccomp");
		send_fd(sockets[1], listener);
		(void)close(listener);
		(void)execvp(argv[3], argv + 3);
		die(argv[3]);
	}
	(void)close(sockets[1]);
	helper = fork();
	if (helper == 0) {
		answer(receive_fd(sockets[0]), child, argv[2], is_fork ? EAGAIN : EMFILE);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	(void)kill(helper, SIGKILL);
	(void)waitpid(helper, NULL, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
