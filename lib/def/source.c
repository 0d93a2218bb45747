#include "lib/def/source.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/def/lang.h"

enum {
	NAME_MAX_BYTES = 200, /* of a name found in code: it becomes a file's */
	GROUPS_MAX = 10,
};

/* --- the `#!` line */

static const char blanks[] = " \t\r";

/* Takes the next word from *rest; n is 0 at the end. */
static struct sbx_str next_word(struct sbx_str *rest)
{
	struct sbx_str word;
	size_t skip = 0, n;

	while (skip < rest->n && strchr(blanks, rest->p[skip]))
		skip++;
	n = skip;
	while (n < rest->n && !strchr(blanks, rest->p[n]))
		n++;
	word = (struct sbx_str){.p = rest->p + skip, .n = n - skip};
	*rest = (struct sbx_str){.p = rest->p + n, .n = rest->n - n};
	return word;
}

static struct sbx_str last_component(struct sbx_str path)
{
	for (size_t i = path.n; i > 0; i--) {
		if (path.p[i - 1] == '/')
			return (struct sbx_str){.p = path.p + i, .n = path.n - i};
	}
	return path;
}

static struct sbx_str without(struct sbx_str s, size_t n)
{
	return (struct sbx_str){.p = s.p + n, .n = s.n - n};
}

/* What env starts: behind its options and variables; -S may have the program joined to it. */
static struct sbx_str env_program(struct sbx_str rest)
{
	static const char split[] = "--split-string=";
	struct sbx_str word;

	for (word = next_word(&rest); word.n > 0; word = next_word(&rest)) {
		if (sbx_str_has_prefix(word, "-S") && word.n > 2)
			return without(word, 2);
		if (sbx_str_has_prefix(word, split))
			return without(word, sizeof(split) - 1);
		if (sbx_str_eq(word, "-u") || sbx_str_eq(word, "-C"))
			(void)next_word(&rest);
		else if (word.p[0] != '-' && !memchr(word.p, '=', word.n))
			break;
	}
	return word;
}

struct sbx_str sbx_source_interpreter(struct sbx_str code)
{
	struct sbx_str line = {.p = code.p, .n = 0}, program;

	if (!sbx_str_has_prefix(code, "#!"))
		return line;
	while (line.n < code.n && code.p[line.n] != '\n' && code.p[line.n] != '\0')
		line.n++;
	line = without(line, 2);
	program = last_component(next_word(&line));
	return sbx_str_eq(program, "env") ? last_component(env_program(line)) : program;
}

/* --- names */

/* What the patterns of a language find, a line at a time. */
struct found {
	char *file, *package, *type; /* owned */
	bool entry;
};

struct patterns {
	regex_t file, package, type, entry;
	bool has_file, has_main;
};

static bool compile(const char *pattern, regex_t *ret)
{
	return pattern && regcomp(ret, pattern, REG_EXTENDED) == 0;
}

static void compile_all(const struct sbx_lang *lang, struct patterns *ret)
{
	ret->has_file = compile(lang->file_pattern, &ret->file);
	if (!compile(lang->main_package, &ret->package))
		return;
	if (compile(lang->main_type, &ret->type)) {
		ret->has_main = compile(lang->main_entry, &ret->entry);
		if (!ret->has_main)
			regfree(&ret->type);
	}
	if (!ret->has_main)
		regfree(&ret->package);
}

static void release_all(struct patterns *patterns)
{
	if (patterns->has_file)
		regfree(&patterns->file);
	if (patterns->has_main) {
		regfree(&patterns->package);
		regfree(&patterns->type);
		regfree(&patterns->entry);
	}
}

/* Replaces *name by what the last group of re matches in line, if it can be a name. */
static void find(const regex_t *re, const char *line, char **name)
{
	regmatch_t group[GROUPS_MAX];
	size_t last = re->re_nsub < GROUPS_MAX ? re->re_nsub : 0, n;

	if (regexec(re, line, GROUPS_MAX, group, 0) != 0 || group[last].rm_so < 0)
		return;
	n = (size_t)(group[last].rm_eo - group[last].rm_so);
	line += group[last].rm_so;
	if (n == 0 || n > NAME_MAX_BYTES || strchr(".-+@", line[0]) || memchr(line, '/', n))
		return;
	free(*name);
	*name = sbx_str_dup((struct sbx_str){.p = line, .n = n});
}

static void look_at_line(const struct patterns *patterns, const char *line, struct found *found)
{
	if (patterns->has_file && !found->file)
		find(&patterns->file, line, &found->file);
	if (!patterns->has_main || found->entry)
		return;
	if (!found->package)
		find(&patterns->package, line, &found->package);
	find(&patterns->type, line, &found->type);
	found->entry = regexec(&patterns->entry, line, 0, NULL, 0) == 0;
}

/*
 * Each line is a text of its own: an expression over the whole could take time that grows with the square of its length.
 */
static void look(const struct sbx_lang *lang, struct sbx_str code, struct found *found)
{
	struct patterns patterns = {.has_file = false};
	SBX_CLEANUP(sbx_freep) char *copy = NULL;
	char *line, *next;

	compile_all(lang, &patterns);
	if (!patterns.has_file && !patterns.has_main)
		return;
	copy = sbx_str_dup((struct sbx_str){
		.p = code.p, .n = code.n < SBX_SOURCE_LOOK ? code.n : SBX_SOURCE_LOOK});
	for (line = copy; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		look_at_line(&patterns, line, found);
	}
	release_all(&patterns);
}

static char *stem_of(const char *file)
{
	const char *dot = strrchr(file, '.');
	struct sbx_str s = sbx_str_of(file);

	if (dot && dot != file)
		s.n = (size_t)(dot - file);
	return sbx_str_dup(s);
}

void sbx_source_names(const struct sbx_lang *lang, const char *basename, struct sbx_str code,
		      struct sbx_source_names *ret)
{
	struct found found = {.file = NULL};
	const char *dot = strrchr(lang->file, '.');

	look(lang, code, &found);
	if (!basename && found.file)
		ret->file = sbx_xasprintf("%s%s", found.file, dot ? dot : "");
	else
		ret->file = sbx_xstrdup(basename ? basename : lang->file);
	ret->stem = stem_of(ret->file);
	ret->main = sbx_xasprintf("%s%s%s", found.package ? found.package : "",
				  found.package ? "." : "",
				  found.entry && found.type ? found.type : ret->stem);
	free(found.file);
	free(found.package);
	free(found.type);
}

void sbx_source_names_release(struct sbx_source_names *names)
{
	free(names->file);
	free(names->stem);
	free(names->main);
	*names = (struct sbx_source_names){.file = NULL};
}
