/* sigio: makes process 1 the owner of a pipe and lets the kernel signal it, which no filter and no id forbids with one id. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || fcntl(pair[0], F_SETOWN, 1) < 0 ||
	    fcntl(pair[0], F_SETFL, O_ASYNC) < 0 || write(pair[1], "x", 1) != 1) {
		fputs("sigio: cannot\n", stderr);
		return 1;
	}
	return 0;
}
