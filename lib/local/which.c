#include "lib/local/which.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"
#include "lib/local/host.h"

static const char *const inside_path[] = {"/usr/local/bin", "/usr/bin", "/bin"};

/* As many as the kernel follows (MAXSYMLINKS). */
enum { LINKS_MAX = 40 };

/* Drops the last component; the parent of the root is the root. */
static void go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

static bool append(char path[PATH_MAX], struct sbx_str part)
{
	size_t n = strlen(path);

	if (part.n + 2 > PATH_MAX - n)
		return false;
	path[n] = '/';
	memcpy(path + n + 1, part.p, part.n);
	path[n + 1 + part.n] = '\0';
	return true;
}

/* Puts what the link at path leads to into rest, before what is left of the way there. */
static bool follow(char path[PATH_MAX], char rest[PATH_MAX], struct sbx_str left)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target));

	if (n <= 0 || (size_t)n + 1 + left.n >= PATH_MAX)
		return false;
	memmove(rest + n + 1, left.p, left.n);
	memcpy(rest, target, (size_t)n);
	rest[n] = '/';
	rest[(size_t)n + 1 + left.n] = '\0';
	if (rest[0] == '/')
		path[0] = '\0';
	else
		go_up(path);
	return true;
}

/*
 * Walks the way component by component, as the kernel will inside.  Where realpath() would only tell the end, here each link must
 * itself be seen inside: one that leads through a home folder leads nowhere there.
 */
static bool resolve(const struct sbx_host *host, const char *way, char path[PATH_MAX])
{
	char rest[PATH_MAX];
	struct sbx_str left, part;
	struct stat st;
	int links = 0;

	path[0] = '\0';
	if (snprintf(rest, sizeof(rest), "%s", way) >= (int)sizeof(rest))
		return false;
	for (left = sbx_str_of(rest); sbx_str_split(&left, '/', &part);) {
		if (part.n == 0 || sbx_str_eq(part, "."))
			continue;
		if (sbx_str_eq(part, "..")) {
			go_up(path);
			continue;
		}
		if (!append(path, part) || lstat(path, &st) < 0)
			return false;
		if (!S_ISLNK(st.st_mode))
			continue;
		if (++links > LINKS_MAX || !sbx_host_has(host, path) || !follow(path, rest, left))
			return false;
		left = sbx_str_of(rest);
	}
	return sbx_host_has(host, path);
}

static bool runs(const struct sbx_host *host, const char *way)
{
	char path[PATH_MAX];
	struct stat st;

	return resolve(host, way, path) && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_mode & 0111) != 0;
}

static char *find_in(const struct sbx_host *host, const char *dir, const char *program)
{
	char *way = sbx_xasprintf("%s/%s", dir, program);

	if (runs(host, way))
		return way;
	free(way);
	return NULL;
}

int sbx_which(const struct sbx_host *host, const char *program, const struct sbx_strv *dirs,
	      char **ret, struct sbx_err *err)
{
	char *found = NULL;

	if (program[0] == '/')
		found = runs(host, program) ? sbx_xstrdup(program) : NULL;
	else if (program[0] != '\0' && !strchr(program, '/')) {
		for (size_t i = 0; dirs && i < dirs->n && !found; i++)
			found = find_in(host, dirs->v[i], program);
		for (size_t i = 0; i < SBX_ARRAY_SIZE(inside_path) && !found; i++)
			found = find_in(host, inside_path[i], program);
	}
	if (!found)
		return sbx_fail(err, SBX_E_NOT_FOUND,
				"no program '%s' in the sandbox (/usr/local/bin, /usr/bin, /bin)",
				program);
	*ret = found;
	return 0;
}
