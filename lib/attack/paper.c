/* SP: what is asked of a backend, before anything is asked: the plan, and the filter as it is shipped. */
#include <stdlib.h>
#include <string.h>

#include "lib/attack/test.h"
#include "lib/base/buf.h"
#include "lib/base/fd.h"
#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/def/search.h"
#include "lib/json/doc.h"

/* The receipt of a run: nothing that applies is left out.  allow_hosts and cpu_time were not asked for. */
static void judge_receipt(struct sbx_test *t, const struct sbx_seen *seen)
{
	if (!seen->started) {
		sbx_note(t, SBX_P_SP01, SBX_VERDICT_UNKNOWN, "no run: %s", seen->error);
		return;
	}
	for (enum sbx_control c = 0; c < SBX_CTL_COUNT_; c++) {
		bool applies = c != SBX_CTL_ALLOW_HOSTS && c != SBX_CTL_CPU_TIME;

		sbx_note_fact(t, SBX_P_SP01,
			      !applies || seen->receipt.control[c].held != SBX_HELD_ABSENT, "%s",
			      applies ? sbx_control_name(c) : "the others were not asked for");
	}
}

static bool is_empty(struct sbx_json root, const char *key)
{
	struct sbx_json v;

	return sbx_json_get(root, key, &v) && sbx_json_type(v) == SBX_JSON_ARRAY &&
	       sbx_json_count(v) == 0;
}

static void judge_reach(struct sbx_test *t, struct sbx_json root)
{
	struct sbx_json v;

	sbx_note_fact(t, SBX_P_SP02, is_empty(root, "mounts"), "no mounts of the host");
	sbx_note_fact(t, SBX_P_SP02,
		      sbx_json_get(root, "network", &v) && sbx_json_type(v) == SBX_JSON_STRING &&
			      sbx_str_eq(sbx_json_string(v), "none"),
		      "network none");
	sbx_note_fact(t, SBX_P_SP02, is_empty(root, "out"), "no files out");
}

static void judge_env(struct sbx_test *t, struct sbx_json root)
{
	static const char *const names[] = {"PATH=", "HOME=", "USER=", "LANG=", "TZ="};
	struct sbx_json env, key, value;
	struct sbx_json_iter it;

	if (!sbx_json_get(root, "env", &env) || sbx_json_type(env) != SBX_JSON_ARRAY) {
		sbx_note(t, SBX_P_SP03, SBX_VERDICT_UNKNOWN, "the plan has no environment");
		return;
	}
	it = sbx_json_iter(env);
	while (sbx_json_next(&it, &key, &value)) {
		struct sbx_str s = sbx_json_string(value);
		bool known = false;

		for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++)
			known = known || sbx_str_has_prefix(s, names[i]);
		sbx_note_fact(t, SBX_P_SP03, known, "%d variables of ours%s%.*s",
			      sbx_json_count(env), known ? "" : ": ", known ? 0 : (int)s.n, s.p);
	}
}

static void judge_limits(struct sbx_test *t, struct sbx_json root)
{
	struct sbx_json limits, key, value;
	struct sbx_json_iter it;

	if (!sbx_json_get(root, "limits", &limits) || sbx_json_type(limits) != SBX_JSON_OBJECT) {
		sbx_note(t, SBX_P_SP05, SBX_VERDICT_UNKNOWN, "the plan has no limits");
		return;
	}
	it = sbx_json_iter(limits);
	while (sbx_json_next(&it, &key, &value)) {
		struct sbx_str name = sbx_json_string(key);

		/* The wall clock bounds it: there is no default. */
		if (!sbx_str_eq(name, "cpu_time_ns"))
			sbx_note_fact(t, SBX_P_SP05, sbx_json_type(value) == SBX_JSON_NUMBER,
				      "%.*s", (int)name.n, name.p);
	}
}

/* ---- the filter */

static bool allows(struct sbx_json rule)
{
	struct sbx_json action;

	return sbx_json_get(rule, "action", &action) && sbx_json_type(action) == SBX_JSON_STRING &&
	       sbx_str_eq(sbx_json_string(action), "SCMP_ACT_ALLOW");
}

