/* LI: hostile definitions, options and jobs against our own side, which must refuse them before anything starts. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/attack/test.h"
#include "lib/base/buf.h"
#include "lib/base/mem.h"
#include "lib/def/lang.h"
#include "lib/sandbox/job.h"
#include "lib/sandbox/run.h"

/* ---- options */

struct option {
	const char *name, *value;
};

/* Refused by whoever reads options, or by the run before a sandbox is up. */
static void must_refuse(struct sbx_test *t, enum sbx_probe p, const struct option *o)
{
	struct sbx_err why = SBX_ERR_INIT;
	struct sbx_seen *seen;
	struct sbx_request req;
	int r;

	sbx_request_init(&req);
	r = sbx_request_set(&req, o->name, sbx_str_of(o->value), o->name, &why);
	sbx_request_release(&req);
	if (r < 0) {
		sbx_note(t, p, SBX_VERDICT_REFUSED, "%s", sbx_code_name(why.code));
		return;
	}
	seen = sbx_new(struct sbx_seen);
	{
		const struct sbx_try try = {.name = "nothing", .set = {{o->name, o->value}}};

		sbx_try(t, &try, seen);
	}
	if (seen->started)
		sbx_note(t, p, SBX_VERDICT_REACHED, "%s %s was taken", o->name, o->value);
	else
		sbx_note(t, p, SBX_VERDICT_REFUSED, "%s", sbx_code_name(seen->code));
	free(seen);
}

static void refuse_all(struct sbx_test *t, enum sbx_probe p, const struct option *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		must_refuse(t, p, &list[i]);
}

static void try_workdirs(struct sbx_test *t)
{
	static const struct option list[] = {
		{"workdir", "/proc/self/fd/7"},
		{"workdir", "/proc/self/cwd/../.."},
		{"workdir", "/proc/1/root"},
		{"workdir", "/"},
		{"workdir", "/sandbox/../etc"},
		{"workdir", "sandbox"},
		{"workdir", "/dev/shm"},
		{"workdir", "/usr/lib"},
		{"workdir", ""},
		{"workdir", "/.llmsbx"},
		{"workdir", "/etc"},
	};

	refuse_all(t, SBX_P_LI01, list, SBX_ARRAY_SIZE(list));
}

static void try_reaching(struct sbx_test *t)
{
	SBX_CLEANUP(sbx_freep) char *socket_mount = sbx_xasprintf("%s:/mnt/s", t->plant.socket);
	const struct option list[] = {
		{"mount", "/tmp:/"},
		{"mount", "/tmp:/proc"},
		{"mount", "/tmp:/dev"},
		{"mount", "/tmp:/.llmsbx"},
		{"mount", "/tmp:/sys/fs"},
		{"mount", "/tmp:relative"},
		{"mount", "/dev/null:/mnt/n"},
		{"mount", socket_mount},
		{"mount", ":/mnt"},
		{"mount", "/tmp:/mnt:suid"},
		{"privileged", "true"},
		{"cap-add", "SYS_ADMIN"},
		{"device", "/dev/kvm"},
		{"extra-args", "--privileged"},
		{"security-opt", "seccomp=unconfined"},
		{"pid", "host"},
		{"network", "host"},
		{"network", "container:x"},
		{"user", "0:0:0"},
		{"user", "-1"},
	};
	static const struct option labels[] = {
		{"label", "run.oci.handler=x"},
		{"annotation", "io.podman.annotations.privileged=TRUE"},
		{"annotations", "{}"},
		{"labels", "{}"},
	};

	refuse_all(t, SBX_P_LI06, list, SBX_ARRAY_SIZE(list));
	refuse_all(t, SBX_P_LI07, labels, SBX_ARRAY_SIZE(labels));
}

static void try_limits(struct sbx_test *t)
{
	static const struct option list[] = {
		{"memory", "18014398509481984m"},
		{"memory", "-1"},
		{"memory", "1e18"},
		{"memory", "0"},
		{"memory", "NaN"},
		{"memory", "17592186044416g"},
		{"memory", "0x40m"},
		{"memory", "64 m"},
		{"pids", "0"},
		{"pids", "-5"},
		{"pids", "1e3"},
		{"pids", "99999999999999999999"},
		{"cpus", "NaN"},
		{"cpus", "-1"},
		{"cpus", "0"},
		{"cpus", "inf"},
		{"disk", "-1"},
		{"disk", "18446744073709551616"},
		{"max-output", "-1"},
		{"max-output", "1e9"},
	};

	refuse_all(t, SBX_P_LI08, list, SBX_ARRAY_SIZE(list));
}

