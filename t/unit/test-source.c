#include "lib/def/source.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/def/lang.h"
#include "t/unit/tap.h"

TEST(interpreter)
{
	static const char *const cases[][2] = {
		{"#!/usr/bin/python3\n", "python3"},
		{"#!python3", "python3"},
		{"#!  /usr/bin/ruby -w\nputs", "ruby"},
		{"#!/bin/bash\r\n", "bash"},
		{"#!/usr/bin/env node\n", "node"},
		{"#!/usr/bin/env -S /opt/x/python3.11 -u\n", "python3.11"},
		{"#!/usr/bin/env -Snode --harmony\n", "node"},
		{"#!/usr/bin/env --split-string=node\n", "node"},
		{"#!/usr/bin/env -i -u HOME A=1 B=2 perl -w\n", "perl"},
		{"#!/usr/bin/env -S llmsbx run\n", "llmsbx"},
		{"#!/usr/bin/env", ""},
		{"#!/usr/bin/env -u", ""},
		{"#!", ""},
		{"#!\nx", ""},
		{"#!/usr/bin/\n", ""},
		{"# !/bin/sh", ""},
		{" #!/bin/sh", ""},
		{"", ""},
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(cases); i++) {
		struct sbx_str got = sbx_source_interpreter(sbx_str_of(cases[i][0]));

		ok_mem(got.p, got.n, cases[i][1], strlen(cases[i][1]));
	}
}

/* The names of a code without a file's name, joined by blanks. */
static const char *names(const struct sbx_lang *lang, const char *basename, struct sbx_str code)
{
	static char joined[1024];
	struct sbx_source_names got;

	sbx_source_names(lang, basename, code, &got);
	(void)snprintf(joined, sizeof(joined), "%s %s %s", got.file, got.stem, got.main);
	sbx_source_names_release(&got);
	return joined;
}

static char plain_file[] = "main.x";
static const struct sbx_lang plain = {.file = plain_file};

TEST(without_patterns)
{
	ok_str(names(&plain, NULL, SBX_STR("public class Foo")), "main.x main main");
	ok_str(names(&plain, "a.b.c", SBX_STR("")), "a.b.c a.b a.b");
	ok_str(names(&plain, ".profile", SBX_STR("")), ".profile .profile .profile");
	ok_str(names(&plain, "script", SBX_STR("")), "script script script");
}

/* The shipped language that has all patterns. */
static struct sbx_lang *load(struct sbx_err *err)
{
	const char *top = getenv("SBX_SRCDIR");
	SBX_CLEANUP(sbx_freep)
	char *path = sbx_xasprintf("%s/share/languages/java.json", top ? top : ".");
	struct sbx_lang *lang = NULL;

	ok_call(sbx_lang_load(path, &lang, err));
	return lang;
}

static void ok_names(const struct sbx_lang *lang, const char *code, const char *want)
{
	ok_str(names(lang, NULL, sbx_str_of(code)), want);
}

#define MAIN "    public static void main(String[] args) {}\n"

TEST(public_class_names_the_file)
{
	struct sbx_lang *lang = load(err);

	if (!lang)
		return;
	ok_names(lang, "public class Foo {\n" MAIN "}\n", "Foo.java Foo Foo");
	ok_names(lang, "class Bar {}\npublic final class Foo{\n" MAIN "}\n", "Foo.java Foo Foo");
	ok_names(lang, "public record Foo(int x) {\n" MAIN "}\n", "Foo.java Foo Foo");
	ok_names(lang, "  public abstract  sealed interface Foo<T> {\n" MAIN "}\n",
		 "Foo.java Foo Foo");
	ok_names(lang, "class Foo {\n" MAIN "}\n", "Main.java Main Foo");
	ok_names(lang, "// public class Bar {\npublic class Foo {\n" MAIN "}\n",
		 "Foo.java Foo Foo");
	ok_names(lang, "public class Größe\n{\n" MAIN "}\n", "Größe.java Größe Größe");
	ok_str(names(lang, "prog.java", SBX_STR("public class Foo {\n" MAIN "}\n")),
	       "prog.java prog Foo");
	sbx_lang_free(lang);
}