static bool has_args(struct sbx_json rule)
{
	struct sbx_json args;

	return sbx_json_get(rule, "args", &args) && sbx_json_count(args) > 0;
}

static bool names(struct sbx_json rule, struct sbx_str call)
{
	struct sbx_json list, key, value;
	struct sbx_json_iter it;

	if (!sbx_json_get(rule, "names", &list))
		return false;
	it = sbx_json_iter(list);
	while (sbx_json_next(&it, &key, &value)) {
		struct sbx_str s = sbx_json_string(value);

		if (s.n == call.n && memcmp(s.p, call.p, s.n) == 0)
			return true;
	}
	return false;
}

/* A bare allow swallows every rule about an argument of the same call. */
static void judge_call(struct sbx_test *t, struct sbx_json rules, struct sbx_str call)
{
	struct sbx_json_iter it = sbx_json_iter(rules);
	struct sbx_json key, rule;
	bool bare = false, by_argument = false;

	while (sbx_json_next(&it, &key, &rule)) {
		if (!names(rule, call))
			continue;
		bare = bare || (allows(rule) && !has_args(rule));
		by_argument = by_argument || has_args(rule);
	}
	if (bare && by_argument)
		sbx_note(t, SBX_P_SP04, SBX_VERDICT_REACHED, "%.*s", (int)call.n, call.p);
}

static void judge_filter(struct sbx_test *t, struct sbx_json root)
{
	struct sbx_json rules, key, rule, list, name;
	struct sbx_json_iter it, inner;
	unsigned int n = 0;

	if (!sbx_json_get(root, "syscalls", &rules) || sbx_json_type(rules) != SBX_JSON_ARRAY) {
		sbx_note(t, SBX_P_SP04, SBX_VERDICT_UNKNOWN, "the profile has no rules");
		return;
	}
	it = sbx_json_iter(rules);
	while (sbx_json_next(&it, &key, &rule)) {
		if (!has_args(rule) || !sbx_json_get(rule, "names", &list))
			continue;
		inner = sbx_json_iter(list);
		while (sbx_json_next(&inner, &key, &name)) {
			judge_call(t, rules, sbx_json_string(name));
			n++;
		}
	}
	sbx_note_fact(t, SBX_P_SP04, n > 0, "%u rules by argument", n);
}

static void read_filter(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_DOC_MAX);
	SBX_CLEANUP(sbx_freep) char *share = NULL, *path = NULL;
	struct sbx_err why = SBX_ERR_INIT;

	if (sbx_search_share(&share, &why) == 0) {
		path = sbx_xasprintf("%s/seccomp/default.json", share);
		if (sbx_read_file(path, &text, &why) == 0 &&
		    sbx_json_parse((struct sbx_str){sbx_buf_str(&text), text.len}, path, &doc,
				   &why) == 0) {
			judge_filter(t, sbx_json_root(doc));
			return;
		}
	}
	sbx_note(t, SBX_P_SP04, SBX_VERDICT_UNKNOWN, "%s", why.msg);
}

static void read_plan(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_json_freep) struct sbx_json_doc *doc = NULL;
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf text = SBX_BUF_INIT(SBX_DOC_MAX);
	struct sbx_err why = SBX_ERR_INIT;

	if (sbx_try_plan(t, &text, &why) < 0 ||
	    sbx_json_parse((struct sbx_str){sbx_buf_str(&text), text.len}, "the plan", &doc, &why) <
		    0) {
		sbx_note(t, SBX_P_SP02, SBX_VERDICT_UNKNOWN, "%s", why.msg);
		return;
	}
	judge_reach(t, sbx_json_root(doc));
	judge_env(t, sbx_json_root(doc));
	judge_limits(t, sbx_json_root(doc));
}

void sbx_test_paper(struct sbx_test *t)
{
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	struct sbx_try try = {.name = "nothing"};

	read_plan(t);
	read_filter(t);
	sbx_try(t, &try, seen);
	judge_receipt(t, seen);
	free(seen);
}
