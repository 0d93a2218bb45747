/*
 * A pattern, a line feed and a path.  Where the C library's fnmatch knows the pattern's language both agree; a path that matches can
 * be reached by a walk that enters only what sbx_glob_may_descend allows; a wrong pattern matches nothing.
 */
#include <assert.h>
#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* `**` is ours, backslashes and classes are the C library's, and it takes `//` and `./` as they stand. */
static bool common(const char *pattern, const char *path)
{
	static const char *const not [] = {"**", "\\", "[:", "[.", "[=", "//", "./"};

	for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++) {
		if (strstr(pattern, not [i]) || strstr(path, not [i]))
			return false;
	}
	for (const char *p = pattern; *p; p++) {
		if ((unsigned char)*p >= 0x80)
			return false;
	}
	return pattern[strlen(pattern) - 1] != '/' && path[0] != '\0' && path[0] != '/' &&
	       path[strlen(path) - 1] != '/' && strcmp(path, ".") != 0 && strcmp(pattern, ".") != 0;
}

static bool ends_in_dot(const char *s)
{
	size_t n = strlen(s);

	return n >= 2 && s[n - 1] == '.' && s[n - 2] == '/';
}

static void compare(const char *pattern, char *path)
{
	bool matches = sbx_glob_match(pattern, path);

	if (sbx_glob_wrong(pattern)) {
		assert(!matches && !sbx_glob_may_descend(pattern, path));
		return;
	}
	if (common(pattern, path) && !ends_in_dot(pattern) && !ends_in_dot(path))
		assert(matches ==
		       !fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD | FNM_NOESCAPE));
	if (!matches)
		return;
	assert(sbx_glob_may_descend(pattern, ""));
	for (char *p = path; *p; p++) {
		if (*p != '/' || p[strspn(p, "/.")] == '\0')
			continue;
		*p = '\0';
		assert(sbx_glob_may_descend(pattern, path));
		*p = '/';
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[2 * SBX_GLOB_MAX], *path;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	path = strchr(text, '\n');
	if (path) {
		*path = '\0';
		compare(text, path + 1);
	}
	return 0;
}