TEST(the_class_to_start)
{
	struct sbx_lang *lang = load(err);

	if (!lang)
		return;
	ok_names(lang, "package com.example;\npublic class Foo {\n" MAIN "}\n",
		 "Foo.java Foo com.example.Foo");
	ok_names(lang, "class A {}\nclass B {\n    static class C {}\n" MAIN "}\nclass D {}\n",
		 "Main.java Main B");
	ok_names(lang, "public interface A {}\nfinal class B {\n" MAIN "}\n", "A.java A B");
	ok_names(lang, "class A {}\n/* static void main( */\nclass B {\n" MAIN "}\n",
		 "Main.java Main B");
	ok_names(lang, "class A {}\n// void main(\nclass B {\n" MAIN "}\n", "Main.java Main B");
	ok_names(lang, "class A {}\n", "Main.java Main Main");
	ok_names(lang, "void main() {}\n", "Main.java Main Main");
	ok_names(lang, "", "Main.java Main Main");
	sbx_lang_free(lang);
}

/* What the code asks for becomes a file's name: never a path, an option, or a hidden file. */
TEST(hostile_names)
{
	struct sbx_lang lang = plain;
	char pattern[] = "^file (.*)";
	static char huge[4096];

	lang.file_pattern = pattern;
	ok_names(&lang, "file ok", "ok.x ok ok");
	ok_names(&lang, "file ../../etc/passwd", "main.x main main");
	ok_names(&lang, "file /etc/passwd", "main.x main main");
	ok_names(&lang, "file -rf", "main.x main main");
	ok_names(&lang, "file .hidden", "main.x main main");
	ok_names(&lang, "file @list", "main.x main main");
	ok_names(&lang, "file ", "main.x main main");
	ok_names(&lang, "file ..\nfile second", "second.x second second");
	memset(huge, 'x', sizeof(huge) - 1);
	memcpy(huge, "file ", 5);
	ok_names(&lang, huge, "main.x main main");
}

TEST(bytes)
{
	struct sbx_lang *lang = load(err);

	if (!lang)
		return;
	ok_str(names(lang, NULL, SBX_STR("public class A {\0\n" MAIN)), "A.java A A");
	ok_str(names(lang, NULL, SBX_STR("\0\npublic class B {\n" MAIN)), "Main.java Main Main");
	ok_str(names(lang, NULL, SBX_STR("\xff\xfe\npublic class \xff{\n" MAIN)),
	       "\xff.java \xff \xff");
	ok_str(names(lang, NULL, SBX_STR("x\r\npublic class A\r\n{\r\n" MAIN)), "A.java A A");
	sbx_lang_free(lang);
}

/* Only the beginning counts, so that 64 MiB cost no more. */
TEST(no_more_than_the_beginning)
{
	struct sbx_lang *lang = load(err);
	size_t n = SBX_SOURCE_LOOK;
	SBX_CLEANUP(sbx_freep) char *code = sbx_xcalloc(1, n + 100);

	if (!lang)
		return;
	memset(code, '\n', n);
	memcpy(code + n, "public class Foo {\n", 19);
	ok_str(names(lang, NULL, sbx_str_of(code)), "Main.java Main Main");
	memcpy(code + n - 19, "public class Foo {\n", 19);
	ok_str(names(lang, NULL, sbx_str_of(code)), "Foo.java Foo Foo");
	sbx_lang_free(lang);
}

TAP_MAIN(RUN(interpreter), RUN(without_patterns), RUN(public_class_names_the_file),
	 RUN(the_class_to_start), RUN(hostile_names), RUN(bytes), RUN(no_more_than_the_beginning))
