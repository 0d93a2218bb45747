/*
 * Theory of operation: the text is checked, split by jsmn, and then two fields of each token that jsmn needs no more are put to
 * use, so that a document takes its text, 20 bytes a token, and the strings that had escapes:
 *
 *	token	  size			parent
 *	object	  members		the token behind its last one
 *	array	  elements		the same
 *	string	  length unescaped	where it stands in plain, or -1: as it stands in the text
 */
#include "lib/json/doc.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/json/check.h"

/* With links to parents jsmn takes linear time; not strict, since scalars are texts too.  What it takes beyond is refused before. */
#define JSMN_STATIC
#define JSMN_PARENT_LINKS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <jsmn.h>
#pragma GCC diagnostic pop

_Static_assert(SBX_JOB_LINE_MAX < INT32_MAX, "offsets of jsmn are int");

struct sbx_json_doc {
	char *text;  /* owned */
	char *plain; /* owned: unescaped strings, one behind the other; NULL if none has an escape */
	jsmntok_t *tokens;
	int n_tokens;
};

struct key {
	struct sbx_str name;
	int token;
};

void sbx_json_free(struct sbx_json_doc *doc)
{
	if (!doc)
		return;
	free(doc->text);
	free(doc->plain);
	free(doc->tokens);
	free(doc);
}

void sbx_json_freep(struct sbx_json_doc **doc)
{
	sbx_json_free(*doc);
	*doc = NULL;
}

static const jsmntok_t *token_of(struct sbx_json v)
{
	assert(v.doc && v.token >= 0 && v.token < v.doc->n_tokens);
	return &v.doc->tokens[v.token];
}

/* The token behind the value that begins at i. */
static int behind(const struct sbx_json_doc *doc, int i)
{
	const jsmntok_t *t = &doc->tokens[i];

	return t->type == JSMN_OBJECT || t->type == JSMN_ARRAY ? t->parent : i + 1;
}

static void link_containers(struct sbx_json_doc *doc)
{
	int open[SBX_JSON_DEPTH], depth = 0;

	for (int i = 0; i < doc->n_tokens; i++) {
		jsmntok_t *t = &doc->tokens[i];

		while (depth > 0 && doc->tokens[open[depth - 1]].end <= t->start)
			doc->tokens[open[--depth]].parent = i;
		if (t->type == JSMN_OBJECT || t->type == JSMN_ARRAY)
			open[depth++] = i;
	}
	while (depth > 0)
		doc->tokens[open[--depth]].parent = doc->n_tokens;
}