static void try_variables(struct sbx_test *t)
{
	static const struct option list[] = {{"env", "=x"}, {"env", "="}, {"env", ""}};
	static const struct sbx_try loader = {
		.name = "nothing",
		.set = {{"env", "LD_PRELOAD=/sandbox/none.so"},
			{"env", "LD_AUDIT=/sandbox/none.so"},
			{"env", "GLIBC_TUNABLES=glibc.malloc.check=3"},
			{"env", "BASH_ENV=/sandbox/x"},
			{"env", "PYTHONSTARTUP=/sandbox/x"},
			{"env", "NODE_OPTIONS=--require=/sandbox/x"}},
	};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);

	refuse_all(t, SBX_P_LI04, list, SBX_ARRAY_SIZE(list));
	/* The program's own affair: a static guest and llmsbx read none of them. */
	sbx_try(t, &loader, seen);
	if (sbx_ran(t, SBX_P_LI04, seen))
		sbx_note_fact(t, SBX_P_LI04,
			      seen->outcome == SBX_OUT_EXITED && !getenv("LD_PRELOAD"),
			      "variables of loaders reach the program only");
	free(seen);
}

/* ---- jobs */

static void try_jobs(struct sbx_test *t)
{
	static const struct sbx_str bad[] = {
		SBX_STR("{\"code\":\"a\\u0000b\",\"args\":[\"x\\u0000y\"]}"),
		SBX_STR("{\"args\":[1]}"),
		SBX_STR("{\"env\":{\"A=B\":\"x\"},\"code\":\"\"}"),
		SBX_STR("{\"env\":{\"\":\"x\"},\"code\":\"\"}"),
		SBX_STR("{\"env\":{\"A\\u0000B\":\"x\"},\"code\":\"\"}"),
		SBX_STR("{\"env\":{\"A\":\"x\\u0000\"},\"code\":\"\"}"),
		SBX_STR("{\"code\":\"\",\"files\":[{\"path\":\"../x\",\"data\":\"\"}]}"),
		SBX_STR("{\"code\":\"\",\"files\":[{\"path\":\"/x\",\"data\":\"\"}]}"),
		SBX_STR("{\"code\":\"\",\"files\":[{\"path\":\"a\\u0000b\",\"data\":\"\"}]}"),
		SBX_STR("{\"code\":\"\",\"files\":[{\"path\":\"x\",\"data\":\"\",\"mode\":"
			"\"06777\"}]}"),
		SBX_STR("{\"code\":\"\",\"privileged\":true}"),
		SBX_STR("{\"code\":\"\",\"code\":\"\"}"),
		SBX_STR("{\"code\":\"\xff\"}"),
		SBX_STR("{\"code\":\"\\ud800\"}"),
		SBX_STR("[]"),
		SBX_STR("{"),
		SBX_STR("{\"code\":\"\"} x"),
		SBX_STR("{\"code\":\"\",\"timeout\":-1}"),
		SBX_STR("{\"code\":\"\",\"memory\":1e400}"),
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++) {
		struct sbx_err why = SBX_ERR_INIT;
		struct sbx_request req;

		sbx_request_init(&req);
		if (sbx_job_read(bad[i], "job", &req, &why) == 0)
			sbx_note(t, SBX_P_LI05, SBX_VERDICT_REACHED, "%.*s was taken",
				 (int)bad[i].n, bad[i].p);
		else
			sbx_note(t, SBX_P_LI05, SBX_VERDICT_REFUSED, "%s", sbx_code_name(why.code));
		sbx_request_release(&req);
	}
}

static void try_code(struct sbx_test *t)
{
	static const char bytes[] = "-rf\0\xff\xfe$(touch x)`y`\n\r\033[2J";
	const struct sbx_try try = {.name = "nothing", .code = {bytes, sizeof(bytes) - 1}};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);

	sbx_try(t, &try, seen);
	if (sbx_ran(t, SBX_P_LI05, seen))
		sbx_note_fact(t, SBX_P_LI05, seen->outcome == SBX_OUT_EXITED,
			      "code of any bytes is a file like any other (%s)",
			      sbx_outcome_name(seen->outcome));
	free(seen);
}

