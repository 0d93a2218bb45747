#include "lib/proc/tty.h"

#include <sys/ioctl.h>

void sbx_tty_raw(struct sbx_tty *tty, int fd)
{
	struct termios raw;

	tty->fd = -1;
	if (tcgetattr(fd, &tty->saved) != 0)
		return;
	raw = tty->saved;
	cfmakeraw(&raw);
	if (tcsetattr(fd, TCSADRAIN, &raw) == 0)
		tty->fd = fd;
}

void sbx_tty_restore(struct sbx_tty *tty)
{
	if (tty->fd >= 0)
		(void)tcsetattr(tty->fd, TCSADRAIN, &tty->saved);
	tty->fd = -1;
}

void sbx_tty_size(int fd, unsigned int *rows, unsigned int *cols)
{
	struct winsize size;
	bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;

	*rows = known ? size.ws_row : 24;
	*cols = known ? size.ws_col : 80;
}
