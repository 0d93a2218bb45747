#include "lib/guest/wire.h"

#include <string.h>

static void store32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t load32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void sbx_wire_header(uint8_t out[SBX_WIRE_HEADER], const struct sbx_frame *f)
{
	store32(out, f->n);
	out[4] = f->type;
	out[5] = f->stream;
	out[6] = out[7] = 0;
	store32(out + 8, f->req);
}

long sbx_wire_parse(const uint8_t *p, size_t n, struct sbx_frame *ret)
{
	uint32_t len;

	if (n < SBX_WIRE_HEADER)
		return 0;
	len = load32(p);
	if (len > SBX_WIRE_PAYLOAD_MAX || p[5] >= SBX_WIRE_STREAMS || p[6] != 0 || p[7] != 0)
		return -1;
	if (n - SBX_WIRE_HEADER < len)
		return 0;
	*ret = (struct sbx_frame){.type = p[4],
				  .stream = p[5],
				  .req = load32(p + 8),
				  .p = p + SBX_WIRE_HEADER,
				  .n = len};
	return SBX_WIRE_HEADER + (long)len;
}

struct sbx_coder sbx_encoder(uint8_t *p, size_t cap)
{
	return (struct sbx_coder){.out = p, .end = cap};
}

struct sbx_coder sbx_decoder(const uint8_t *p, size_t n)
{
	return (struct sbx_coder){.in = p, .end = n};
}

bool sbx_coder_ok(const struct sbx_coder *c)
{
	return !c->bad && (c->out || c->at == c->end);
}

/* Whether n more bytes are there; what does not fit spoils the whole message. */
static bool has(struct sbx_coder *c, size_t n)
{
	if (c->bad || c->end - c->at < n) {
		c->bad = true;
		return false;
	}
	return true;
}

static void code_uint(struct sbx_coder *c, uint64_t *v, unsigned int bytes)
{
	unsigned int i;

	if (!has(c, bytes)) {
		if (!c->out)
			*v = 0;
		return;
	}
	if (c->out) {
		for (i = 0; i < bytes; i++)
			c->out[c->at++] = (uint8_t)(*v >> (8 * i));
		return;
	}
	*v = 0;
	for (i = 0; i < bytes; i++)
		*v |= (uint64_t)c->in[c->at++] << (8 * i);
}

void sbx_code_u8(struct sbx_coder *c, uint8_t *v)
{
	uint64_t wide = c->out ? *v : 0;

	code_uint(c, &wide, 1);
	*v = (uint8_t)wide;
}

void sbx_code_u32(struct sbx_coder *c, uint32_t *v)
{
	uint64_t wide = c->out ? *v : 0;

	code_uint(c, &wide, 4);
	*v = (uint32_t)wide;
}

void sbx_code_u64(struct sbx_coder *c, uint64_t *v)
{
	code_uint(c, v, 8);
}

void sbx_code_str(struct sbx_coder *c, const char **s)
{
	uint32_t n = c->out ? (uint32_t)strlen(*s) : 0;

	sbx_code_u32(c, &n);
	if (n >= SBX_WIRE_PAYLOAD_MAX || !has(c, (size_t)n + 1)) {
		c->bad = true;
		if (!c->out)
			*s = "";
		return;
	}
	if (c->out) {
		memcpy(c->out + c->at, *s, (size_t)n + 1);
	} else if (c->in[c->at + n] != 0 || memchr(c->in + c->at, 0, n)) {
		c->bad = true;
		*s = "";
	} else {
		*s = (const char *)c->in + c->at;
	}
	c->at += (size_t)n + 1;
}

static void code_list(struct sbx_coder *c, uint32_t *n, const char *list[SBX_WIRE_LIST_MAX])
{
	sbx_code_u32(c, n);
	if (*n > SBX_WIRE_LIST_MAX) {
		c->bad = true;
		*n = 0;
	}
	for (uint32_t i = 0; i < *n; i++)
		sbx_code_str(c, &list[i]);
}

