#include "attack/attack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void sleep_ms(unsigned int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

int in_child(void (*fn)(void *), void *arg, unsigned int ms)
{
	uint64_t deadline = now_ms() + ms;
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -1;
	if (pid == 0) {
		fn(arg);
		_exit(0);
	}
	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		if (got < 0 && errno != EINTR)
			return -1;
		if (now_ms() > deadline)
			(void)kill(pid, SIGKILL);
		sleep_ms(1);
	}
}

ssize_t read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	while (len < size - 1 && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fd);
	return (ssize_t)len;
}

int write_text(const char *path, const char *text, size_t n, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	ssize_t done;

	if (fd < 0)
		return -1;
	done = write(fd, text, n);
	close(fd);
	return done == (ssize_t)n ? 0 : -1;
}

bool status_field(const char *path, const char *name, char *value, size_t size)
{
	char text[8192], *at = text;
	size_t n = strlen(name);

	if (read_text(path, text, sizeof(text)) < 0)
		return false;
	while (at) {
		char *end = strchr(at, '\n');

		if (end)
			*end++ = '\0';
		if (strncmp(at, name, n) == 0 && at[n] == ':') {
			at += n + 1;
			at += strspn(at, "\t ");
			(void)snprintf(value, size, "%s", at);
			return true;
		}
		at = end;
	}
	return false;
}

bool parse_number(const char *text, int base, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t v = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		const char *d = memchr(digits, *text, (size_t)base);

		if (!d || v > (UINT64_MAX - 15) / (uint64_t)base)
			return false;
		v = v * (uint64_t)base + (uint64_t)(d - digits);
	}
	*ret = v;
	return true;
}

bool take_number(char **rest, uint64_t *ret)
{
	char *word;

	while ((word = strsep(rest, " \n")))
		if (*word)
			return parse_number(word, 10, ret);
	return false;
}

void walk_tree(struct walk *w, const char *path, unsigned int depth)
{
	DIR *dir = opendir(path);
	struct dirent *d;

	if (!dir)
		return;
	while (w->left > 0 && (d = readdir(dir))) {
		char below[1024];

		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if ((size_t)snprintf(below, sizeof(below), "%s/%s", strcmp(path, "/") ? path : "",
				     d->d_name) >= sizeof(below))
			continue;
		w->left--;
		w->see(w, below, d->d_type);
		if (d->d_type == DT_DIR && depth > 0 && strcmp(below, "/proc") != 0)
			walk_tree(w, below, depth - 1);
	}
	(void)closedir(dir);
}
