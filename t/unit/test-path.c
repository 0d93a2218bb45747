#include "lib/base/path.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/base/rand.h"
#include "t/unit/tap.h"

static void good(struct sbx_str path, const char *want, struct sbx_err *err)
{
	char *got = NULL;

	ok_call(sbx_path_relative(path, "--file", &got, err));
	ok_str(got, want);
	free(got);
}

TEST(relative)
{
	good(SBX_STR("a"), "a", err);
	good(SBX_STR("./a//b"), "a/b", err);
	good(SBX_STR("a/./b/"), "a/b", err);
	good(SBX_STR("..."), "...", err);
	good(SBX_STR(".a/..b/c.."), ".a/..b/c..", err);
	good(SBX_STR("a b\n\xff"), "a b\n\xff", err);
	good((struct sbx_str){"a/bcd", 3}, "a/b", err);
}

static void bad(struct sbx_str path, const char *words, struct sbx_err *err)
{
	char *got = NULL;

	ok_fail(sbx_path_relative(path, "--file", &got, err), SBX_E_USAGE, words);
	ok(!got);
}

TEST(refused)
{
	char name[300], longest[SBX_PATH_MAX + 1];

	bad(SBX_STR(""), "--file: path '' is empty", err);
	bad((struct sbx_str){NULL, 0}, "is empty", err);
	bad(SBX_STR("/a"), "--file: path '/a' is absolute", err);
	bad(SBX_STR("."), "names no file", err);
	bad(SBX_STR(".//."), "names no file", err);
	bad(SBX_STR(".."), "has a '..'", err);
	bad(SBX_STR("a/.."), "has a '..'", err);
	bad(SBX_STR("../a"), "has a '..'", err);
	bad(SBX_STR("a/../b"), "has a '..'", err);
	bad(SBX_STR("a\0b"), "has a NUL byte", err);
	memset(name, 'x', sizeof(name));
	bad((struct sbx_str){name, 256}, "more than 255 bytes", err);
	name[255] = '\0';
	good((struct sbx_str){name, 255}, name, err);
	for (size_t i = 0; i < sizeof(longest); i++)
		longest[i] = i % 2 ? '/' : 'x';
	bad((struct sbx_str){longest, SBX_PATH_MAX + 1}, "longer than 4095 bytes", err);
	longest[SBX_PATH_MAX] = '\0';
	good((struct sbx_str){longest, SBX_PATH_MAX}, longest, err);
}

static int remove_one(const char *path, const struct stat *st SBX_UNUSED, int kind SBX_UNUSED,
		      struct FTW *place SBX_UNUSED)
{
	return remove(path);
}

static char *make_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path = sbx_xasprintf("%s/test-path.XXXXXX", tmp ? tmp : "/tmp");

	if (!mkdtemp(path))
		abort();
	return path;
}

static void remove_folder(char *folder)
{
	ok_int(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	free(folder);
}

TEST(runtime_folder)
{
	char *folder = make_folder(), *want = sbx_xasprintf("%s/llmsbx", folder), *got = NULL;
	struct stat st;

	(void)setenv("XDG_RUNTIME_DIR", folder, 1);
	for (int i = 0; i < 2; i++) { /* made, and found again */
		ok_call(sbx_runtime_folder(&got, err));
		ok_str(got, want);
		free(SBX_TAKE(got));
	}
	ok_int(lstat(want, &st), 0);
	ok_int(st.st_mode & 07777, 0700);

	ok_int(chmod(want, 0750), 0);
	ok_fail(sbx_runtime_folder(&got, err), SBX_E_DENIED, "must be yours alone");
	ok_int(rmdir(want), 0);
	ok_int(symlink("/", want), 0);
	ok_fail(sbx_runtime_folder(&got, err), SBX_E_SYSTEM, "cannot open the runtime folder");
	ok(!got);
	free(want);
	remove_folder(folder);
}

TEST(runtime_folder_without_variable)
{
	char *got = NULL, *want = geteuid() == 0 ? sbx_xstrdup("/run/llmsbx")
						 : sbx_xasprintf("/tmp/llmsbx-%u", geteuid());

	/* What is not absolute or not there does not count. */
	(void)setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
	if (sbx_runtime_folder(&got, err) == 0)
		ok_str(got, want);
	else /* a machine where even that cannot be */
		ok(strstr(err->msg, want) != NULL);
	sbx_err_clear(err);
	free(got);
	free(want);
}

static void user_folder(enum sbx_folder which, const char *want, struct sbx_err *err)
{
	char *got = NULL;

	ok_call(sbx_user_folder(which, &got, err));
	ok_str(got, want);
	free(got);
}

TEST(user_folders)
{
	char *got = NULL;

	(void)unsetenv("XDG_STATE_HOME");
	(void)unsetenv("XDG_CONFIG_HOME");
	(void)setenv("XDG_DATA_HOME", "relative", 1);
	(void)setenv("XDG_CACHE_HOME", "/cache", 1);
	(void)setenv("HOME", "/h/u", 1);
	user_folder(SBX_FOLDER_CACHE, "/cache/llmsbx", err);
	user_folder(SBX_FOLDER_CONFIG, "/h/u/.config/llmsbx", err);
	user_folder(SBX_FOLDER_DATA, "/h/u/.local/share/llmsbx", err);
	user_folder(SBX_FOLDER_STATE, "/h/u/.local/state/llmsbx", err);
	(void)unsetenv("HOME");
	user_folder(SBX_FOLDER_CACHE, "/cache/llmsbx", err);
	ok_fail(sbx_user_folder(SBX_FOLDER_STATE, &got, err), SBX_E_NOT_FOUND,
		"neither XDG_STATE_HOME nor HOME");
	ok(!got);
}

TEST(make_folders)
{
	char *folder = make_folder(), *deep = sbx_xasprintf("%s/a/b//c", folder);
	char *file = sbx_xasprintf("%s/f", folder), *below = sbx_xasprintf("%s/f/x", folder);
	struct stat st;

	ok_call(sbx_make_folders(deep, 0700, err));
	ok_call(sbx_make_folders(deep, 0700, err));
	ok(stat(deep, &st) == 0 && S_ISDIR(st.st_mode));
	ok_int(mknod(file, S_IFREG | 0600, 0), 0);
	ok_fail(sbx_make_folders(file, 0700, err), SBX_E_SYSTEM, "Not a directory");
	ok_fail(sbx_make_folders(below, 0700, err), SBX_E_SYSTEM, "Not a directory");
	free(below);
	free(file);
	free(deep);
	remove_folder(folder);
}

TEST(random_ids)
{
	char a[27], b[27];

	sbx_random_id(a, 26);
	sbx_random_id(b, 26);
	ok_int(strspn(a, "abcdefghijklmnopqrstuvwxyz234567"), 26);
	ok_int(strlen(a), 26);
	ok(strcmp(a, b) != 0);
}

TAP_MAIN(RUN(relative), RUN(refused), RUN(runtime_folder), RUN(runtime_folder_without_variable),
	 RUN(user_folders), RUN(make_folders), RUN(random_ids))
