#include "lib/sandbox/job.h"

#include <stdlib.h>

#include "lib/sandbox/run.h"
#include "t/unit/tap.h"

/* Parses text over a fresh request, which is the caller's to release. */
static int parse(const char *text, struct sbx_request *req, struct sbx_err *err)
{
	sbx_request_init(req);
	return sbx_job_read(sbx_str_of(text), "line 1", req, err);
}

static int try(const char *text, struct sbx_err *err)
{
	struct sbx_request req;
	int r = parse(text, &req, err);

	sbx_request_release(&req);
	return r;
}

TEST(everything)
{
	struct sbx_request req;

	ok_call(parse("{\"id\":\"a\",\"lang\":\"l\",\"code\":\"x\\u0000y\",\"args\":[\"1\",\"--"
		      "timeout\"],"
		      "\"stdin\":\"in\",\"env\":{\"A\":\"1\",\"B\":\"\"},\"timeout\":1.5,"
		      "\"memory\":\"64m\","
		      "\"pids\":7,\"tty\":false,\"out\":[\"*.a\",\"*.b\"],\"max_output\":\"1k\","
		      "\"files\":[{\"path\":\"d/e\",\"data\":\"D\"},"
		      "{\"path\":\"f\",\"base64\":\"AAE=\",\"mode\":\"0755\"}]}",
		      &req, err));
	ok_str(req.id, "a");
	ok_str(req.lang, "l");
	ok(req.has_code);
	ok_mem(req.code.p, req.code.len, "x\0y", 3);
	ok_int(req.args.n, 2);
	ok_str(req.args.v[1], "--timeout");
	ok_int(req.stdin_kind, SBX_STDIN_BYTES);
	ok_mem(req.stdin_bytes.p, req.stdin_bytes.len, "in", 2);
	ok_int(req.env.n, 2);
	ok_str(req.env.v[1], "B=");
	ok_int(req.timeout_ns, 1500000000);
	ok_int(req.limits.memory_bytes, 64 << 20);
	ok_int(req.limits.disk_bytes, 16 << 20);
	ok_int(req.limits.pids, 7);
	ok_int(req.out.n, 2);
	ok_int(req.max_output, 1024);
	ok_int(req.n_files, 2);
	ok_str(req.files[0].dest, "d/e");
	ok(req.files[0].host == NULL);
	ok_mem(req.files[0].data.p, req.files[0].data.len, "D", 1);
	ok_mem(req.files[1].data.p, req.files[1].data.len, "\0\1", 2);
	ok_int(req.files[1].mode, 0755);
	sbx_request_release(&req);
}

TEST(little)
{
	struct sbx_request req;

	ok_call(parse(
		"{\"file\":\"f.py\",\"id\":\"7\",\"env\":{\"A\":\"1\"},\"stdin_base64\":\"/w==\"}",
		&req, err));
	ok_str(req.id, "7");
	ok_str(req.code_path, "f.py");
	ok(!req.has_code);
	ok_str(req.env.v[0], "A=1");
	ok_mem(req.stdin_bytes.p, req.stdin_bytes.len, "\xff", 1);
	ok_int(req.timeout_ns, 30000000000);
	sbx_request_release(&req);
	ok_call(try("{\"code\":\"\"}", err));
}

TEST(not_a_job)
{
	ok_fail(try("", err), SBX_E_INVALID, "line 1");
	ok_fail(try("not json", err), SBX_E_INVALID, "line 1");
	ok_fail(try("{\"a\":", err), SBX_E_INVALID, "line 1, column 6: expected a value");
	ok_fail(try("[]", err), SBX_E_USAGE, "line 1: a job is an object, not an array");
	ok_fail(try("{}", err), SBX_E_USAGE, "line 1: give either code or file");
	ok_fail(try("{\"code\":\"\",\"file\":\"f\"}", err), SBX_E_USAGE, "either code or file");
	ok_fail(try("{\"code\":\"\",\"colour\":1}", err), SBX_E_USAGE, "'colour'");
	ok_fail(try("{\"code\":\"\",\"code\":\"\"}", err), SBX_E_INVALID, "code");
}

