/*
 * The signals that end a run: caught while it goes on, and died of in the end, so that a shell sees
 * what it expects.
 *
 * What the caller ignored before we began (nohup, a background job of a shell without job control)
 * stays ignored.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/attr.h"

struct sbx_err;

struct sbx_signals {
	int fd; /* a signalfd of INT, TERM, HUP, PIPE, and WINCH for who wants it; -1: none */
	bool pipe_ignored;
};

/*
 * Blocks them: nothing but the descriptor tells of them then.  resizes: also when the terminal
 * changes its size.
 */
int sbx_signals_open(struct sbx_signals *s, bool resizes, struct sbx_err *err) SBX_MUST_USE;

/*
 * Gives them their defaults again, so that waiting for a slow reader can be interrupted; one that
 * is pending acts now.
 */
void sbx_signals_restore(struct sbx_signals *s);

/* Ends this process by that signal, as if it had never been caught. */
void sbx_end_by_signal(int sig) SBX_NORETURN;