void sbx_code_setup(struct sbx_coder *c, struct sbx_wire_setup *m)
{
	sbx_code_u32(c, &m->version);
	sbx_code_str(c, &m->digest);
	sbx_code_u32(c, &m->uid);
	sbx_code_u32(c, &m->gid);
	sbx_code_u8(c, &m->one_id);
	sbx_code_u8(c, &m->limit_memory);
	sbx_code_u8(c, &m->limit_pids);
	sbx_code_u64(c, &m->memory_bytes);
	sbx_code_u64(c, &m->pids);
	sbx_code_u64(c, &m->nofile);
	sbx_code_str(c, &m->workdir);
	code_list(c, &m->n_writable, m->writable);
	code_list(c, &m->n_readable, m->readable);
	sbx_code_u64(c, &m->disk_bytes);
}

void sbx_code_hello(struct sbx_coder *c, struct sbx_wire_hello *m)
{
	sbx_code_u32(c, &m->version);
	sbx_code_str(c, &m->digest);
}

void sbx_code_spawn(struct sbx_coder *c, struct sbx_wire_spawn *m)
{
	sbx_code_u32(c, &m->flags);
	sbx_code_u64(c, &m->timeout_ms);
	sbx_code_u64(c, &m->cpu_time_ms);
	sbx_code_u64(c, &m->max_output);
	sbx_code_u64(c, &m->kill_output);
	sbx_code_u32(c, &m->rows);
	sbx_code_u32(c, &m->cols);
	sbx_code_str(c, &m->cwd);
}

void sbx_code_resize(struct sbx_coder *c, struct sbx_wire_resize *m)
{
	sbx_code_u32(c, &m->rows);
	sbx_code_u32(c, &m->cols);
}

void sbx_code_put(struct sbx_coder *c, struct sbx_wire_put *m)
{
	sbx_code_str(c, &m->path);
	sbx_code_u32(c, &m->mode);
}

void sbx_code_get(struct sbx_coder *c, struct sbx_wire_get *m)
{
	sbx_code_u32(c, &m->max_files);
	sbx_code_u32(c, &m->max_depth);
	sbx_code_u64(c, &m->max_bytes);
	code_list(c, &m->n_globs, m->globs);
}

void sbx_code_entry(struct sbx_coder *c, struct sbx_wire_entry *m)
{
	sbx_code_u8(c, &m->kind);
	sbx_code_u8(c, &m->modified);
	sbx_code_u32(c, &m->mode);
	sbx_code_u64(c, &m->size);
	sbx_code_str(c, &m->path);
}

void sbx_code_done(struct sbx_coder *c, struct sbx_wire_done *m)
{
	sbx_code_u32(c, &m->sys);
	sbx_code_u32(c, &m->more);
	sbx_code_str(c, &m->what);
}

void sbx_code_limit(struct sbx_coder *c, struct sbx_wire_limit *m)
{
	sbx_code_u8(c, &m->stream);
	sbx_code_u64(c, &m->value);
}

void sbx_code_end(struct sbx_coder *c, struct sbx_wire_end *m)
{
	sbx_code_u8(c, &m->how);
	sbx_code_u32(c, &m->code);
	sbx_code_u32(c, &m->sys);
	sbx_code_str(c, &m->step);
	sbx_code_u8(c, &m->full);
	sbx_code_u64(c, &m->bytes[0]);
	sbx_code_u64(c, &m->bytes[1]);
	sbx_code_u64(c, &m->cpu_user_ns);
	sbx_code_u64(c, &m->cpu_sys_ns);
	sbx_code_u64(c, &m->maxrss_bytes);
	sbx_code_u64(c, &m->exec_ns);
	sbx_code_u64(c, &m->drain_ns);
}

void sbx_code_facts(struct sbx_coder *c, struct sbx_facts *m)
{
	uint64_t *const wide[] = {&m->cap_inh, &m->cap_prm, &m->cap_eff, &m->cap_bnd, &m->cap_amb,
				  &m->nproc,   &m->nofile,  &m->data,    &m->core,    &m->msgqueue};
	uint32_t *const narrow[] = {
		&m->ruid,  &m->euid,       &m->suid,         &m->rgid,         &m->egid,
		&m->sgid,  &m->groups,     &m->no_new_privs, &m->seccomp_mode, &m->landlock_abi,
		&m->umask, &m->interfaces, &m->root_readonly};

	for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
		sbx_code_u64(c, wide[i]);
	for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
		sbx_code_u32(c, narrow[i]);
}
