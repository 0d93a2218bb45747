#include "lib/def/search.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"
#include "lib/base/str.h"

#ifndef SBX_DATADIR
#define SBX_DATADIR "/usr/share/llmsbx"
#endif

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* share/ in the folder that our own binary is in: a build tree is used in place. NULL where there is none. */
static char *share_beside_binary(void)
{
	char exe[SBX_PATH_MAX + 1];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	SBX_CLEANUP(sbx_freep) char *share = NULL, *languages = NULL;
	char *slash;

	if (n < 0)
		return NULL;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	share = sbx_xasprintf("%s/share", exe);
	/* A binary in /usr has a share/ beside bin/, never in it; the second look makes sure. */
	languages = sbx_xasprintf("%s/languages", share);
	return is_folder(languages) ? SBX_TAKE(share) : NULL;
}

int sbx_search_share(char **ret, struct sbx_err *err)
{
	const char *named = getenv("LLMSBX_SHARE");
	char *share;

	if (named && named[0]) {
		if (!is_folder(named))
			return sbx_fail(err, SBX_E_USAGE, "LLMSBX_SHARE: no folder '%s'", named);
		*ret = sbx_xstrdup(named);
		return 0;
	}
	share = share_beside_binary();
	if (!share && !is_folder(SBX_DATADIR))
		return sbx_fail(
			err, SBX_E_NOT_FOUND,
			"the data files are not in '%s': install them, or name their folder "
			"in LLMSBX_SHARE",
			SBX_DATADIR);
	*ret = share ? share : sbx_xstrdup(SBX_DATADIR);
	return 0;
}

int sbx_search_config(struct sbx_strv *ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *user = NULL;
	struct sbx_err none = SBX_ERR_INIT; /* no HOME: no folder of the user's */

	if (sbx_strv_add(ret, "/etc/llmsbx", err) < 0)
		return -1;
	if (sbx_user_folder(SBX_FOLDER_CONFIG, &user, &none) < 0)
		return 0;
	return sbx_strv_add(ret, user, err);
}

/* All folders of a kind, the weaker first. */
static int folders_of(const char *kind, struct sbx_strv *ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv config = {.v = NULL};
	SBX_CLEANUP(sbx_freep) char *share = NULL;

	if (sbx_search_share(&share, err) < 0 || sbx_search_config(&config, err) < 0 ||
	    sbx_strv_addf(ret, err, "%s/%s", share, kind) < 0)
		return -1;
	for (size_t i = 0; i < config.n; i++) {
		if (sbx_strv_addf(ret, err, "%s/%s", config.v[i], kind) < 0)
			return -1;
	}
	return 0;
}

/* The strongest file of that name; what is no file, or cannot be reached, is the reader's to report. */
static char *strongest(const struct sbx_strv *folders, const char *name)
{
	for (size_t i = folders->n; i-- > 0;) {
		SBX_CLEANUP(sbx_freep)
		char *path = sbx_xasprintf("%s/%s", folders->v[i], name);
		struct stat st;

		if (stat(path, &st) < 0) {
			if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
				continue;
			return SBX_TAKE(path);
		}
		return S_ISREG(st.st_mode) && st.st_size == 0 ? NULL : SBX_TAKE(path);
	}
	return NULL;
}

int sbx_search_file(const char *kind, const char *name, char **ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv folders = {.v = NULL};

	if (folders_of(kind, &folders, err) < 0)
		return -1;
	*ret = strongest(&folders, name);
	return 0;
}

/* Adds the names in a folder that end in .json and are not there yet; a folder that is not there or not ours to read has none. */
static int names_in(const char *folder, struct sbx_strv *names, struct sbx_err *err)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int result = 0;

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES
			       ? 0
			       : sbx_fail_sys(err, errno, "cannot read '%s'", folder);
	while (result == 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.' &&
		    sbx_str_has_suffix(sbx_str_of(entry->d_name), ".json") &&
		    !sbx_strv_contains(names, entry->d_name))
			result = sbx_strv_add(names, entry->d_name, err);
	}
	closedir(dir);
	return result;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int sbx_search_all(const char *kind, struct sbx_strv *ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv folders = {.v = NULL};
	SBX_CLEANUP(sbx_strv_release) struct sbx_strv names = {.v = NULL};

	if (folders_of(kind, &folders, err) < 0)
		return -1;
	for (size_t i = 0; i < folders.n; i++) {
		if (names_in(folders.v[i], &names, err) < 0)
			return -1;
	}
	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), by_bytes);
	for (size_t i = 0; i < names.n; i++) {
		SBX_CLEANUP(sbx_freep) char *path = strongest(&folders, names.v[i]);

		if (path && sbx_strv_add(ret, path, err) < 0)
			return -1;
	}
	return 0;
}
