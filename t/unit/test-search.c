#include "lib/def/search.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"
#include "t/unit/tap.h"

static const char template[] = "/tmp/test-search.XXXXXX";
static char top[sizeof(template)];

static char *at(const char *relative)
{
	static char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", top, relative);
	return path;
}

static void put(const char *relative, const char *text, struct sbx_err *err)
{
	char *path = sbx_xstrdup(at(relative)), *slash = strrchr(path, '/');

	*slash = '\0';
	ok_call(sbx_make_folders(path, 0700, err));
	*slash = '/';
	ok_call(sbx_replace_file(path, text, strlen(text), 0600, err));
	free(path);
}

static int remove_one(const char *path, const struct stat *st SBX_UNUSED, int type SBX_UNUSED,
		      struct FTW *ftw SBX_UNUSED)
{
	return remove(path);
}

static void begin(void)
{
	memcpy(top, template, sizeof(template));
	if (!mkdtemp(top))
		abort();
	(void)mkdir(at("share"), 0700);
	setenv("LLMSBX_SHARE", at("share"), 1);
	setenv("XDG_CONFIG_HOME", at("xdg"), 1);
	setenv("HOME", at("home"), 1);
}

static void end(void)
{
	(void)nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void ok_found(const char *name, const char *want, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *path = NULL;

	ok_call(sbx_search_file("things", name, &path, err));
	ok_str(path, want);
}

TEST(later_wins)
{
	begin();
	put("share/things/a.json", "1", err);
	put("share/things/b.json", "1", err);
	put("xdg/llmsbx/things/b.json", "2", err);
	put("xdg/llmsbx/things/c.json", "2", err);
	ok_found("a.json", at("share/things/a.json"), err);
	ok_found("b.json", at("xdg/llmsbx/things/b.json"), err);
	ok_found("c.json", at("xdg/llmsbx/things/c.json"), err);
	ok_found("d.json", NULL, err);
	end();
}

TEST(home_when_there_is_no_xdg)
{
	begin();
	unsetenv("XDG_CONFIG_HOME");
	put("home/.config/llmsbx/things/a.json", "1", err);
	ok_found("a.json", at("home/.config/llmsbx/things/a.json"), err);
	unsetenv("HOME");
	ok_found("a.json", NULL, err);
	end();
}

TEST(empty_masks)
{
	begin();
	put("share/things/a.json", "1", err);
	put("xdg/llmsbx/things/a.json", "", err);
	ok_found("a.json", NULL, err);
	end();
}

TEST(all)
{
	struct sbx_strv paths = {.v = NULL};

	begin();
	ok_call(sbx_search_all("things", &paths, err));
	ok_int(paths.n, 0);
	put("share/things/b.json", "1", err);
	put("share/things/z.json", "1", err);
	put("share/things/masked.json", "1", err);
	put("share/things/notes.txt", "1", err);
	put("share/things/.hidden.json", "1", err);
	put("xdg/llmsbx/things/masked.json", "", err);
	put("xdg/llmsbx/things/a.json", "1", err);
	put("xdg/llmsbx/things/z.json", "2", err);
	ok_call(sbx_search_all("things", &paths, err));
	if (ok_int(paths.n, 3)) {
		ok_str(paths.v[0], at("xdg/llmsbx/things/a.json"));
		ok_str(paths.v[1], at("share/things/b.json"));
		ok_str(paths.v[2], at("xdg/llmsbx/things/z.json"));
	}
	sbx_strv_release(&paths);
	end();
}

TEST(share)
{
	SBX_CLEANUP(sbx_freep) char *share = NULL;

	begin();
	ok_call(sbx_search_share(&share, err));
	ok_str(share, at("share"));
	setenv("LLMSBX_SHARE", at("nowhere"), 1);
	ok_fail(sbx_search_share(&share, err), SBX_E_USAGE, "LLMSBX_SHARE");
	ok_fail(sbx_search_file("things", "a.json", &share, err), SBX_E_USAGE, "nowhere");
	end();
}

/* A test binary has no share/ beside it: what is left is the installed one, where it is. */
TEST(share_without_a_variable)
{
	SBX_CLEANUP(sbx_freep) char *share = NULL;

	begin();
	setenv("LLMSBX_SHARE", "", 1);
	if (access(SBX_DATADIR, F_OK) == 0) {
		ok_call(sbx_search_share(&share, err));
		ok_str(share, SBX_DATADIR);
	} else {
		ok_fail(sbx_search_share(&share, err), SBX_E_NOT_FOUND, "LLMSBX_SHARE");
	}
	end();
}

TEST(config_folders)
{
	struct sbx_strv folders = {.v = NULL};

	begin();
	ok_call(sbx_search_config(&folders, err));
	if (ok_int(folders.n, 2)) {
		ok_str(folders.v[0], "/etc/llmsbx");
		ok_str(folders.v[1], at("xdg/llmsbx"));
	}
	sbx_strv_release(&folders);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
	ok_call(sbx_search_config(&folders, err));
	ok_int(folders.n, 1);
	sbx_strv_release(&folders);
	end();
}

TAP_MAIN(RUN(later_wins), RUN(home_when_there_is_no_xdg), RUN(empty_masks), RUN(all), RUN(share),
	 RUN(share_without_a_variable), RUN(config_folders))
