#include "lib/event/control.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/json/write.h"

#define ALL_BITS (UINT32_MAX >> (32 - SBX_CTL_COUNT_))

static const char *const names[] = {
#define SBX_CONTROL(sym, name) [SBX_CTL_##sym] = (name),
#include "lib/event/control.def"
#undef SBX_CONTROL
};

static const char *const held_names[] = {
	[SBX_HELD_ABSENT] = "not part of this run",
	[SBX_HELD_ENFORCED] = "enforced",
	[SBX_HELD_DEGRADED] = "degraded",
	[SBX_HELD_UNSUPPORTED] = "unsupported",
};

const char *sbx_control_name(enum sbx_control ctl)
{
	return names[ctl];
}

bool sbx_control_find(struct sbx_str name, enum sbx_control *ret)
{
	for (int i = 0; i < SBX_CTL_COUNT_; i++) {
		if (sbx_str_eq(name, names[i])) {
			*ret = (enum sbx_control)i;
			return true;
		}
	}
	return false;
}

void sbx_receipt_set(struct sbx_receipt *receipt, enum sbx_control ctl, enum sbx_held held,
		     const char *fmt, ...)
{
	char raw[2 * sizeof(receipt->control[ctl].by)], *by = receipt->control[ctl].by;
	va_list ap;

	receipt->control[ctl].held = held;
	by[0] = '\0';
	va_start(ap, fmt);
	if (vsnprintf(raw, sizeof(raw), fmt, ap) >= 0)
		(void)sbx_utf8_show(by, sizeof(receipt->control[ctl].by), 0, raw);
	va_end(ap);
}

void sbx_receipt_write(const struct sbx_receipt *receipt, struct sbx_jw *jw)
{
	for (int held = SBX_HELD_ENFORCED; held <= SBX_HELD_UNSUPPORTED; held++) {
		sbx_jw_key(jw, held_names[held]);
		sbx_jw_object(jw);
		for (int i = 0; i < SBX_CTL_COUNT_; i++) {
			if ((int)receipt->control[i].held == held)
				sbx_jw_kstr(jw, names[i], receipt->control[i].by);
		}
		sbx_jw_end(jw);
	}
}

static int unknown_name(struct sbx_str name, const char *option, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release)
	struct sbx_buf list = SBX_BUF_INIT(1024);

	for (int i = 0; i < SBX_CTL_COUNT_; i++) {
		if (sbx_buf_addf(&list, err, " %s", names[i]) < 0)
			return -1;
	}
	return sbx_fail(err, SBX_E_USAGE, "%s: no control is called '%.*s'; use all or names of:%s",
			option, name.n < 64 ? (int)name.n : 64, name.p, sbx_buf_str(&list));
}

int sbx_control_parse(struct sbx_str list, const char *option, uint32_t *ret_bits,
		      struct sbx_err *err)
{
	uint32_t bits = 0;
	struct sbx_str part;

	if (list.n == 0)
		return unknown_name(list, option, err);
	while (sbx_str_split(&list, ',', &part)) {
		enum sbx_control ctl;

		part = sbx_str_trim(part);
		if (sbx_str_eq(part, "all"))
			bits = ALL_BITS;
		else if (sbx_control_find(part, &ctl))
			bits |= 1U << ctl;
		else
			return unknown_name(part, option, err);
	}
	*ret_bits = bits;
	return 0;
}

/* "memory,cpu" for the controls in bits; room for all of them. */
static int add_names(struct sbx_buf *out, uint32_t bits, struct sbx_err *err)
{
	const char *sep = "";

	for (int i = 0; i < SBX_CTL_COUNT_; i++) {
		if (!(bits & 1U << i))
			continue;
		if (sbx_buf_addf(out, err, "%s%s", sep, names[i]) < 0)
			return -1;
		sep = ",";
	}
	return 0;
}

/* "; memory is degraded: polling" for each control in bits. */
static int add_reasons(struct sbx_buf *out, const struct sbx_receipt *receipt, uint32_t bits,
		       struct sbx_err *err)
{
	for (int i = 0; i < SBX_CTL_COUNT_; i++) {
		const char *by = receipt->control[i].by;

		if (!(bits & 1U << i))
			continue;
		if (sbx_buf_addf(out, err, "; %s is %s%s%s", names[i],
				 held_names[receipt->control[i].held], by[0] ? ": " : "", by) < 0)
			return -1;
	}
	return 0;
}

/* The names come before the reasons, for it is the end that a long message loses. */
static int refuse(const struct sbx_receipt *receipt, uint32_t lacking, uint32_t weak,
		  struct sbx_err *err)
{
	SBX_CLEANUP(sbx_buf_release)
	struct sbx_buf text = SBX_BUF_INIT(8192);
	uint32_t all = lacking | weak;

	if (sbx_buf_adds(&text, "cannot enforce ", err) < 0 || add_names(&text, all, err) < 0)
		return -1;
	if (weak) {
		if (sbx_buf_adds(&text, " (--require-enforced asks for ", err) < 0 ||
		    add_names(&text, weak, err) < 0 || sbx_buf_addc(&text, ')', err) < 0)
			return -1;
	}
	if (lacking) {
		if (sbx_buf_adds(&text, " (--accept-missing=", err) < 0 ||
		    add_names(&text, lacking, err) < 0 ||
		    sbx_buf_adds(&text, " runs without)", err) < 0)
			return -1;
	}
	if (add_reasons(&text, receipt, all, err) < 0)
		return -1;
	return sbx_fail(err, SBX_E_UNSUPPORTED, "%s", sbx_buf_str(&text));
}

int sbx_receipt_judge(const struct sbx_receipt *receipt, uint32_t require_bits,
		      uint32_t accept_bits, struct sbx_err *err)
{
	uint32_t lacking = 0, weak = 0;

	for (int i = 0; i < SBX_CTL_COUNT_; i++) {
		enum sbx_held held = receipt->control[i].held;
		uint32_t bit = 1U << i;

		if (held == SBX_HELD_UNSUPPORTED && !(accept_bits & bit))
			lacking |= bit;
		/* `all` means those of the run; one that was named must be there. */
		if (held == SBX_HELD_ABSENT && require_bits == ALL_BITS)
			continue;
		if (held != SBX_HELD_ENFORCED && require_bits & bit)
			weak |= bit;
	}
	return lacking | weak ? refuse(receipt, lacking, weak, err) : 0;
}