static char *put_utf8(char *to, unsigned int c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

/* The character that the escape at *p stands for, known to be good; moves *p behind it. */
static unsigned int take_escape(const char **p, const char *end)
{
	static const char named[] = "b\bf\fn\nr\rt\t";
	char kind = (*p)[1];
	const char *row;
	unsigned int c;

	*p += 2;
	if (kind != 'u') {
		for (row = named; *row && *row != kind; row += 2)
			;
		return (unsigned char)(*row ? row[1] : kind);
	}
	c = (unsigned int)sbx_json_hex4(*p, end);
	*p += 4;
	if (c >= 0xd800 && c <= 0xdbff) {
		unsigned int low = (unsigned int)sbx_json_hex4(*p + 2, end);

		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		*p += 6;
	}
	return c;
}

/* Unescapes [p, end) to to, which has room for as much; returns where it ends there. */
static char *unescape(const char *p, const char *end, char *to)
{
	while (p < end) {
		const char *escape = memchr(p, '\\', (size_t)(end - p));
		size_t n = (size_t)((escape ? escape : end) - p);

		memcpy(to, p, n);
		to += n;
		p += n;
		if (escape)
			to = put_utf8(to, take_escape(&p, end));
	}
	return to;
}

static bool has_escape(const struct sbx_json_doc *doc, const jsmntok_t *t)
{
	return t->type == JSMN_STRING &&
	       memchr(doc->text + t->start, '\\', (size_t)(t->end - t->start));
}

static int unescape_strings(struct sbx_json_doc *doc, struct sbx_err *err)
{
	size_t room = 0;
	char *to;

	for (int i = 0; i < doc->n_tokens; i++) {
		jsmntok_t *t = &doc->tokens[i];

		if (t->type != JSMN_STRING)
			continue;
		t->size = t->end - t->start;
		t->parent = has_escape(doc, t) ? 0 : -1;
		if (t->parent == 0)
			room += (size_t)t->size;
	}
	if (room == 0)
		return 0;
	doc->plain = to = malloc(room);
	if (!to)
		return sbx_fail(err, SBX_E_LIMIT, "no memory for %zu bytes of strings", room);
	for (int i = 0; i < doc->n_tokens; i++) {
		jsmntok_t *t = &doc->tokens[i];

		if (t->type != JSMN_STRING || t->parent < 0)
			continue;
		t->parent = (int)(to - doc->plain);
		to = unescape(doc->text + t->start, doc->text + t->end, to);
		t->size = (int)(to - doc->plain) - t->parent;
	}
	return 0;
}

static int split(struct sbx_json_doc *doc, struct sbx_str text, size_t n_tokens,
		 struct sbx_err *err)
{
	jsmn_parser parser;

	doc->text = malloc(text.n);
	doc->tokens = calloc(n_tokens, sizeof(*doc->tokens));
	if (!doc->text || !doc->tokens)
		return sbx_fail(err, SBX_E_LIMIT, "no memory for %zu bytes of JSON", text.n);
	memcpy(doc->text, text.p, text.n);
	jsmn_init(&parser);
	doc->n_tokens = jsmn_parse(&parser, doc->text, text.n, doc->tokens, (unsigned int)n_tokens);
	assert(doc->n_tokens == (int)n_tokens);
	link_containers(doc);
	return unescape_strings(doc, err);
}

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int order;

	if (x->name.n != y->name.n)
		return x->name.n < y->name.n ? -1 : 1;
	order = x->name.n > 0 ? memcmp(x->name.p, y->name.p, x->name.n) : 0;
	return order != 0 ? order : x->token - y->token;
}

/* The first key of the object that is there for the second time, or -1.  keys has room for them all. */
static int repeated_key(struct sbx_json object, struct key *keys)
{
	struct sbx_json_iter it = sbx_json_iter(object);
	struct sbx_json key, ignored;
	int first = -1;
	size_t n = 0;

	while (sbx_json_next(&it, &key, &ignored))
		keys[n++] = (struct key){sbx_json_string(key), key.token};
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 1; i < n; i++) {
		if (keys[i].name.n == keys[i - 1].name.n &&
		    memcmp(keys[i].name.p, keys[i - 1].name.p, keys[i].name.n) == 0 &&
		    (first < 0 || keys[i].token < first))
			first = keys[i].token;
	}
	return first;
}

static int refuse_repeated_keys(const struct sbx_json_doc *doc, struct sbx_str text,
				const char *what, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) struct key *keys = NULL;
	size_t cap = 0, line, column;

	for (int i = 0; i < doc->n_tokens; i++) {
		struct sbx_json object = {doc, i};
		int again;

		if (doc->tokens[i].type != JSMN_OBJECT || doc->tokens[i].size < 2)
			continue;
		if (sbx_array_grow(&keys, &cap, (size_t)doc->tokens[i].size, SBX_JSON_TOKENS,
				   sizeof(*keys), err) < 0)
			return -1;
		again = repeated_key(object, keys);
		if (again < 0)
			continue;
		sbx_json_place(text, (size_t)doc->tokens[again].start - 1, &line, &column);
		return sbx_fail(err, SBX_E_INVALID,
				"%s: line %zu, column %zu: key '%.*s' is there twice", what, line,
				column, doc->tokens[again].end - doc->tokens[again].start,
				doc->text + doc->tokens[again].start);
	}
	return 0;
}

int sbx_json_parse(struct sbx_str text, const char *what, struct sbx_json_doc **ret,
		   struct sbx_err *err)
{
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	size_t n_tokens;

	if (text.n > SBX_JOB_LINE_MAX)
		return sbx_fail(err, SBX_E_LIMIT, "%s: larger than %d bytes", what,
				SBX_JOB_LINE_MAX);
	if (sbx_json_check(text, what, &n_tokens, err) < 0)
		return -1;
	doc = sbx_new(struct sbx_json_doc);
	if (split(doc, text, n_tokens, err) < 0)
		return sbx_wrap(err, "%s", what);
	if (refuse_repeated_keys(doc, text, what, err) < 0)
		return -1;
	*ret = SBX_TAKE(doc);
	return 0;
}

