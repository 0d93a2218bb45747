#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/limits.h"
#include "lib/base/mem.h"
#include "lib/sandbox/run.h"
#include "t/unit/tap.h"

#define MIB (UINT64_C(1) << 20)

static int set(struct sbx_request *req, const char *name, const char *value, struct sbx_err *err)
{
	return sbx_request_set(req, name, sbx_str_of(value), "--x", err);
}

/* Sets one option of a fresh request and forgets it. */
static int try(const char *name, const char *value, struct sbx_err *err)
{
	struct sbx_request req;
	int r;

	sbx_request_init(&req);
	r = set(&req, name, value, err);
	sbx_request_release(&req);
	return r;
}

TEST(defaults)
{
	struct sbx_request req;

	sbx_request_init(&req);
	ok_str(req.backend, "local");
	ok(req.lang == NULL);
	ok_str(req.workdir, "/sandbox");
	ok_str(req.out_dir, ".");
	ok_int(req.timeout_ns, 30000000000);
	ok(req.cpu_time_ns == SBX_UNLIMITED);
	ok_int(req.max_output, 64 * MIB);
	ok_int(req.limits.memory_bytes, 512 * MIB);
	ok_int(req.limits.cpu_milli, 1000);
	ok_int(req.limits.pids, 128);
	ok_int(req.limits.nofile, 1024);
	ok_int(req.limits.disk_bytes, 128 * MIB);
	ok_int(req.limits.tmp_bytes, 64 * MIB);
	ok_int(req.limits.shm_bytes, 64 * MIB);
	ok(!req.limits.disk_explicit);
	ok_int(req.network, SBX_NET_NONE);
	ok_int(req.uid, 65532);
	ok_int(req.gid, 65532);
	ok(req.read_only);
	ok(!req.tty);
	ok_int(req.stdin_kind, SBX_STDIN_EMPTY);
	sbx_request_release(&req);
	sbx_request_release(&req);
}

TEST(limits)
{
	struct sbx_request req;

	sbx_request_init(&req);
	ok_call(set(&req, "timeout", "1.5s", err));
	ok_int(req.timeout_ns, 1500000000);
	ok_call(set(&req, "timeout", "none", err));
	ok(req.timeout_ns == SBX_UNLIMITED);
	ok_call(set(&req, "cpu-time", "2m", err));
	ok_int(req.cpu_time_ns, 120000000000);
	ok_call(set(&req, "cpus", "0.5", err));
	ok_int(req.limits.cpu_milli, 500);
	ok_call(set(&req, "pids", "7", err));
	ok_int(req.limits.pids, 7);
	ok_call(set(&req, "pids", "none", err));
	ok(req.limits.pids == SBX_UNLIMITED);
	ok_call(set(&req, "max_output", "10", err));
	ok_int(req.max_output, 10);

	/* Scratch follows the memory until it is given. */
	ok_call(set(&req, "memory", "1g", err));
	ok_int(req.limits.disk_bytes, 256 * MIB);
	ok_int(req.limits.tmp_bytes, 128 * MIB);
	ok_call(set(&req, "disk", "2g", err));
	ok(req.limits.disk_explicit);
	ok_call(set(&req, "memory", "64m", err));
	ok_int(req.limits.disk_bytes, 2048 * MIB);
	ok_int(req.limits.shm_bytes, 8 * MIB);
	ok_call(set(&req, "memory", "none", err));
	ok(req.limits.memory_bytes == SBX_UNLIMITED);
	ok(req.limits.tmp_bytes > 0 && req.limits.tmp_bytes < SBX_UNLIMITED / 8);
	sbx_request_release(&req);
}

TEST(impossible_limits)
{
	ok_fail(try("timeout", "0", err), SBX_E_USAGE, "none");
	ok_fail(try("timeout", "soon", err), SBX_E_USAGE, "--x: 'soon'");
	ok_fail(try("timeout", "", err), SBX_E_USAGE, "--x: ");
	ok_fail(try("timeout", "-1", err), SBX_E_USAGE, "--x: '-1'");
	ok_fail(try("memory", "1m", err), SBX_E_USAGE, "'1m' is too small; the least is 4m");
	ok_fail(try("memory", "0", err), SBX_E_USAGE, "the least is 4m");
	ok_fail(try("memory", "2097152t", err), SBX_E_USAGE, "'none'");
	ok_fail(try("disk", "0", err), SBX_E_USAGE, "the least is 4k");
	ok_fail(try("cpus", "0.001", err), SBX_E_USAGE, "the least is 0.01");
	ok_fail(try("cpus", "5000", err), SBX_E_USAGE, "more than 1024");
	ok_fail(try("pids", "0", err), SBX_E_USAGE, "the least is 1");
	ok_fail(try("pids", "99999999", err), SBX_E_USAGE, "--x: ");
	ok_fail(try("max-output", "0", err), SBX_E_USAGE, "the least is 1");
	ok_call(try("memory", "4m", err));
}

