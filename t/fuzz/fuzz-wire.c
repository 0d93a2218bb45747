/* Frames and messages: whatever can be decoded is encoded to the very same bytes, and what cannot leaves nothing dangling. */
#include "lib/guest/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

union message {
	struct sbx_wire_setup setup;
	struct sbx_wire_hello hello;
	struct sbx_wire_spawn spawn;
	struct sbx_wire_resize resize;
	struct sbx_wire_put put;
	struct sbx_wire_get get;
	struct sbx_wire_entry entry;
	struct sbx_wire_done done;
	struct sbx_wire_limit limit;
	struct sbx_wire_end end;
	struct sbx_facts facts;
};

/* Codes the message of a type, and touches its strings. */
static size_t code(struct sbx_coder *c, uint8_t type, union message *m)
{
	switch (type) {
	case SBX_WIRE_SETUP:
		sbx_code_setup(c, &m->setup);
		for (uint32_t i = 0; i < m->setup.n_writable; i++)
			(void)strlen(m->setup.writable[i]);
		return strlen(m->setup.digest) + strlen(m->setup.workdir);
	case SBX_WIRE_HELLO:
		sbx_code_hello(c, &m->hello);
		return strlen(m->hello.digest);
	case SBX_WIRE_SPAWN:
		sbx_code_spawn(c, &m->spawn);
		return strlen(m->spawn.cwd);
	case SBX_WIRE_RESIZE:
		sbx_code_resize(c, &m->resize);
		return 0;
	case SBX_WIRE_PUT:
		sbx_code_put(c, &m->put);
		return strlen(m->put.path);
	case SBX_WIRE_GET:
		sbx_code_get(c, &m->get);
		for (uint32_t i = 0; i < m->get.n_globs; i++)
			(void)strlen(m->get.globs[i]);
		return m->get.n_globs;
	case SBX_WIRE_ENTRY:
		sbx_code_entry(c, &m->entry);
		return strlen(m->entry.path);
	case SBX_WIRE_DONE:
		sbx_code_done(c, &m->done);
		return strlen(m->done.what);
	case SBX_WIRE_LIMIT:
		sbx_code_limit(c, &m->limit);
		return 0;
	case SBX_WIRE_END:
		sbx_code_end(c, &m->end);
		return strlen(m->end.step);
	case SBX_WIRE_CONFINED:
		sbx_code_facts(c, &m->facts);
		return 0;
	default:
		c->bad = true;
		return 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t again[SBX_WIRE_HEADER + SBX_WIRE_PAYLOAD_MAX];
	struct sbx_frame f;
	union message m;
	struct sbx_coder c;
	long n = sbx_wire_parse(data, size, &f);

	assert(n <= (long)size);
	if (n <= 0)
		return 0;
	assert(f.n == (size_t)n - SBX_WIRE_HEADER && f.stream < SBX_WIRE_STREAMS);
	sbx_wire_header(again, &f);
	assert(memcmp(again, data, SBX_WIRE_HEADER) == 0);
	c = sbx_decoder(f.p, f.n);
	(void)code(&c, f.type, &m);
	if (!sbx_coder_ok(&c))
		return 0;
	c = sbx_encoder(again, SBX_WIRE_PAYLOAD_MAX);
	(void)code(&c, f.type, &m);
	assert(sbx_coder_ok(&c) && c.at == f.n && memcmp(again, f.p, f.n) == 0);
	return 0;
}