struct sbx_json sbx_json_root(const struct sbx_json_doc *doc)
{
	return (struct sbx_json){doc, 0};
}

enum sbx_json_type sbx_json_type(struct sbx_json v)
{
	const jsmntok_t *t = token_of(v);

	if (t->type == JSMN_OBJECT)
		return SBX_JSON_OBJECT;
	if (t->type == JSMN_ARRAY)
		return SBX_JSON_ARRAY;
	if (t->type == JSMN_STRING)
		return SBX_JSON_STRING;
	switch (v.doc->text[t->start]) {
	case 'n':
		return SBX_JSON_NULL;
	case 't':
	case 'f':
		return SBX_JSON_BOOL;
	default:
		return SBX_JSON_NUMBER;
	}
}

const char *sbx_json_type_name(enum sbx_json_type type)
{
	static const char *const names[] = {
		[SBX_JSON_NULL] = "null",       [SBX_JSON_BOOL] = "true or false",
		[SBX_JSON_NUMBER] = "a number", [SBX_JSON_STRING] = "a string",
		[SBX_JSON_ARRAY] = "an array",  [SBX_JSON_OBJECT] = "an object",
	};

	return names[type];
}

struct sbx_json_iter sbx_json_iter(struct sbx_json parent)
{
	const jsmntok_t *t = token_of(parent);

	assert(t->type == JSMN_OBJECT || t->type == JSMN_ARRAY);
	return (struct sbx_json_iter){parent, parent.token + 1, t->size};
}

bool sbx_json_next(struct sbx_json_iter *it, struct sbx_json *key, struct sbx_json *value)
{
	const struct sbx_json_doc *doc = it->parent.doc;

	if (it->left == 0)
		return false;
	it->left--;
	*key = (struct sbx_json){doc, -1};
	if (doc->tokens[it->parent.token].type == JSMN_OBJECT)
		key->token = it->next++;
	*value = (struct sbx_json){doc, it->next};
	it->next = behind(doc, it->next);
	return true;
}

bool sbx_json_get(struct sbx_json object, const char *key, struct sbx_json *ret)
{
	struct sbx_json_iter it = sbx_json_iter(object);
	struct sbx_json name, value;

	assert(sbx_json_type(object) == SBX_JSON_OBJECT);
	while (sbx_json_next(&it, &name, &value)) {
		if (!sbx_str_eq(sbx_json_string(name), key))
			continue;
		*ret = value;
		return true;
	}
	return false;
}

int sbx_json_count(struct sbx_json v)
{
	return sbx_json_iter(v).left;
}

struct sbx_str sbx_json_string(struct sbx_json v)
{
	const jsmntok_t *t = token_of(v);

	assert(t->type == JSMN_STRING);
	return (struct sbx_str){t->parent < 0 ? v.doc->text + t->start : v.doc->plain + t->parent,
				(size_t)t->size};
}

bool sbx_json_bool(struct sbx_json v)
{
	assert(sbx_json_type(v) == SBX_JSON_BOOL);
	return v.doc->text[token_of(v)->start] == 't';
}

struct sbx_str sbx_json_raw(struct sbx_json v)
{
	const jsmntok_t *t = token_of(v);
	int quote = t->type == JSMN_STRING; /* jsmn leaves the quotes out */

	return (struct sbx_str){v.doc->text + t->start - quote,
				(size_t)(t->end - t->start + 2 * quote)};
}

int sbx_json_u64(struct sbx_json v, uint64_t max, const char *what, uint64_t *ret,
		 struct sbx_err *err)
{
	enum sbx_json_type type = sbx_json_type(v);
	struct sbx_str text = sbx_json_raw(v);
	struct sbx_err ignored = SBX_ERR_INIT;

	if (type != SBX_JSON_NUMBER)
		return sbx_fail(err, SBX_E_INVALID, "%s: must be a number, not %s", what,
				sbx_json_type_name(type));
	if (sbx_str_u64(text, max, what, ret, &ignored) < 0)
		return sbx_fail(err, SBX_E_INVALID,
				"%s: must be a whole number up to %llu, not %.*s", what,
				(unsigned long long)max, text.n < 40 ? (int)text.n : 40, text.p);
	return 0;
}
