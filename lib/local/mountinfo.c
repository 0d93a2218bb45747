#include "lib/local/mountinfo.h"

static bool parse(struct sbx_str line, struct sbx_mountinfo *ret)
{
	struct sbx_str id, parent, word, source;

	/* 36 35 98:0 /root /point options [tags...] - type source options */
	if (!sbx_str_split(&line, ' ', &id) || !sbx_str_split(&line, ' ', &parent) ||
	    !sbx_str_split(&line, ' ', &ret->device) || !sbx_str_split(&line, ' ', &ret->root) ||
	    !sbx_str_split(&line, ' ', &ret->point))
		return false;
	do {
		if (!sbx_str_split(&line, ' ', &word))
			return false;
	} while (!sbx_str_eq(word, "-"));
	return sbx_str_split(&line, ' ', &ret->type) && sbx_str_split(&line, ' ', &source) &&
	       sbx_str_split(&line, ' ', &ret->options);
}

bool sbx_mountinfo_next(struct sbx_str *rest, struct sbx_mountinfo *ret)
{
	struct sbx_str line;

	while (sbx_str_split(rest, '\n', &line)) {
		if (parse(line, ret))
			return true;
	}
	return false;
}

bool sbx_list_has(struct sbx_str list, const char *word)
{
	struct sbx_str part;

	while (sbx_str_split(&list, ',', &part)) {
		if (sbx_str_eq(part, word))
			return true;
	}
	return false;
}
