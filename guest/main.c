#include "guest/guest.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest-digest.h"

static struct guest guest;

/* The exit of process 1 ends the namespace and with it everything in it.  Descriptor 2 is /dev/null or an engine's log. */
void die(const char *why)
{
	if (!why)
		_exit(0);
	(void)!write(2, "llmsbx-guest: ", 14);
	(void)!write(2, why, strlen(why));
	(void)!write(2, "\n", 1);
	tree_end(&guest);
	_exit(1);
}

static int descriptor(const char *s)
{
	int v = 0;

	while (*s >= '0' && *s <= '9' && v < 1000)
		v = v * 10 + (*s++ - '0');
	return v;
}

/*
 * What we open must never become 0, 1 or 2: these are replaced in the program's child.  And nothing that we were started with
 * goes on to it.
 */
static void own_descriptors(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	close(fd);
	if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return;
	/* FIXME: drop once Linux 5.11 is the minimum, on gVisor as well. */
	for (fd = 3; fd < 65536; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/*
 * usage: llmsbx-guest [IN OUT [bare]], the descriptors of its channel; 0 and 1 where an engine attaches them.  bare: without
 * namespaces, it ends what is below it and not all that it can see.
 */
int main(int argc, char **argv)
{
	sigset_t all;

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "llmsbx-guest", 0, 0, 0);
	guest.bare = argc > 3 && strcmp(argv[3], "bare") == 0;
	if (guest.bare && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		die("cannot become the one that reaps");
	/* It ends all that it can see. */
	if (getpid() != 1 && !guest.bare)
		die("only as process 1 of a pid namespace");
	own_descriptors();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	(void)umask(022);
	if (argc > 2)
		guest_init(&guest, descriptor(argv[1]), descriptor(argv[2]), SBX_GUEST_DIGEST);
	else
		guest_init(&guest, 0, 1, SBX_GUEST_DIGEST);
	for (;;)
		guest_turn(&guest);
}