TEST(wrong_values)
{
	ok_fail(try("{\"code\":1}", err), SBX_E_USAGE,
		"line 1: code: must be a string, not a number");
	ok_fail(try("{\"code\":\"\",\"args\":\"a\"}", err), SBX_E_USAGE, "args: must be an array");
	ok_fail(try("{\"code\":\"\",\"args\":[1]}", err), SBX_E_USAGE, "args: must be a string");
	ok_fail(try("{\"code\":\"\",\"args\":[\"a\\u0000b\"]}", err), SBX_E_USAGE, "NUL");
	ok_fail(try("{\"code\":\"\",\"timeout\":\"0\"}", err), SBX_E_USAGE, "line 1: timeout: ");
	ok_fail(try("{\"code\":\"\",\"timeout\":null}", err), SBX_E_USAGE, "timeout: must be");
	ok_fail(try("{\"code\":\"\",\"env\":{\"A=B\":\"\"}}", err), SBX_E_USAGE, "'A=B'");
	ok_fail(try("{\"code\":\"\",\"env\":{\"A\":1}}", err), SBX_E_USAGE,
		"env: must be a string");
	ok_fail(try("{\"code\":\"\",\"stdin_base64\":\"?\"}", err), SBX_E_INVALID, "stdin_base64");
}

/* What is the whole command's, or would name files of the host from a line of data. */
TEST(not_for_jobs)
{
	ok_fail(try("{\"code\":\"\",\"mount\":\"/etc:/x\"}", err), SBX_E_USAGE,
		"a job cannot set 'mount'");
	ok_fail(try("{\"code\":\"\",\"backend\":\"local\"}", err), SBX_E_USAGE, "'backend'");
	ok_fail(try("{\"code\":\"\",\"env-file\":\"/etc/passwd\"}", err), SBX_E_USAGE,
		"'env-file'");
}

TEST(wrong_files)
{
	ok_fail(try("{\"code\":\"\",\"files\":{}}", err), SBX_E_USAGE, "files: must be an array");
	ok_fail(try("{\"code\":\"\",\"files\":[{\"path\":\"../x\",\"data\":\"\"}]}", err),
		SBX_E_USAGE, "'..'");
	ok_fail(try("{\"code\":\"\",\"files\":[{\"path\":\"y\"}]}", err), SBX_E_USAGE,
		"either data or base64");
	ok_fail(try("{\"code\":\"\",\"files\":[{\"path\":\"x\",\"data\":\"\",\"base64\":\"\"}]}",
		    err),
		SBX_E_USAGE, "either data or base64");
	ok_fail(try("{\"code\":\"\",\"files\":[{\"path\":\"x\",\"data\":\"\",\"mode\":\"rwx\"}]}",
		    err),
		SBX_E_USAGE, "octal");
	ok_fail(try("{\"code\":\"\",\"files\":[{\"path\":\"x\",\"data\":\"\",\"mode\":\"1777\"}]}",
		    err),
		SBX_E_USAGE, "octal");
	ok_fail(try("{\"code\":\"\",\"files\":[{\"path\":\"x\",\"data\":\"\",\"owner\":\"0\"}]}",
		    err),
		SBX_E_INVALID, "owner");
}

/* The failure is told under the id that the line had, wherever it stands. */
TEST(id_survives)
{
	struct sbx_request req;

	ok_fail(parse("{\"colour\":1,\"id\":\"late\",\"code\":\"\"}", &req, err), SBX_E_USAGE,
		"colour");
	ok_str(req.id, "late");
	sbx_request_release(&req);
	ok_fail(try("{\"id\":\"\",\"code\":\"\"}", err), SBX_E_USAGE,
		"id: must be a number or a string of 1 to");
	ok_fail(try("{\"id\":true,\"code\":\"\"}", err), SBX_E_USAGE, "id: must be a number");
	ok_call(parse("{\"id\":17,\"code\":\"\"}", &req, err));
	ok_str(req.id, "17");
	sbx_request_release(&req);
}

TAP_MAIN(RUN(everything), RUN(little), RUN(not_a_job), RUN(wrong_values), RUN(not_for_jobs),
	 RUN(wrong_files), RUN(id_survives))
