#include "lib/event/control.h"

#include "lib/base/buf.h"
#include "lib/base/utf8.h"
#include "lib/json/write.h"
#include "t/unit/tap.h"

static const uint32_t every_bit = (1U << SBX_CTL_COUNT_) - 1;

TEST(names)
{
	enum sbx_control ctl;

	ok_str(sbx_control_name(SBX_CTL_NAMESPACES), "namespaces");
	ok_str(sbx_control_name(SBX_CTL_CPU_TIME), "cpu_time");
	ok(sbx_control_find(SBX_STR("wall_time"), &ctl));
	ok_int(ctl, SBX_CTL_WALL_TIME);
	ok(!sbx_control_find(SBX_STR("cpu_"), &ctl));
	ok(!sbx_control_find(SBX_STR(""), &ctl));
}

TEST(parse)
{
	uint32_t bits = 7;

	ok_call(sbx_control_parse(SBX_STR("memory"), "--accept-missing", &bits, err));
	ok_int(bits, 1U << SBX_CTL_MEMORY);
	ok_call(sbx_control_parse(SBX_STR("cpu, pids,cpu"), "--accept-missing", &bits, err));
	ok_int(bits, 1U << SBX_CTL_CPU | 1U << SBX_CTL_PIDS);
	ok_call(sbx_control_parse(SBX_STR("all"), "--accept-missing", &bits, err));
	ok_int(bits, every_bit);
}

TEST(parse_unknown)
{
	uint32_t bits = 7;

	ok_fail(sbx_control_parse(SBX_STR("memroy"), "--accept-missing", &bits, err), SBX_E_USAGE,
		"--accept-missing: no control is called 'memroy'");
	ok_fail(sbx_control_parse(SBX_STR("cpu,x"), "--require-enforced", &bits, err), SBX_E_USAGE,
		"namespaces mounts");
	ok_fail(sbx_control_parse(SBX_STR(""), "--x", &bits, err), SBX_E_USAGE, "called ''");
	ok_fail(sbx_control_parse(SBX_STR("cpu,,pids"), "--x", &bits, err), SBX_E_USAGE, "''");
	ok_int(bits, 7);
}

static void written(const struct sbx_receipt *receipt, const char *want)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf buf = SBX_BUF_INIT(4096);
	struct sbx_err inner = SBX_ERR_INIT, *err = &inner;
	struct sbx_jw jw;

	sbx_jw_init(&jw, &buf);
	sbx_jw_object(&jw);
	sbx_receipt_write(receipt, &jw);
	sbx_jw_end(&jw);
	ok_call(sbx_jw_done(&jw, err));
	ok_str(sbx_buf_str(&buf), want);
}

TEST(receipt)
{
	struct sbx_receipt receipt = {0};

	written(&receipt, "{\"enforced\":{},\"degraded\":{},\"unsupported\":{}}");
	sbx_receipt_set(&receipt, SBX_CTL_CPU, SBX_HELD_DEGRADED, "polled every %d ms", 20);
	sbx_receipt_set(&receipt, SBX_CTL_MEMORY, SBX_HELD_UNSUPPORTED, "no");
	sbx_receipt_set(&receipt, SBX_CTL_MEMORY, SBX_HELD_ENFORCED, "cgroup v%d", 1);
	sbx_receipt_set(&receipt, SBX_CTL_LANDLOCK, SBX_HELD_UNSUPPORTED, "the kernel has none");
	written(&receipt, "{\"enforced\":{\"memory\":\"cgroup v1\"},"
			  "\"degraded\":{\"cpu\":\"polled every 20 ms\"},"
			  "\"unsupported\":{\"landlock\":\"the kernel has none\"}}");
}

TEST(long_reason_is_cut_to_valid_text)
{
	struct sbx_receipt receipt = {0};
	char text[600] = "";
	const char *by = receipt.control[SBX_CTL_CPU].by;

	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 3);
	sbx_receipt_set(&receipt, SBX_CTL_CPU, SBX_HELD_DEGRADED, "x%s", text);
	ok(strlen(by) > 100);
	ok(sbx_utf8_valid(by, strlen(by)));
	ok_str(by + strlen(by) - 3, "...");
}

TEST(judge)
{
	struct sbx_receipt receipt = {0};
	const uint32_t memory = 1U << SBX_CTL_MEMORY, cpu = 1U << SBX_CTL_CPU;

	sbx_receipt_set(&receipt, SBX_CTL_PIDS, SBX_HELD_ENFORCED, "cgroup v2");
	ok_call(sbx_receipt_judge(&receipt, every_bit, 0, err));
	sbx_receipt_set(&receipt, SBX_CTL_MEMORY, SBX_HELD_DEGRADED, "RLIMIT_DATA");
	ok_call(sbx_receipt_judge(&receipt, 0, 0, err));
	ok_call(sbx_receipt_judge(&receipt, 1U << SBX_CTL_PIDS, 0, err));
	ok_fail(sbx_receipt_judge(&receipt, memory, memory, err), SBX_E_UNSUPPORTED,
		"cannot enforce memory (--require-enforced asks for memory); memory is degraded: "
		"RLIMIT_DATA");
	ok_fail(sbx_receipt_judge(&receipt, every_bit, 0, err), SBX_E_UNSUPPORTED, "memory");
	sbx_receipt_set(&receipt, SBX_CTL_CPU, SBX_HELD_UNSUPPORTED, "no cgroup");
	ok_fail(sbx_receipt_judge(&receipt, 0, 0, err), SBX_E_UNSUPPORTED,
		"cannot enforce cpu (--accept-missing=cpu runs without); cpu is unsupported: no "
		"cgroup");
	ok_fail(sbx_receipt_judge(&receipt, 0, memory, err), SBX_E_UNSUPPORTED, "cpu");
	ok_call(sbx_receipt_judge(&receipt, 0, cpu, err));
	ok_fail(sbx_receipt_judge(&receipt, cpu, cpu, err), SBX_E_UNSUPPORTED,
		"--require-enforced asks for cpu");
	ok_fail(sbx_receipt_judge(&receipt, memory, 0, err), SBX_E_UNSUPPORTED,
		"cannot enforce memory,cpu (--require-enforced asks for memory) "
		"(--accept-missing=cpu runs without); memory is degraded");
}

/* What was named must be there; `all` is what the run has. */
TEST(judge_absent)
{
	struct sbx_receipt receipt = {0};

	ok_call(sbx_receipt_judge(&receipt, every_bit, 0, err));
	ok_fail(sbx_receipt_judge(&receipt, 1U << SBX_CTL_CPU_TIME, 0, err), SBX_E_UNSUPPORTED,
		"cpu_time is not part of this run");
}

TEST(judge_says_it_all_in_one_message)
{
	struct sbx_receipt receipt = {0};

	for (int i = 0; i < SBX_CTL_COUNT_; i++)
		sbx_receipt_set(&receipt, (enum sbx_control)i, SBX_HELD_UNSUPPORTED, "%0110d", i);
	ok_fail(sbx_receipt_judge(&receipt, every_bit, 0, err), SBX_E_UNSUPPORTED,
		"cpu_time runs without)");
}

TAP_MAIN(RUN(names), RUN(parse), RUN(parse_unknown), RUN(receipt),
	 RUN(long_reason_is_cut_to_valid_text), RUN(judge), RUN(judge_absent),
	 RUN(judge_says_it_all_in_one_message))
