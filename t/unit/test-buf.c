#include "lib/base/buf.h"

#include <stdlib.h>

#include "t/unit/tap.h"

TEST(empty)
{
	struct sbx_buf buf = SBX_BUF_INIT(8);
	char *text;

	ok_str(sbx_buf_str(&buf), "");
	text = sbx_buf_detach(&buf);
	ok_str(text, "");
	free(text);
	ok_call(sbx_buf_add(&buf, NULL, 0, err));
	ok(buf.p != NULL);
	ok_str(sbx_buf_str(&buf), "");
	sbx_buf_release(&buf);
	sbx_buf_release(&buf);
	ok_int(buf.max, 8);
}

TEST(ceiling)
{
	struct sbx_buf buf = SBX_BUF_INIT(8);
	char *room;

	ok_call(sbx_buf_adds(&buf, "1234567", err));
	ok_fail(sbx_buf_adds(&buf, "89", err), SBX_E_LIMIT, "more than 8 bytes");
	ok_fail(sbx_buf_addf(&buf, err, "%d", 89), SBX_E_LIMIT, "8 bytes");
	ok_fail(sbx_buf_reserve(&buf, SIZE_MAX, &room, err), SBX_E_LIMIT, "8 bytes");
	ok_str(buf.p, "1234567");
	ok_call(sbx_buf_addc(&buf, '8', err));
	ok_fail(sbx_buf_addc(&buf, '9', err), SBX_E_LIMIT, "8 bytes");
	ok_mem(buf.p, buf.len, "12345678", 8);
	ok_int(buf.p[8], 0);
	sbx_buf_release(&buf);
}

TEST(no_ceiling_at_all)
{
	struct sbx_buf buf = SBX_BUF_INIT(SIZE_MAX);
	char *room;

	ok_fail(sbx_buf_reserve(&buf, SIZE_MAX, &room, err), SBX_E_LIMIT, "more than");
	ok_call(sbx_buf_adds(&buf, "x", err));
	ok_fail(sbx_buf_reserve(&buf, SIZE_MAX - 1, &room, err), SBX_E_LIMIT, "more than");
	ok_str(buf.p, "x");
	sbx_buf_release(&buf);
}

TEST(zero_ceiling)
{
	struct sbx_buf buf = SBX_BUF_INIT(0);

	ok_call(sbx_buf_adds(&buf, "", err));
	ok_fail(sbx_buf_addc(&buf, 'x', err), SBX_E_LIMIT, "0 bytes");
	ok_str(sbx_buf_str(&buf), "");
	sbx_buf_release(&buf);
}

TEST(growth_and_nuls)
{
	struct sbx_buf buf = SBX_BUF_INIT(100000);

	for (int i = 0; i < 10000; i++) {
		if (!ok_call(sbx_buf_add(&buf, "a\0b", 3, err)))
			break;
	}
	ok_int(buf.len, 30000);
	ok_mem(buf.p + 29997, 4, "a\0b", 4);
	ok(buf.cap <= 100001);
	sbx_buf_release(&buf);
}

TEST(format)
{
	struct sbx_buf buf = SBX_BUF_INIT(1000);

	ok_call(sbx_buf_addf(&buf, err, "%s-%d", "x", 7));
	ok_call(sbx_buf_addf(&buf, err, "%0100d", 0));
	ok_int(buf.len, 103);
	ok_int(strlen(buf.p), 103);
	sbx_buf_reset(&buf);
	ok_str(sbx_buf_str(&buf), "");
	sbx_buf_release(&buf);
}

TEST(consume_and_detach)
{
	struct sbx_buf buf = SBX_BUF_INIT(100);
	char *text;

	ok_call(sbx_buf_adds(&buf, "hello world", err));
	sbx_buf_consume(&buf, 0);
	sbx_buf_consume(&buf, 6);
	ok_str(sbx_buf_str(&buf), "world");
	text = sbx_buf_detach(&buf);
	ok_str(text, "world");
	ok(buf.p == NULL && buf.len == 0 && buf.cap == 0);
	free(text);
	ok_call(sbx_buf_adds(&buf, "x", err));
	sbx_buf_consume(&buf, 1);
	ok_str(sbx_buf_str(&buf), "");
	sbx_buf_release(&buf);
}

TEST(reserve)
{
	struct sbx_buf buf = SBX_BUF_INIT(100);
	char *room;

	ok_call(sbx_buf_reserve(&buf, 100, &room, err));
	ok(room == buf.p);
	ok_int(buf.len, 0);
	memset(room, 'x', 100);
	buf.len = 100;
	buf.p[100] = '\0';
	ok_fail(sbx_buf_reserve(&buf, 1, &room, err), SBX_E_LIMIT, "100 bytes");
	ok_call(sbx_buf_reserve(&buf, 0, &room, err));
	sbx_buf_release(&buf);
}

TAP_MAIN(RUN(empty), RUN(ceiling), RUN(no_ceiling_at_all), RUN(zero_ceiling), RUN(growth_and_nuls),
	 RUN(format), RUN(consume_and_detach), RUN(reserve))
