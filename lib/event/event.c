#include "lib/event/event.h"

#include <assert.h>
#include <signal.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/event/sinks.h"

enum { STATUS_TIME = 124, STATUS_OURS = 125, STATUS_DENIED = 126, STATUS_SIGNAL = 128 };

/* Real-time signals begin at 34 for whoever asks `kill -l`: the C library keeps 32 and 33 for itself. */
static const char *const signals[] = {
	[SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",
	[SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL",
	[SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT",
	[SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
	[SIGKILL] = "SIGKILL", [SIGUSR1] = "SIGUSR1",
	[SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
	[SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM",
	[SIGTERM] = "SIGTERM", [SIGSTKFLT] = "SIGSTKFLT",
	[SIGCHLD] = "SIGCHLD", [SIGCONT] = "SIGCONT",
	[SIGSTOP] = "SIGSTOP", [SIGTSTP] = "SIGTSTP",
	[SIGTTIN] = "SIGTTIN", [SIGTTOU] = "SIGTTOU",
	[SIGURG] = "SIGURG",   [SIGXCPU] = "SIGXCPU",
	[SIGXFSZ] = "SIGXFSZ", [SIGVTALRM] = "SIGVTALRM",
	[SIGPROF] = "SIGPROF", [SIGWINCH] = "SIGWINCH",
	[SIGIO] = "SIGIO",     [SIGPWR] = "SIGPWR",
	[SIGSYS] = "SIGSYS",   [32] = "SIG32",
	[33] = "SIG33",        [34] = "SIGRTMIN",
	[35] = "SIGRTMIN+1",   [36] = "SIGRTMIN+2",
	[37] = "SIGRTMIN+3",   [38] = "SIGRTMIN+4",
	[39] = "SIGRTMIN+5",   [40] = "SIGRTMIN+6",
	[41] = "SIGRTMIN+7",   [42] = "SIGRTMIN+8",
	[43] = "SIGRTMIN+9",   [44] = "SIGRTMIN+10",
	[45] = "SIGRTMIN+11",  [46] = "SIGRTMIN+12",
	[47] = "SIGRTMIN+13",  [48] = "SIGRTMIN+14",
	[49] = "SIGRTMIN+15",  [50] = "SIGRTMIN+16",
	[51] = "SIGRTMIN+17",  [52] = "SIGRTMIN+18",
	[53] = "SIGRTMIN+19",  [54] = "SIGRTMIN+20",
	[55] = "SIGRTMIN+21",  [56] = "SIGRTMIN+22",
	[57] = "SIGRTMIN+23",  [58] = "SIGRTMIN+24",
	[59] = "SIGRTMIN+25",  [60] = "SIGRTMIN+26",
	[61] = "SIGRTMIN+27",  [62] = "SIGRTMIN+28",
	[63] = "SIGRTMIN+29",  [64] = "SIGRTMIN+30",
};

static const char *const outcomes[] = {
#define SBX_OUTCOME(sym, name) [SBX_OUT_##sym] = (name),
#include "lib/event/outcome.def"
#undef SBX_OUTCOME
};

const char *sbx_outcome_name(enum sbx_outcome outcome)
{
	return outcomes[outcome];
}

const char *sbx_signal_name(int sig)
{
	if (sig < 1 || sig >= (int)SBX_ARRAY_SIZE(signals) || !signals[sig])
		return "unknown";
	return signals[sig];
}

static int signal_status(const struct sbx_ev_end *end)
{
	return end->signal > 0 ? STATUS_SIGNAL + end->signal : STATUS_OURS;
}

/* Nothing was started: 126 and 127 say why as a shell does, all else is 125; a deadline of ours is not the program's. */
static int failed_status(const struct sbx_err *error)
{
	if (error && (error->code == SBX_E_NOT_EXECUTABLE || error->code == SBX_E_NOT_FOUND))
		return sbx_code_exit(error->code);
	return STATUS_OURS;
}

/* The compiler's; but a program that never ran must not look like success. */
static int compile_status(const struct sbx_ev_end *end)
{
	if (end->has_exit_code && (end->exit_code & 0xff))
		return end->exit_code & 0xff;
	return signal_status(end);
}

int sbx_end_status(const struct sbx_ev_end *end)
{
	switch (end->outcome) {
	case SBX_OUT_EXITED:
		return end->has_exit_code ? end->exit_code & 0xff : STATUS_OURS;
	case SBX_OUT_SIGNALED:
	case SBX_OUT_CANCELLED:
		return signal_status(end);
	case SBX_OUT_TIMEOUT:
	case SBX_OUT_CPU_TIMEOUT:
		return STATUS_TIME;
	case SBX_OUT_OOM:
	case SBX_OUT_DISK:
	case SBX_OUT_OUTPUT:
		return STATUS_SIGNAL + SIGKILL;
	case SBX_OUT_DENIED:
		return STATUS_DENIED;
	case SBX_OUT_COMPILE_FAILED:
		return compile_status(end);
	case SBX_OUT_FAILED:
		return failed_status(end->error);
	case SBX_OUT_INSTALL_FAILED:
	case SBX_OUT_LOST:
	case SBX_OUTCOME_COUNT_:
		break;
	}
	return STATUS_OURS;
}

int sbx_emit(struct sbx_emitter *em, struct sbx_event *ev, struct sbx_err *err)
{
	assert(!em->ended);
	em->ended = ev->type == SBX_EV_END;
	ev->id = em->id;
	ev->seq = em->seq++;
	ev->t_ns = sbx_now_ns() - em->start_ns;
	return em->sink->ops->put(em->sink, ev, err);
}

void sbx_sink_free(struct sbx_sink *sink)
{
	if (sink)
		sink->ops->free(sink);
}
