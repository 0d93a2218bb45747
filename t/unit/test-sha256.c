#include "lib/base/sha256.h"

#include "t/unit/tap.h"

static void digest(const char *p, size_t n, size_t step, char hex[65])
{
	struct sbx_sha256 ctx;

	sbx_sha256_init(&ctx);
	for (size_t i = 0; i < n; i += step)
		sbx_sha256_add(&ctx, p + i, n - i < step ? n - i : step);
	sbx_sha256_hex(&ctx, hex);
}

TEST(vectors)
{
	/* FIPS 180-2, appendix B, and the empty text. */
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char hex[65];

	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++) {
		digest(rows[i].text, strlen(rows[i].text), 64, hex);
		ok_str(hex, rows[i].want);
	}
}

TEST(million)
{
	static char text[1000000];
	char hex[65];

	memset(text, 'a', sizeof(text));
	for (size_t step = 61; step <= 130; step += 3) {
		digest(text, sizeof(text), step, hex);
		if (!ok_str(hex,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"))
			break;
	}
}

/* Every place of the end in a block, against a digest fed byte by byte. */
TEST(padding)
{
	char text[130], whole[65], pieces[65];

	memset(text, 'x', sizeof(text));
	for (size_t n = 0; n <= sizeof(text); n++) {
		digest(text, n, sizeof(text), whole);
		digest(text, n, 1, pieces);
		ok_str(pieces, whole);
	}
	digest(text, 55, 55, whole);
	ok_str(whole, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
	digest(text, 56, 56, whole);
	ok_str(whole, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
	digest(text, 64, 64, whole);
	ok_str(whole, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
}

TAP_MAIN(RUN(vectors), RUN(million), RUN(padding))
