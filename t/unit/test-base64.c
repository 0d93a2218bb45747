#include "lib/base/base64.h"

#include "lib/base/buf.h"
#include "t/unit/tap.h"

static const struct {
	const char *plain, *text;
} vectors[] = {
	/* RFC 4648, section 10 */
	{"", ""},
	{"f", "Zg=="},
	{"fo", "Zm8="},
	{"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"},
	{"\xfb\xff\xbf", "+/+/"},
};

TEST(vectors)
{
	for (size_t i = 0; i < SBX_ARRAY_SIZE(vectors); i++) {
		struct sbx_buf text = SBX_BUF_INIT(100), plain = SBX_BUF_INIT(100);

		ok_call(sbx_base64_encode(&text, vectors[i].plain, strlen(vectors[i].plain), err));
		ok_str(sbx_buf_str(&text), vectors[i].text);
		ok_call(sbx_base64_decode(&plain, sbx_str_of(vectors[i].text), err));
		ok_str(sbx_buf_str(&plain), vectors[i].plain);
		sbx_buf_release(&text);
		sbx_buf_release(&plain);
	}
}

TEST(all_bytes_there_and_back)
{
	struct sbx_buf text = SBX_BUF_INIT(1000), plain = SBX_BUF_INIT(1000);
	char bytes[256];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	for (size_t n = 253; n <= sizeof(bytes); n++) {
		sbx_buf_reset(&text);
		sbx_buf_reset(&plain);
		ok_call(sbx_base64_encode(&text, bytes, n, err));
		ok_call(sbx_base64_decode(&plain, (struct sbx_str){text.p, text.len}, err));
		ok_mem(plain.p, plain.len, bytes, n);
	}
	sbx_buf_release(&text);
	sbx_buf_release(&plain);
}

TEST(refused)
{
	static const char *const bad[] = {
		"Z",     "Zg",     "Zg=",  "Zm9",  "Zm9v=", "=",    "====",  "Z===",  "Zm8=Zm8=",
		"Zm\nv", "Zm9v\n", "Z=8=", "Zm-_", "Zh==",  "Zm9=", " Zg==", "Zg ==", "\xc3\xa9=="};
	struct sbx_buf plain = SBX_BUF_INIT(100);

	ok_call(sbx_buf_adds(&plain, "kept", err));
	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++) {
		if (!ok_fail(sbx_base64_decode(&plain, sbx_str_of(bad[i]), err), SBX_E_INVALID,
			     "base64"))
			printf("#   of '%s'\n", bad[i]);
		ok_str(plain.p, "kept");
		ok_int(plain.len, 4);
	}
	sbx_buf_release(&plain);
}

TEST(ceiling)
{
	struct sbx_buf buf = SBX_BUF_INIT(7);

	ok_fail(sbx_base64_encode(&buf, "foob", 4, err), SBX_E_LIMIT, "7 bytes");
	ok_fail(sbx_base64_encode(&buf, "foob", SIZE_MAX, err), SBX_E_LIMIT, "7 bytes");
	ok_call(sbx_base64_encode(&buf, "foo", 3, err));
	ok_fail(sbx_base64_decode(&buf, SBX_STR("Zm9vYmFy"), err), SBX_E_LIMIT, "7 bytes");
	ok_str(buf.p, "Zm9v");
	sbx_buf_release(&buf);
}

TAP_MAIN(RUN(vectors), RUN(all_bytes_there_and_back), RUN(refused), RUN(ceiling))
