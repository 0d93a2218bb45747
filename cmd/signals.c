#include "cmd/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/fd.h"

static bool is_ignored(int sig)
{
	struct sigaction now;

	return sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGWINCH};

int sbx_signals_open(struct sbx_signals *s, bool resizes, struct sbx_err *err)
{
	sigset_t set;

	s->pipe_ignored = is_ignored(SIGPIPE);
	(void)sigemptyset(&set);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(caught); i++) {
		/* A blocked signal is queued even when it is ignored: it must not be in the set. */
		if (!is_ignored(caught[i]) && (resizes || caught[i] != SIGWINCH))
			(void)sigaddset(&set, caught[i]);
	}
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return sbx_fail_sys(err, errno, "cannot watch for signals");
	return 0;
}

void sbx_signals_restore(struct sbx_signals *s)
{
	sigset_t set;

	sbx_closep(&s->fd);
	(void)sigemptyset(&set);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(caught); i++)
		(void)sigaddset(&set, caught[i]);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void sbx_end_by_signal(int sig)
{
	sigset_t set;

	(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, sig);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(sig);
	_exit(128 + sig); /* not reached: the default of those we catch is to die */
}
