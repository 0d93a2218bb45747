/* An event back from its line, as sbx_event_json wrote it: for whoever started a worker, and for tests. */
#pragma once

#include "lib/base/attr.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/strv.h"
#include "lib/event/event.h"

struct sbx_json_doc;

/* ev points into the rest. */
struct sbx_decoded {
	struct sbx_event ev;
	struct sbx_json_doc *doc;
	struct sbx_strv texts;
	struct sbx_buf bytes; /* of base64 */
	struct sbx_receipt receipt;
	struct sbx_err error;
};

/*
 * 1, or 0 for an event of a type that is not known, which a reader passes over, as members that are not known are.  Fails with
 * SBX_E_INVALID naming the member.  line is without line feed and RS and at most SBX_DOC_MAX bytes.  *ret must be zeroed or
 * released, and is the caller's to release whatever happens.
 */
int sbx_event_decode(struct sbx_str line, struct sbx_decoded *ret,
		     struct sbx_err *err) SBX_MUST_USE;
void sbx_decoded_release(struct sbx_decoded *dec);