TEST(names)
{
	ok_fail(try("colour", "red", err), SBX_E_NOT_FOUND, "'colour'");
	ok_call(try("max_output", "1m", err));
	ok_call(try("max-output", "1m", err));
	ok_fail(try("lang", "", err), SBX_E_USAGE, "--x: the value is empty");
	ok_fail(try("read_only", "maybe", err), SBX_E_USAGE, "'maybe' is neither");
	ok_fail(try("network", "host", err), SBX_E_USAGE, "neither 'none' nor 'full'");
	ok_fail(try("require-enforced", "memory,colour", err), SBX_E_USAGE, "colour");
}

TEST(nul)
{
	struct sbx_request req;

	sbx_request_init(&req);
	ok_fail(sbx_request_set(&req, "env", (struct sbx_str){"A=\0b", 4}, "job 1: env", err),
		SBX_E_USAGE, "job 1: env: the value holds a NUL byte");
	sbx_request_release(&req);
}

TEST(user)
{
	struct sbx_request req;

	sbx_request_init(&req);
	ok_call(set(&req, "user", "1000", err));
	ok_int(req.uid, 1000);
	ok_int(req.gid, 1000);
	ok_call(set(&req, "user", "1000:5", err));
	ok_int(req.gid, 5);
	sbx_request_release(&req);
	ok_fail(try("user", "nobody", err), SBX_E_USAGE, "--x: ");
	ok_fail(try("user", "1000:", err), SBX_E_USAGE, "--x: ");
	ok_fail(try("user", ":5", err), SBX_E_USAGE, "--x: ");
	ok_fail(try("user", "", err), SBX_E_USAGE, "--x: ");
	ok_fail(try("user", "0", err), SBX_E_USAGE, "1 or above");
	ok_fail(try("user", "5:0", err), SBX_E_USAGE, "1 or above");
	ok_fail(try("user", "4294967295", err), SBX_E_USAGE, "--x: ");
}

TEST(environment)
{
	struct sbx_request req;

	sbx_request_init(&req);
	(void)setenv("SBX_TEST_VALUE", "from the caller", 1);
	(void)unsetenv("SBX_TEST_NONE");
	ok_call(set(&req, "env", "A=1", err));
	ok_call(set(&req, "env", "B=x=y", err));
	ok_call(set(&req, "env", "A=2", err));
	ok_call(set(&req, "env", "E=", err));
	ok_call(set(&req, "env", "SBX_TEST_VALUE", err));
	ok_call(set(&req, "env", "SBX_TEST_NONE", err));
	ok_int(req.env.n, 4);
	ok_str(req.env.v[0], "A=2");
	ok_str(req.env.v[1], "B=x=y");
	ok_str(req.env.v[2], "E=");
	ok_str(req.env.v[3], "SBX_TEST_VALUE=from the caller");
	ok_fail(set(&req, "env", "=1", err), SBX_E_USAGE, "no name");
	ok_fail(set(&req, "env", "", err), SBX_E_USAGE, "no name");
	sbx_request_release(&req);
}

static char folder[] = "/tmp/test-request-XXXXXX";

static void make_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	if (!f)
		abort();
	(void)fputs(text, f);
	(void)fclose(f);
}

static int try_in(const char *name, const char *fmt, struct sbx_err *err)
{
	char value[256];

	(void)snprintf(value, sizeof(value), "%s/%s", folder, fmt);
	return try(name, value, err);
}