/* ---- definitions */

#define DEFINITION(rest)                                                                          \
	"{\"name\":\"x\",\"title\":\"X\",\"file\":\"x.x\",\"selftest\":{\"code\":\"\",\"stdin\":" \
	"\"\",\"stdout\":\"\"}," rest "}"
#define RUNNING(words) "\"variants\":[{\"needs\":[{\"program\":\"env\"}],\"run\":[" words "]}]"

static void must_refuse_definition(struct sbx_test *t, struct sbx_str text)
{
	struct sbx_err why = SBX_ERR_INIT;
	struct sbx_lang *lang = NULL;

	if (sbx_lang_parse(text, "x.json", &lang, &why) == 0)
		sbx_note(t, SBX_P_LI12, SBX_VERDICT_REACHED, "%.*s was taken",
			 (int)(text.n < 200 ? text.n : 200), text.p);
	else
		sbx_note(t, SBX_P_LI12, SBX_VERDICT_REFUSED, "%s", sbx_code_name(why.code));
	sbx_lang_free(lang);
}

static void try_definitions(struct sbx_test *t)
{
	static const struct sbx_str bad[] = {
		SBX_STR(DEFINITION(RUNNING("\"env\",\"{nothing}\""))),
		SBX_STR(DEFINITION(RUNNING("\"env\",\"a\\u0000b\""))),
		SBX_STR(DEFINITION(RUNNING("\"env\"") ",\"host_paths\":[\"/etc/../root/**\"]")),
		SBX_STR(DEFINITION(RUNNING("\"env\"") ",\"host_paths\":[\"/root/*\"]")),
		SBX_STR(DEFINITION(RUNNING("\"env\"") ",\"host_paths\":[\"/etc\"]")),
		SBX_STR(DEFINITION(RUNNING("\"env\"") ",\"host_paths\":[\"/run/docker.sock\"]")),
		SBX_STR(DEFINITION(RUNNING("\"env\"") ",\"path\":[\"/root/bin\"]")),
		SBX_STR(DEFINITION(RUNNING("\"env\"") ",\"path\":[\"/usr/../root\"]")),
		SBX_STR(DEFINITION(RUNNING("\"env\"") ",\"env\":{\"A=B\":\"x\"}")),
		SBX_STR(DEFINITION(RUNNING("\"env\"") ",\"env\":{\"\":\"x\"}")),
		SBX_STR(DEFINITION(RUNNING("\"env\"") ",\"privileged\":true")),
		SBX_STR(DEFINITION(RUNNING("\"env\"") ",\"name\":\"y\"")),
		SBX_STR(DEFINITION(RUNNING(""))),
		SBX_STR("{\"name\":\"../x\",\"title\":\"X\",\"file\":\"../"
			"x\",\"selftest\":{\"code\":\"\",\"stdin\":\"\",\"stdout\":\"\"}," RUNNING(
				"\"env\"") "}"),
		SBX_STR("{\"name\":\"x\",\"title\":\"X\",\"file\":\"/etc/"
			"x\",\"selftest\":{\"code\":\"\",\"stdin\":\"\",\"stdout\":\"\"}," RUNNING(
				"\"env\"") "}"),
		SBX_STR("\xef\xbb\xbf{}"),
		SBX_STR("{}"),
		SBX_STR(""),
		SBX_STR("\0"),
		SBX_STR("[{}]"),
		SBX_STR("{\"name\":"),
	};
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf deep = SBX_BUF_INIT(1 << 20);
	struct sbx_err full = SBX_ERR_INIT;

	for (size_t i = 0; i < SBX_ARRAY_SIZE(bad); i++)
		must_refuse_definition(t, bad[i]);
	for (int i = 0; i < 100000 && sbx_buf_addc(&deep, '[', &full) == 0; i++)
		;
	must_refuse_definition(t, (struct sbx_str){sbx_buf_str(&deep), deep.len});
}

/* ---- a machine that lacks something */

#define LOAD(field_) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field_))
#define DENY(call_, no)                                     \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call_), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (no))

