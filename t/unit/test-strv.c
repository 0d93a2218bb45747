#include "lib/base/strv.h"

#include "lib/base/limits.h"
#include "t/unit/tap.h"

TEST(add)
{
	struct sbx_strv sv = {.v = NULL};

	ok(!sbx_strv_contains(&sv, "a"));
	ok_call(sbx_strv_add(&sv, "a", err));
	ok_call(sbx_strv_addf(&sv, err, "%d%%", 5));
	ok_int(sv.n, 2);
	ok_str(sv.v[0], "a");
	ok_str(sv.v[1], "5%");
	ok(!sv.v[2]);
	ok(sbx_strv_contains(&sv, "5%"));
	ok(!sbx_strv_contains(&sv, "5"));
	sbx_strv_release(&sv);
	sbx_strv_release(&sv);
	ok(!sv.v && sv.n == 0);
}

TEST(ceiling)
{
	struct sbx_strv sv = {.v = NULL};

	for (size_t i = 0; i < SBX_STRV_MAX; i++) {
		if (!ok_call(sbx_strv_add(&sv, "", err)))
			break;
	}
	ok_fail(sbx_strv_add(&sv, "", err), SBX_E_LIMIT, "more than");
	ok_int(sv.n, SBX_STRV_MAX);
	ok(!sv.v[sv.n]);
	sbx_strv_release(&sv);
}

TEST(environment)
{
	struct sbx_strv env = {.v = NULL};

	ok(!sbx_strv_getenv(&env, "A"));
	ok_call(sbx_strv_setenv(&env, "AB", "1", err));
	ok_call(sbx_strv_setenv(&env, "A", "2=3", err));
	ok_call(sbx_strv_setenv(&env, "AB", "", err));
	ok_int(env.n, 2);
	ok_str(env.v[0], "AB=");
	ok_str(env.v[1], "A=2=3");
	ok_str(sbx_strv_getenv(&env, "A"), "2=3");
	ok_str(sbx_strv_getenv(&env, "AB"), "");
	ok(!sbx_strv_getenv(&env, ""));
	ok(!sbx_strv_getenv(&env, "a"));
	/* A value that lives in the entry it replaces. */
	ok_call(sbx_strv_setenv(&env, "A", sbx_strv_getenv(&env, "A") + 2, err));
	ok_str(sbx_strv_getenv(&env, "A"), "3");
	sbx_strv_release(&env);
}

TAP_MAIN(RUN(add), RUN(ceiling), RUN(environment))