TEST(env_file)
{
	struct sbx_request req;
	char path[256];

	sbx_request_init(&req);
	(void)setenv("SBX_TEST_VALUE", "v", 1);
	make_file("env", "\xef\xbb\xbf"
			 "# comment\n"
			 "\n"
			 "  A=1  \n"
			 "Q=\"quoted\" # kept\r\n"
			 "SBX_TEST_VALUE\n"
			 "SBX_TEST_NONE\n"
			 "LAST=x");
	(void)snprintf(path, sizeof(path), "%s/env", folder);
	ok_call(set(&req, "env-file", path, err));
	ok_int(req.env.n, 4);
	ok_str(req.env.v[0], "A=1  ");
	ok_str(req.env.v[1], "Q=\"quoted\" # kept");
	ok_str(req.env.v[2], "SBX_TEST_VALUE=v");
	ok_str(req.env.v[3], "LAST=x");
	sbx_request_release(&req);

	make_file("env", "A=1\nB C=2\n");
	ok_fail(try_in("env-file", "env", err), SBX_E_USAGE, "line 2: the name 'B C' holds");
	make_file("env", "=2\n");
	ok_fail(try_in("env-file", "env", err), SBX_E_USAGE, "line 1: '=2' has no name");
	ok_fail(try_in("env-file", "nope", err), SBX_E_USAGE, "nope");
	ok_fail(try("env-file", "/", err), SBX_E_USAGE, "--x: ");
}

TEST(files)
{
	struct sbx_request req;
	char value[256];

	make_file("a:b", "");
	make_file("data.txt", "");
	sbx_request_init(&req);
	(void)snprintf(value, sizeof(value), "%s/data.txt", folder);
	ok_call(set(&req, "file", value, err));
	ok_str(req.files[0].host, value);
	ok_str(req.files[0].dest, "data.txt");
	(void)snprintf(value, sizeof(value), "%s/a:b:in/./x", folder);
	ok_call(set(&req, "file", value, err));
	ok_str(req.files[1].dest, "in/x");
	(void)snprintf(value, sizeof(value), "%s/data.txt:in//", folder);
	ok_call(set(&req, "file", value, err));
	ok_str(req.files[2].dest, "in/data.txt");
	ok_int(req.n_files, 3);
	sbx_request_release(&req);

	ok_fail(try_in("file", "nope", err), SBX_E_USAGE, "No such file or directory");
	ok_fail(try_in("file", "data.txt:/etc/passwd", err), SBX_E_USAGE, "absolute");
	ok_fail(try_in("file", "data.txt:../x", err), SBX_E_USAGE, "'..'");
	ok_fail(try_in("file", "data.txt:a/../b", err), SBX_E_USAGE, "'..'");
	ok_fail(try_in("file", "data.txt:.", err), SBX_E_USAGE, "names no file");
	ok_fail(try("file", folder, err), SBX_E_USAGE, "is a folder");
	ok_fail(try("file", ":x", err), SBX_E_USAGE, "empty");
}

TEST(mounts)
{
	struct sbx_request req;
	char value[256], real[256];

	(void)snprintf(real, sizeof(real), "%s", folder);
	sbx_request_init(&req);
	(void)snprintf(value, sizeof(value), "%s/.:/data", folder);
	ok_call(set(&req, "mount", value, err));
	(void)snprintf(value, sizeof(value), "%s:/./data//in/:rw", folder);
	ok_call(set(&req, "mount", value, err));
	(void)snprintf(value, sizeof(value), "%s:/ro:ro", folder);
	ok_call(set(&req, "mount", value, err));
	ok_int(req.n_mounts, 3);
	ok_str(req.mounts[0].host, real);
	ok_str(req.mounts[0].dest, "/data");
	ok(!req.mounts[0].writable);
	ok_str(req.mounts[1].dest, "/data/in");
	ok(req.mounts[1].writable);
	ok_str(req.mounts[2].dest, "/ro");
	ok(!req.mounts[2].writable);
	sbx_request_release(&req);

	ok_fail(try("mount", folder, err), SBX_E_USAGE, "HOST:DEST");
	ok_fail(try_in("mount", ":/mnt/../etc", err), SBX_E_USAGE, "'/mnt/../etc' has a '..'");
	ok_fail(try_in("mount", ":/mnt/..", err), SBX_E_USAGE, "has a '..'");
	ok_fail(try_in("mount", ":/dev/shm/x", err), SBX_E_USAGE, "--x: '/dev'");
	ok_fail(try_in("mount", ":data", err), SBX_E_USAGE, "HOST:DEST");
	ok_fail(try_in("mount", ":/", err), SBX_E_USAGE, "no place below '/'");
	ok_fail(try_in("mount", "nope:/x", err), SBX_E_USAGE, "nope");
	ok_fail(try_in("mount", ":/x:rx", err), SBX_E_USAGE, "HOST:DEST");
}

