/* RFC 4648 base64, one line, padded. */
#pragma once

#include "lib/base/attr.h"
#include "lib/base/str.h"

struct sbx_buf;
struct sbx_err;

int sbx_base64_encode(struct sbx_buf *out, const void *p, size_t n,
		      struct sbx_err *err) SBX_MUST_USE;
int sbx_base64_decode(struct sbx_buf *out, struct sbx_str text, struct sbx_err *err) SBX_MUST_USE;
