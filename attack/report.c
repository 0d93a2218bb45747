#include "attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const verdicts[] = {
	[NONE] = "unknown",    [WORKS] = "works",         [REFUSED] = "refused",
	[ABSENT] = "absent",   [CONTAINED] = "contained", [KILLED] = "killed",
	[UNKNOWN] = "unknown", [REACHED] = "reached",
};

const char *error_name(int num)
{
	const char *name = strerrorname_np(num);

	return name ? name : "?";
}

static void add(char *text, size_t size, const char *more)
{
	size_t n = strlen(text), len = strlen(more);

	if (strstr(text, more))
		return;
	(void)snprintf(text + n, size - n, "%s%.*s", n > 0 ? "; " : "", (int)len, more);
}

void say(struct attack *a, enum verdict verdict, const char *fmt, ...)
{
	char more[300];
	va_list ap;

	if (verdict < a->verdict)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(more, sizeof(more), fmt, ap);
	va_end(ap);
	if (verdict > a->verdict)
		a->detail[0] = '\0';
	a->verdict = verdict;
	add(a->detail, sizeof(a->detail), more);
}

static enum verdict judge(int num, const int *further)
{
	static const int refusals[] = {EPERM,           EACCES,       ENOSYS,
				       EROFS,           EAFNOSUPPORT, EPROTONOSUPPORT,
				       ESOCKTNOSUPPORT, EXDEV,        0};
	static const int absences[] = {ENOENT, ENOTDIR, ENXIO, ENODEV, 0};

	for (size_t i = 0; refusals[i]; i++)
		if (refusals[i] == num)
			return REFUSED;
	for (size_t i = 0; absences[i]; i++)
		if (absences[i] == num)
			return ABSENT;
	for (size_t i = 0; further && further[i]; i++)
		if (further[i] == num)
			return REFUSED;
	return REACHED;
}

void must_fail_or(struct attack *a, const char *what, long rc, const int *errors)
{
	int num = errno;
	enum verdict verdict = rc >= 0 ? REACHED : judge(num, errors);

	if (rc >= 0)
		say(a, REACHED, "%s worked", what);
	else if (verdict == REACHED)
		say(a, REACHED, "%s reached the kernel: %s", what, error_name(num));
	else
		say(a, verdict, "%s", error_name(num));
}

void must_fail(struct attack *a, const char *what, long rc)
{
	must_fail_or(a, what, rc, NULL);
}

void must_hold(struct attack *a, bool holds, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say(a, holds ? CONTAINED : REACHED, "%s%s", holds ? "" : "not so: ", text);
}

void must_work(struct attack *a, bool works, const char *what)
{
	int num = errno;

	if (works)
		say(a, WORKS, "%s", what);
	else
		say(a, UNKNOWN, "%s does not work (%s)", what, error_name(num));
}

/* The text as a JSON string's inside; what is not printable ASCII becomes a question mark. */
static void quote(char *out, size_t size, const char *text)
{
	size_t n = 0;

	for (; *text && n + 3 < size; text++) {
		if (*text == '"' || *text == '\\')
			out[n++] = '\\';
		out[n++] = *text >= ' ' && *text <= '~' ? *text : '?';
	}
	out[n] = '\0';
}

/* One write a line, so that lines of several processes do not mix. */
static void put_line(const struct attack *a, const char *key, const char *value, const char *text)
{
	char line[1500], quoted[1000];
	int n;

	quote(quoted, sizeof(quoted), text);
	n = snprintf(line, sizeof(line),
		     "\n{\"nonce\":\"%s\",\"id\":\"%s\",\"%s\":\"%s\",\"detail\":\"%s\"}\n",
		     a->plant->nonce, a->id, key, value, quoted);
	(void)!write(STDOUT_FILENO, line, (size_t)n);
}

void tell(const struct attack *a, const char *key, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_line(a, "tell", key, text);
}

void report(const struct attack *a)
{
	put_line(a, "verdict", verdicts[a->verdict],
		 a->verdict == NONE ? "the probe said nothing" : a->detail);
}

void must_not_open(struct attack *a, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);

	must_fail(a, path, fd);
	if (fd >= 0 && (flags & O_CREAT))
		(void)unlink(path);
	if (fd >= 0)
		close(fd);
}