TEST(workdir)
{
	struct sbx_request req;

	sbx_request_init(&req);
	ok_call(set(&req, "workdir", "/sandbox/./a/..", err));
	ok_str(req.workdir, "/sandbox");
	ok_call(set(&req, "workdir", "//work///here/", err));
	ok_str(req.workdir, "/work/here");
	sbx_request_release(&req);
	ok_fail(try("workdir", "work", err), SBX_E_USAGE, "absolute");
	ok_fail(try("workdir", "/", err), SBX_E_USAGE, "below '/'");
	ok_fail(try("workdir", "/a/../..", err), SBX_E_USAGE, "below '/'");
	ok_fail(try("workdir", "/usr", err), SBX_E_USAGE, "--x: '/usr' is in the system's");
	ok_fail(try("workdir", "/a/../etc/x", err), SBX_E_USAGE, "--x: '/etc/x' is in the");
	ok_fail(try("workdir", "/proc/self", err), SBX_E_USAGE, "--x: '/proc' is the sandbox's");
}

TEST(globs)
{
	struct sbx_request req;

	sbx_request_init(&req);
	ok_call(set(&req, "out", "*.png", err));
	ok_call(set(&req, "out", "a,b/**", err));
	ok_int(req.out.n, 2);
	sbx_request_release(&req);
	ok_fail(try("out", "/etc/*", err), SBX_E_USAGE, "absolute");
	ok_fail(try("out", "../*", err), SBX_E_USAGE, "'..'");
	ok_fail(try("out", "", err), SBX_E_USAGE, "empty");
}

TEST(controls)
{
	struct sbx_request req;

	sbx_request_init(&req);
	ok_call(set(&req, "require-enforced", "memory,pids", err));
	ok_call(set(&req, "require-enforced", "disk", err));
	ok_int(req.require_bits, 1 << SBX_CTL_MEMORY | 1 << SBX_CTL_PIDS | 1 << SBX_CTL_DISK);
	ok_call(set(&req, "accept-missing", "namespaces", err));
	ok_int(req.accept_bits, 1 << SBX_CTL_NAMESPACES);
	sbx_request_release(&req);
}

TEST(copy)
{
	struct sbx_request a, b;
	char value[256];

	make_file("data.txt", "");
	sbx_request_init(&a);
	ok_call(set(&a, "lang", "l", err));
	ok_call(set(&a, "env", "A=1", err));
	(void)snprintf(value, sizeof(value), "%s/data.txt", folder);
	ok_call(set(&a, "file", value, err));
	(void)snprintf(value, sizeof(value), "%s:/m:rw", folder);
	ok_call(set(&a, "mount", value, err));
	ok_call(sbx_buf_adds(&a.code, "code", err));
	ok_call(sbx_request_copy(&a, &b, err));
	ok_call(set(&b, "env", "A=2", err));
	ok_call(set(&b, "lang", "m", err));
	ok_str(a.env.v[0], "A=1");
	ok_str(a.lang, "l");
	sbx_request_release(&a);
	ok_str(b.env.v[0], "A=2");
	ok_str(b.files[0].dest, "data.txt");
	ok_str(b.mounts[0].dest, "/m");
	ok(b.mounts[0].writable);
	ok_str(sbx_buf_str(&b.code), "code");
	ok_int(b.code.max, SBX_CODE_MAX);
	ok_int(b.timeout_ns, 30000000000);
	sbx_request_release(&b);
}

TEST(set_up)
{
	ok(mkdtemp(folder) != NULL);
}

TEST(tear_down)
{
	static const char *const names[] = {"env", "a:b", "data.txt"};
	char path[256];

	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	ok_int(rmdir(folder), 0);
}

TAP_MAIN(RUN(set_up), RUN(defaults), RUN(limits), RUN(impossible_limits), RUN(names), RUN(nul),
	 RUN(user), RUN(environment), RUN(env_file), RUN(files), RUN(mounts), RUN(workdir),
	 RUN(globs), RUN(controls), RUN(copy), RUN(tear_down))