/* A process of its own in which the calls fail as they do on a kernel without them; its run must not start. */
static void try_without(struct sbx_test *t, const char *what, struct sock_filter *filter,
			unsigned short n)
{
	struct sock_fprog prog = {.len = n, .filter = filter};
	pid_t pid;
	int status = -1;

	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		static const struct sbx_try try = {.name = "nothing"};
		struct sbx_seen *seen = sbx_new(struct sbx_seen);

		/* As root without it, so that what a user lacks is not what fails. */
		if ((geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0)
			_exit(2);
		sbx_try(t, &try, seen);
		_exit(seen->outcome == SBX_OUT_FAILED && !seen->has_exit_code ? 0 : 1);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0)
		sbx_note(t, SBX_P_LI10, SBX_VERDICT_REFUSED, "without %s", what);
	else
		sbx_note(t, SBX_P_LI10,
			 WIFEXITED(status) && WEXITSTATUS(status) == 1 ? SBX_VERDICT_REACHED
								       : SBX_VERDICT_UNKNOWN,
			 "without %s a program was run", what);
}

static void try_machines(struct sbx_test *t)
{
	struct sock_filter no_seccomp[] = {
		LOAD(nr),
		DENY(SYS_seccomp, ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		LOAD(args[0]),
		DENY(PR_SET_SECCOMP, EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_filter no_namespaces[] = {
		LOAD(nr),
		DENY(SYS_clone3, EPERM),
		DENY(SYS_unshare, EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	try_without(t, "seccomp", no_seccomp, SBX_ARRAY_SIZE(no_seccomp));
	try_without(t, "namespaces", no_namespaces, SBX_ARRAY_SIZE(no_namespaces));
}

/* What no run has cannot be required of it, and is named. */
static void try_requirements(struct sbx_test *t)
{
	static const struct sbx_try try = {.name = "nothing",
					   .set = {{"require-enforced", "allow_hosts"}}};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	static const struct option unknown = {"require-enforced", "nothing_of_this_name"};

	sbx_try(t, &try, seen);
	if (seen->outcome == SBX_OUT_FAILED && !strstr(seen->error, "allow_hosts"))
		sbx_note(t, SBX_P_LI11, SBX_VERDICT_UNKNOWN, "no run: %s", seen->error);
	else if (seen->outcome == SBX_OUT_FAILED)
		sbx_note(t, SBX_P_LI11, SBX_VERDICT_REFUSED, "allow_hosts by name");
	else
		sbx_note(t, SBX_P_LI11, SBX_VERDICT_REACHED,
			 "a run without allow_hosts ended as '%s'",
			 sbx_outcome_name(seen->outcome));
	must_refuse(t, SBX_P_LI11, &unknown);
	free(seen);
}

static void try_good(struct sbx_test *t)
{
	static const struct sbx_str good = SBX_STR(DEFINITION(RUNNING("\"env\",\"{file}\"")));
	static const struct sbx_try try = {
		.name = "nothing",
		.set = {{"memory", "128m"}, {"workdir", "/work"}, {"env", "A=b"}, {"pids", "16"}}};
	struct sbx_seen *seen = sbx_new(struct sbx_seen);
	struct sbx_err why = SBX_ERR_INIT;
	struct sbx_lang *lang = NULL;
	struct sbx_request req;
	bool ok = sbx_lang_parse(good, "x.json", &lang, &why) == 0;

	sbx_note(t, SBX_P_LI00, ok ? SBX_VERDICT_WORKS : SBX_VERDICT_UNKNOWN, "%s",
		 ok ? "a definition" : why.msg);
	sbx_lang_free(lang);
	sbx_request_init(&req);
	sbx_err_clear(&why);
	ok = sbx_job_read(SBX_STR("{\"id\":\"1\",\"code\":\"x\",\"env\":{\"A\":\"b\"}}"), "job",
			  &req, &why) == 0;
	sbx_note(t, SBX_P_LI00, ok ? SBX_VERDICT_WORKS : SBX_VERDICT_UNKNOWN, "%s",
		 ok ? "a job" : why.msg);
	sbx_request_release(&req);
	sbx_try(t, &try, seen);
	ok = seen->outcome == SBX_OUT_EXITED;
	sbx_note(t, SBX_P_LI00, ok ? SBX_VERDICT_WORKS : SBX_VERDICT_UNKNOWN, "%s",
		 ok ? "options" : seen->error);
	free(seen);
}

void sbx_test_launch(struct sbx_test *t)
{
	try_good(t);
	try_workdirs(t);
	try_variables(t);
	try_jobs(t);
	try_code(t);
	try_reaching(t);
	try_limits(t);
	try_machines(t);
	try_requirements(t);
	try_definitions(t);
}
