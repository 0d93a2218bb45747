#include "lib/base/places.h"

#include <stddef.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/path.h"
#include "lib/base/str.h"

/* Nothing may be put on these or below them. */
static const char *const never[] = {"/proc", "/dev", "/sys", "/.llmsbx"};

/* The system's, where no work directory can be made; a mount may be put below them where a place for it exists. */
static const char *const system_folders[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
};

bool sbx_path_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static bool is_normal(const char *path)
{
	struct sbx_str rest = sbx_str_of(path), part;

	if (path[0] != '/' || path[1] == '\0' || rest.n > SBX_PATH_MAX || path[rest.n - 1] == '/')
		return false;
	rest.p++;
	rest.n--;
	while (sbx_str_split(&rest, '/', &part)) {
		if (part.n == 0 || part.n > SBX_NAME_MAX || sbx_str_eq(part, ".") ||
		    sbx_str_eq(part, ".."))
			return false;
	}
	return true;
}

static int check(const char *path, const char *what, struct sbx_err *err)
{
	if (!is_normal(path))
		return sbx_fail(err, SBX_E_USAGE,
				"%s: '%s' must be an absolute path other than '/', without '.', "
				"'..' or '//'",
				what, path);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(never); i++) {
		if (sbx_path_is_below(path, never[i]))
			return sbx_fail(err, SBX_E_USAGE, "%s: '%s' is the sandbox's own", what,
					never[i]);
	}
	return 0;
}

int sbx_place_check_workdir(const char *path, const char *where, struct sbx_err *err)
{
	if (check(path, where, err) < 0)
		return -1;
	for (size_t i = 0; i < SBX_ARRAY_SIZE(system_folders); i++) {
		if (sbx_path_is_below(path, system_folders[i]))
			return sbx_fail(err, SBX_E_USAGE, "%s: '%s' is in the system's folder '%s'",
					where, path, system_folders[i]);
	}
	/* A folder of its own: the scratch of everybody cannot be that. */
	if (strcmp(path, "/tmp") == 0)
		return sbx_fail(err, SBX_E_USAGE,
				"%s: '/tmp' is scratch of its own, take a folder below it", where);
	return 0;
}

int sbx_place_check_mount(const char *path, const char *where, struct sbx_err *err)
{
	return check(path, where, err);
}
