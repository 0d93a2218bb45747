/* The caller's terminal while a program inside has one of its own. */
#pragma once

#include <stdbool.h>
#include <termios.h>

struct sbx_tty {
	int fd; /* -1: nothing to restore */
	struct termios saved;
};

/* Raw mode, so that keys reach the program inside as they are; nothing when fd is not a terminal. */
void sbx_tty_raw(struct sbx_tty *tty, int fd);
void sbx_tty_restore(struct sbx_tty *tty); /* safe twice, and on one that was never raw */

/* The size of the terminal at fd, else 24 by 80. */
void sbx_tty_size(int fd, unsigned int *rows, unsigned int *cols);
