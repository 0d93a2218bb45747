#include "lib/base/glob.h"

#include <time.h>

#include "t/unit/tap.h"

static void match(const char *pattern, const char *path, bool want)
{
	if (!ok_int(sbx_glob_match(pattern, path), want))
		printf("#   '%s' on '%s'\n", pattern, path);
}

TEST(component)
{
	match("a", "a", true);
	match("a", "b", false);
	match("a", "ab", false);
	match("*", "a", true);
	match("*.png", "plot.png", true);
	match("*.png", "plot.png.txt", false);
	match("*.png", "a/plot.png", false);
	match("a*b*c", "a-b-b-c", true);
	match("a*b*c", "a-b-b-", false);
	match("a**b", "axb", true); /* `**` inside a name is `*` */
	match("a**b", "a/b", false);
	match("?", "a", true);
	match("?", "", false);
	match("?", "ab", false);
	match("??", "\xc3\xa9", true); /* bytes, not characters */
	match("a?c", "a/c", false);
	match("*", "a/b", false);
	match("a\\*", "a\\b", true); /* a backslash is a byte like another */
}

TEST(brackets)
{
	match("[abc]", "b", true);
	match("[abc]", "d", false);
	match("[a-c]x", "bx", true);
	match("[a-c]", "-", false);
	match("[!a-c]", "d", true);
	match("[!a-c]", "b", false);
	match("[^a]", "b", true);
	match("[]]", "]", true);
	match("[!]]", "]", false);
	match("[!]]", "x", true);
	match("[]-a]", "^", true); /* from `]` to `a` */
	match("[a-]", "-", true);
	match("[-a]", "-", true);
	match("[a-]", "b", false);
	match("[c-a]", "b", false);
	match("[!c-a]", "b", true);
	match("[\x80-\xff]", "\xc3", true);
	match("[*]", "*", true);
	match("[*]", "x", false);
	match("[a]*[b]", "axxb", true);
	match("[[]", "[", true);
	match("[!a]", "/", false);
}

TEST(components)
{
	match("a/b", "a/b", true);
	match("a/*", "a/b", true);
	match("a/*", "a/b/c", false);
	match("*/b", "b", false);
	match("./a//b/", "a/b", true);
	match("a/./b", "a/b", true);
	match("a/b", "./a//b", true);
}

TEST(any_depth)
{
	match("**", "a", true);
	match("**", "a/b/c", true);
	match("**/c", "c", true);
	match("**/c", "a/b/c", true);
	match("**/c", "a/c/b", false);
	match("a/**/c", "a/c", true);
	match("a/**/c", "a/x/y/c", true);
	match("a/**/c", "b/c", false);
	match("a/**", "a/b", true);
	match("a/**", "a/b/c", true);
	match("a/**", "a", false);
	match("**/**", "a", true);
	match("**/a/**/b/**", "x/a/y/b/z", true);
	match("**/a/**/b/**", "x/a/y/b", false);
	match("**/*.png", "x/y.png", true);
	match("**/a/b", "a/a/b", true);
	match("**/a/*/c", "a/a/b/c", true);
}

TEST(dots)
{
	match("*", ".a", false);
	match("?a", ".a", false);
	match("[.]a", ".a", false);
	match(".*", ".a", true);
	match(".a", ".a", true);
	match("**", ".a", false);
	match("**", "a/.b", false);
	match("**", ".a/b", false);
	match("**/b", ".a/b", false);
	match("**/.b", "a/.b", true);
	match("**/.b/**", "a/.b/c", true);
	match("**/.*/*", "a/.b/c", true);
	match("*.a", "x.a", true);
	match("a*", "a.b", true);
}

TEST(wrong)
{
	char pattern[SBX_GLOB_MAX + 2];

	ok_str(sbx_glob_wrong(""), "empty");
	ok_str(sbx_glob_wrong("./"), "empty");
	ok_str(sbx_glob_wrong("/a"), "absolute");
	ok_str(sbx_glob_wrong("a/../b"), "has a '..'");
	ok_str(sbx_glob_wrong(".."), "has a '..'");
	ok_str(sbx_glob_wrong("[a"), "bracket not closed");
	ok_str(sbx_glob_wrong("[]"), "bracket not closed");
	ok_str(sbx_glob_wrong("[!]"), "bracket not closed");
	ok_str(sbx_glob_wrong("["), "bracket not closed");
	ok_str(sbx_glob_wrong("[a/b]"), "bracket not closed");
	ok_str(sbx_glob_wrong("[a-]"), NULL);
	ok_str(sbx_glob_wrong("..."), NULL);
	ok_str(sbx_glob_wrong("a..b"), NULL);
	ok_str(sbx_glob_wrong("**/[a-z]?/*.png"), NULL);
	memset(pattern, 'x', sizeof(pattern));
	pattern[SBX_GLOB_MAX + 1] = '\0';
	ok_str(sbx_glob_wrong(pattern), "too long");
	pattern[SBX_GLOB_MAX] = '\0';
	ok_str(sbx_glob_wrong(pattern), NULL);
	for (size_t i = 0; i < SBX_GLOB_DEPTH; i++)
		memcpy(pattern + 2 * i, "a/", 3);
	ok_str(sbx_glob_wrong(pattern), "too deep");
	match(pattern, pattern, false);
	pattern[2 * (size_t)(SBX_GLOB_DEPTH - 1)] = '\0';
	ok_str(sbx_glob_wrong(pattern), NULL);
	match(pattern, pattern, true);
	match("[a", "[a", false);
	match("", "", false);
}

static void descend(const char *pattern, const char *path, bool want)
{
	if (!ok_int(sbx_glob_may_descend(pattern, path), want))
		printf("#   '%s' below '%s'\n", pattern, path);
}

TEST(may_descend)
{
	descend("*", "", true);
	descend("*", "a", false);
	descend("a/*", "a", true);
	descend("a/*", "b", false);
	descend("a/*", "a/b", false);
	descend("a/b/c", "a/b", true);
	descend("**/x", "a/b/c", true);
	descend("**/x", ".a", false);
	descend("**/.a/x", "b/.a", true);
	descend("**/.a/x", "b/.c", false);
	descend("a/**", "a", true);
	descend("a/**", "b", false);
	descend("[a", "", false);
}

/* What takes others exponential time, or the product of all lengths. */
TEST(hostile)
{
	char pattern[SBX_GLOB_MAX + 1], path[4096];
	clock_t begin = clock();

	for (size_t i = 0; i + 2 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "*a", 3);
	pattern[SBX_GLOB_MAX - 1] = 'b';
	memset(path, 'a', 255);
	path[255] = '\0';
	match(pattern, path, false);
	for (size_t i = 0; i < SBX_GLOB_DEPTH - 2; i += 2)
		memcpy(pattern + 5 * (i / 2), "**/*/", 6);
	for (size_t i = 0; i + 2 < sizeof(path); i += 2)
		memcpy(path + i, "a/", 3);
	match(pattern, path, true);
	ok(clock() - begin < CLOCKS_PER_SEC);
}

TAP_MAIN(RUN(component), RUN(brackets), RUN(components), RUN(any_depth), RUN(dots), RUN(wrong),
	 RUN(may_descend), RUN(hostile))
