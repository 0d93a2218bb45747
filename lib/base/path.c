#include "lib/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"

static const char *component_wrong(struct sbx_str part)
{
	if (sbx_str_eq(part, ".."))
		return "has a '..'";
	if (part.n > SBX_NAME_MAX)
		return "has a name of more than 255 bytes";
	return NULL;
}

/* What is wrong with path, or NULL; its normal form is appended to to, which has room for it. */
static const char *normalise(struct sbx_str path, char *to)
{
	struct sbx_str rest = path, part;
	size_t len = 0;

	if (path.n == 0)
		return "is empty";
	if (path.p[0] == '/')
		return "is absolute, must be relative";
	if (memchr(path.p, '\0', path.n))
		return "has a NUL byte";
	if (path.n > SBX_PATH_MAX)
		return "is longer than 4095 bytes";
	while (sbx_str_split(&rest, '/', &part)) {
		const char *wrong = component_wrong(part);

		if (wrong)
			return wrong;
		if (part.n == 0 || sbx_str_eq(part, "."))
			continue;
		if (len > 0)
			to[len++] = '/';
		memcpy(to + len, part.p, part.n);
		len += part.n;
	}
	to[len] = '\0';
	return len > 0 ? NULL : "names no file";
}

int sbx_path_relative(struct sbx_str path, const char *what, char **ret, struct sbx_err *err)
{
	char to[SBX_PATH_MAX + 1];
	const char *wrong = normalise(path, to);

	if (wrong)
		return sbx_fail(err, SBX_E_USAGE, "%s: path '%.*s' %s", what,
				path.n < SBX_NAME_MAX ? (int)path.n : SBX_NAME_MAX, path.p, wrong);
	*ret = sbx_xstrdup(to);
	return 0;
}

/* The value of a variable that names a folder; a relative one does not count (XDG base directories, "Basics"). */
static const char *folder_variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] == '/' ? value : NULL;
}

static char *runtime_path(void)
{
	const char *xdg = folder_variable("XDG_RUNTIME_DIR");
	struct stat st;

	/* su and cron leave a variable behind whose folder is gone. */
	if (xdg && stat(xdg, &st) == 0 && S_ISDIR(st.st_mode))
		return sbx_xasprintf("%s/llmsbx", xdg);
	if (geteuid() == 0)
		return sbx_xstrdup("/run/llmsbx");
	return sbx_xasprintf("/tmp/llmsbx-%u", geteuid());
}

int sbx_runtime_folder(char **ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *path = runtime_path();
	SBX_CLEANUP(sbx_closep) int fd = -1;
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return sbx_fail_sys(err, errno, "cannot make the runtime folder '%s'", path);
	/* In /tmp the name may be anybody's: what is looked at is the folder itself, never what a link says. */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return sbx_fail_sys(err, errno, "cannot open the runtime folder '%s'", path);
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return sbx_fail(err, SBX_E_DENIED,
				"the runtime folder '%s' must be yours alone (owner %u, mode "
				"%04o): remove it",
				path, st.st_uid, st.st_mode & 07777U);
	*ret = SBX_TAKE(path);
	return 0;
}

int sbx_user_folder(enum sbx_folder which, char **ret, struct sbx_err *err)
{
	static const struct {
		const char *variable, *below_home;
	} folders[] = {
		[SBX_FOLDER_CACHE] = {"XDG_CACHE_HOME", ".cache"},
		[SBX_FOLDER_CONFIG] = {"XDG_CONFIG_HOME", ".config"},
		[SBX_FOLDER_DATA] = {"XDG_DATA_HOME", ".local/share"},
		[SBX_FOLDER_STATE] = {"XDG_STATE_HOME", ".local/state"},
	};
	const char *xdg = folder_variable(folders[which].variable), *home = folder_variable("HOME");

	if (xdg)
		*ret = sbx_xasprintf("%s/llmsbx", xdg);
	else if (home)
		*ret = sbx_xasprintf("%s/%s/llmsbx", home, folders[which].below_home);
	else
		return sbx_fail(err, SBX_E_NOT_FOUND, "neither %s nor HOME names a folder",
				folders[which].variable);
	return 0;
}

int sbx_make_folders(const char *path, mode_t mode, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *copy = sbx_xstrdup(path);
	struct stat st;

	for (char *p = copy; *p; p++) {
		if (*p != '/' || p == copy)
			continue;
		*p = '\0';
		(void)mkdir(copy, mode); /* the last one tells whether it worked */
		*p = '/';
	}
	if (mkdir(copy, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return sbx_fail_sys(err, errno, "cannot make the folder '%s'", path);
	if (stat(copy, &st) < 0)
		return sbx_fail_sys(err, errno, "cannot make the folder '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return sbx_fail_sys(err, ENOTDIR, "cannot make the folder '%s'", path);
	return 0;
}
