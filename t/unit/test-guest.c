/* The guest and the client at both ends of a channel: programs, from SPAWN to END. */
#include "t/unit/guest.h"

#include <ctype.h>
#include <dirent.h>

/* ---- how it ends */

TEST(runs)
{
	struct box box = {0};
	struct job job = {.input = "in\n"};

	if (box_start(&box, err) &&
	    job_run(&job, &box, "cat; echo out; echo err >&2; exit 7", err)) {
		ok(job.confined && job.started);
		ok_end(&job, SBX_WIRE_EXITED, 7);
		ok_out(&job, 1, "in\nout\n");
		ok_out(&job, 2, "err\n");
		ok_int(job.end.bytes[0], 7);
		ok_int(job.end.bytes[1], 4);
		ok(job.end.exec_ns > 0 && job.end.exec_ns < 5000000000u);
		ok(job.end.maxrss_bytes > 100000);
		ok_int(job.end.full, 0);
		ok_int(job.facts.no_new_privs, 1);
		ok_int(job.facts.seccomp_mode, 2);
		ok_int(job.facts.cap_eff | job.facts.cap_prm | job.facts.cap_inh, 0);
		ok_int(job.facts.euid, box.one_id ? 0 : PROGRAM);
		ok_int(job.facts.umask, 077);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(exit_codes)
{
	struct box box = {0};
	char script[32];

	if (box_start(&box, err)) {
		for (unsigned int code = 0; code < 256; code++) {
			struct job job = {0};

			(void)snprintf(script, sizeof script, "exit %u", code);
			if (!job_run(&job, &box, script, err))
				break;
			/* Also when it is over before anybody looked. */
			ok(job.started);
			ok_end(&job, SBX_WIRE_EXITED, code);
			job_release(&job);
		}
	}
	ok_int(box_end(&box), 0);
}

TEST(signals)
{
	static const unsigned int signals[] = {SIGHUP, SIGINT, SIGKILL, SIGSEGV, SIGTERM, 64};
	struct box box = {0};
	char script[32];

	if (box_start(&box, err)) {
		for (size_t i = 0; i < SBX_ARRAY_SIZE(signals); i++) {
			struct job job = {0};

			(void)snprintf(script, sizeof script, "kill -%u $$", signals[i]);
			if (!job_run(&job, &box, script, err))
				break;
			ok_end(&job, SBX_WIRE_SIGNALED, signals[i]);
			job_release(&job);
		}
	}
	ok_int(box_end(&box), 0);
}

static void fails_with(struct box *box, const char *name, const char *step, uint32_t sys,
		       struct sbx_err *err)
{
	struct sbx_strv argv = {0};
	struct job job = {0};

	if (ok_call(sbx_strv_add(&argv, name, err)) && job_start(&job, box, &argv, NULL, err) &&
	    job_until(&job, &job.over, err)) {
		ok(!job.started);
		ok_int(job.end.how, SBX_WIRE_FAILED);
		ok_str(job.step, step);
		ok_int(job.end.sys, sys);
		ok_out(&job, 1, "");
	}
	sbx_strv_release(&argv);
	job_release(&job);
}

TEST(cannot_be_started)
{
	struct box box = {0};
	struct job job = {.spawn.cwd = WORK "/nowhere"};

	if (box_start(&box, err)) {
		ok_int(box_put(&box, "text", 0644, SBX_STR("echo no\n"), err), 0);
		ok_int(box_put(&box, "script", 0755, SBX_STR("echo a shell ran\n"), err), 0);
		ok_int(box_put(&box, "elf", 0755, SBX_STR("\177ELF"), err), 0);
		fails_with(&box, "no-such-program", "exec", ENOENT, err);
		fails_with(&box, "", "exec", ENOENT, err);
		fails_with(&box, WORK "/nothing", "exec", ENOENT, err);
		fails_with(&box, WORK, "exec", EACCES, err);
		fails_with(&box, WORK "/text", "exec", EACCES, err);
		fails_with(&box, WORK "/script", "exec", ENOEXEC, err);
		fails_with(&box, WORK "/elf", "exec", ENOEXEC, err);
		if (job_run(&job, &box, "true", err)) {
			ok_int(job.end.how, SBX_WIRE_FAILED);
			ok_str(job.step, "chdir");
			ok_int(job.end.sys, ENOENT);
		}
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* More than any exec takes is an error of the program's, not the end of the sandbox. */
TEST(too_many_arguments)
{
	struct box box = {0};
	struct sbx_strv argv = {0};
	struct job job = {0};
	char big[60001];

	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	for (int i = 0; i < 150; i++)
		ok_call(sbx_strv_add(&argv, i == 0 ? "true" : big, err));
	if (box_start(&box, err)) {
		if (job_start(&job, &box, &argv, NULL, err) && job_until(&job, &job.over, err)) {
			ok_int(job.end.how, SBX_WIRE_FAILED);
			ok_str(job.step, "exec");
			ok_int(job.end.sys, E2BIG);
		}
		job_release(&job);
		job = (struct job){0};
		if (job_run(&job, &box, "exit 3", err))
			ok_end(&job, SBX_WIRE_EXITED, 3);
	}
	job_release(&job);
	sbx_strv_release(&argv);
	ok_int(box_end(&box), 0);
}

/* The first folder of PATH that has it; one that may not be run is told only if none can be. */
TEST(search)
{
	struct box box = {0};
	struct sbx_strv argv = {0};
	struct job job = {0};

	ok_call(sbx_strv_add(&argv, "true", err));
	if (box_start(&box, err) && job_start(&job, &box, &argv, NULL, err) &&
	    job_until(&job, &job.over, err))
		ok_end(&job, SBX_WIRE_EXITED, 0);
	sbx_strv_release(&argv);
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* ---- what it holds, and what it cannot reach */

TEST(descriptors)
{
	struct box box = {0};
	struct job job = {0};

	/* The last one is the folder that ls reads. */
	if (box_start(&box, err) && job_run(&job, &box, "ls /proc/self/fd", err)) {
		ok_out(&job, 1, "0\n1\n2\n3\n");
		ok_out(&job, 2, "");
	}
	job_release(&job);
	job = (struct job){0};
	if (job_run(&job, &box, "echo a >/dev/stdout; echo b >/dev/stderr", err)) {
		ok_out(&job, 1, "a\n");
		ok_out(&job, 2, "b\n");
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

static void guest_is_out_of_reach(struct box *box, struct sbx_err *err)
{
	struct job job = {0};

	if (box_start(box, err) &&
	    job_run(&job, box,
		    "for f in fd/3 fd/0 mem environ maps root/etc; do\n"
		    "	cat /proc/1/$f >/dev/null 2>&1 && echo $f; done\n"
		    "kill -KILL 1 && echo killed; kill -TERM 1 && echo told; exit 0",
		    err)) {
		ok_out(&job, 1, "");
		ok_end(&job, SBX_WIRE_EXITED, 0);
	}
	job_release(&job);
	ok_int(box_end(box), 0);
}

TEST(out_of_reach)
{
	struct box two = {0}, one = {.one_id = true};

	guest_is_out_of_reach(&two, err);
	guest_is_out_of_reach(&one, err);
}

/* With one id a program may make the guest the owner of a descriptor: the kernel's SIGIO must not end it. */
TEST(owner_of_a_descriptor)
{
	struct box box = {.one_id = true};
	struct job job = {0};
	const char *build = getenv("SBX_BUILDDIR");
	struct sbx_buf helper = SBX_BUF_INIT(64 << 20);
	char path[4096];

	(void)snprintf(path, sizeof path, "%s/t/helper/sigio", build ? build : ".");
	if (ok_call(sbx_read_file(path, &helper, err)) && box_start(&box, err)) {
		ok_int(box_put(&box, "sigio", 0755, (struct sbx_str){helper.p, helper.len}, err),
		       0);
		if (job_run(&job, &box, "./sigio && echo sent", err)) {
			ok_out(&job, 1, "sent\n");
			ok_out(&job, 2, "");
			ok_end(&job, SBX_WIRE_EXITED, 0);
		}
		ok_int(box_end(&box), 0);
	}
	job_release(&job);
	sbx_buf_release(&helper);
}

/* ---- bytes */

TEST(stdin_ends)
{
	struct box box = {0};
	struct job job = {.input = ""};

	if (box_start(&box, err) && job_run(&job, &box, "wc -c", err))
		ok_out(&job, 1, "0\n");
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(stdin_is_not_wanted)
{
	struct box box = {0};
	struct job job = {.feed = 4 << 20};

	if (box_start(&box, err) &&
	    job_start(&job, &box, NULL, "exec <&-; sleep 0.3; exit 4", err)) {
		ok(job_until(&job, &job.over, err));
		ok(job.refused);
		ok(job.fed < 4 << 20);
		ok_end(&job, SBX_WIRE_EXITED, 4);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* A window's worth is under way at most, and neither direction waits for the other. */
TEST(both_ways_at_once)
{
	struct box box = {0};
	struct job job = {.feed = 64 << 20};

	if (box_start(&box, err) && job_run(&job, &box, "cat", err)) {
		ok_int(job.got[0], 64 << 20);
		ok(!job.mixed_up);
		ok_end(&job, SBX_WIRE_EXITED, 0);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* What the program writes while nobody reads waits in it; frames that end it come through. */
TEST(slow_reader)
{
	struct box box = {0};
	struct job job = {.input = "", .deaf = true, .spawn.timeout_ms = 300};
	uint64_t got;

	if (box_start(&box, err) && job_start(&job, &box, NULL, "cat /dev/zero", err) &&
	    job_until(&job, &job.started, err)) {
		uint64_t end = sbx_deadline(600000000);

		while (sbx_now_ns() < end)
			ok_call(box_turn(&box, 50, err));
		ok_int(job.got[0], SBX_WIRE_WINDOW);
		got = job.got[0];
		ok(!job.over);
		/* Now it reads: what is still in the pipe comes, and then the end. */
		job.deaf = false;
		ok_call(sbx_client_credit(box.client, job.req, 1, got, err));
		ok(job_until(&job, &job.over, err));
		ok_end(&job, SBX_WIRE_TIMEOUT, SIGKILL);
		ok_int(job.got[0], job.end.bytes[0]);
		ok(job.got[0] > got);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* The host does not even read the channel. */
TEST(deaf_host)
{
	struct box box = {0};
	struct job job = {.input = "", .spawn.timeout_ms = 200};

	if (box_start(&box, err) && job_start(&job, &box, NULL, "cat /dev/zero", err) &&
	    job_until(&job, &job.started, err)) {
		(void)usleep(600000);
		ok(job_until(&job, &job.over, err));
		ok_end(&job, SBX_WIRE_TIMEOUT, SIGKILL);
		ok(job.end.exec_ns >= 200000000 && job.end.exec_ns < 1500000000);
		ok_int(job.got[0], job.end.bytes[0]);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(output_limit)
{
	struct box box = {0};
	struct job job = {.spawn = {.max_output = 10, .kill_output = 100}};

	if (box_start(&box, err) &&
	    job_run(&job, &box, "echo 0123456789abcdef; echo 012345678 >&2", err)) {
		ok_out(&job, 1, "0123456789");
		ok_out(&job, 2, "012345678\n");
		ok(job.limited[0] && !job.limited[1]);
		ok_int(job.end.bytes[0], 17);
		ok_end(&job, SBX_WIRE_EXITED, 0);
	}
	job_release(&job);
	job = (struct job){.spawn = {.max_output = 1000, .kill_output = 1 << 20}};
	if (job_run(&job, &box, "yes", err)) {
		ok_int(job.out[0].len, 1000);
		ok(job.limited[0]);
		ok(job.end.bytes[0] > 1 << 20 && job.end.bytes[0] < 8 << 20);
		ok_end(&job, SBX_WIRE_OUTPUT, SIGKILL);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* A program that writes as fast as we drop keeps us from nothing. */
TEST(endless_output)
{
	struct box box = {0};
	struct job job = {.spawn = {.max_output = 1000, .timeout_ms = 300}};

	if (box_start(&box, err) &&
	    job_run(&job, &box, "cat /dev/zero & cat /dev/zero & cat /dev/zero >&2", err)) {
		ok_end(&job, SBX_WIRE_TIMEOUT, SIGKILL);
		ok(job.end.exec_ns < 2000000000);
		ok_int(job.out[0].len, 1000);
		ok_int(job.out[1].len, 1000);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* ---- the tree */

/* Nothing is left but process 1 and the shell that looks. */
static void nothing_is_left(struct box *box, struct sbx_err *err)
{
	struct job job = {0};

	if (job_run(&job, box,
		    "for d in /proc/[0-9]*; do p=${d#/proc/}; test $p = $$ || echo $p; done", err))
		ok_out(&job, 1, "1\n");
	job_release(&job);
}

TEST(deadline)
{
	struct box box = {0};
	struct job job = {.spawn.timeout_ms = 400};

	if (box_start(&box, err) &&
	    job_run(&job, &box,
		    "trap '' HUP INT TERM\n"
		    "(setsid sh -c 'trap \"\" HUP INT TERM; sleep 100 & sleep 100' &)\n"
		    "setsid sh -c 'sleep 100 & kill -STOP 0; sleep 100' &\n"
		    "echo begun; while :; do sleep 100; done",
		    err)) {
		ok_out(&job, 1, "begun\n");
		ok_end(&job, SBX_WIRE_TIMEOUT, SIGKILL);
		ok(job.end.exec_ns >= 400000000 && job.end.exec_ns < 2000000000);
		nothing_is_left(&box, err);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(no_deadline_that_overflows)
{
	struct box box = {0};
	struct job job = {.spawn.timeout_ms = UINT64_MAX / 1000000};

	if (box_start(&box, err) && job_run(&job, &box, "sleep 0.1; exit 2", err))
		ok_end(&job, SBX_WIRE_EXITED, 2);
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* The program's end ends it; what was written before that is there, whoever holds the pipe. */
TEST(grandchild_holds_stdout)
{
	struct box box = {0};
	struct job job = {0};

	if (box_start(&box, err) &&
	    job_run(&job, &box, "(sleep 100; echo late) & echo early; exit 6", err)) {
		ok_out(&job, 1, "early\n");
		ok_end(&job, SBX_WIRE_EXITED, 6);
		ok(job.end.exec_ns + job.end.drain_ns < 2000000000u);
		nothing_is_left(&box, err);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(zombies)
{
	struct box box = {.pids = 700};
	struct job job = {0};

	if (box_start(&box, err) &&
	    job_run(&job, &box,
		    "i=0; while [ $i -lt 500 ]; do (: & :); i=$((i+1)); done; sleep 0.2\n"
		    "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l",
		    err)) {
		ok_out(&job, 1, "0\n");
		ok_end(&job, SBX_WIRE_EXITED, 0);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(killed_while_held)
{
	struct box box = {0};
	struct job job = {.input = "", .hold = true};

	if (box_start(&box, err) && job_start(&job, &box, NULL, "exit 1", err) &&
	    job_until(&job, &job.confined, err)) {
		ok_call(box_turn(&box, 100, err));
		ok(!job.started);
		ok_call(sbx_client_kill(box.client, job.req, 0, err));
		ok(job_until(&job, &job.over, err));
		ok(!job.started);
		ok_end(&job, SBX_WIRE_KILLED, SIGKILL);
		ok_int(job.end.exec_ns, 0);
		nothing_is_left(&box, err);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(killed)
{
	struct box box = {0};
	struct job job = {.input = ""};

	if (box_start(&box, err) &&
	    job_start(&job, &box, NULL, "echo begun; sleep 100 & sleep 100", err) &&
	    job_until_output(&job, "begun\n", err)) {
		ok_call(sbx_client_kill(box.client, job.req, 0, err));
		ok(job_until(&job, &job.over, err));
		ok_end(&job, SBX_WIRE_KILLED, SIGKILL);
		nothing_is_left(&box, err);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* A signal goes to the program's group: its children get it as well. */
TEST(signal_for_the_group)
{
	struct box box = {0};
	struct job job = {.input = ""};

	if (box_start(&box, err) &&
	    job_start(&job, &box, NULL,
		      "sh -c 'trap \"echo child; exit\" USR1; echo one; while :; do sleep 0.02; "
		      "done' &\n"
		      "trap 'wait; exit 5' USR1; echo two; while :; do wait; done",
		      err) &&
	    job_until_output(&job, "one\n", err) && job_until_output(&job, "two\n", err)) {
		ok_call(sbx_client_kill(box.client, job.req, SIGUSR1, err));
		ok(job_until(&job, &job.over, err));
		ok_end(&job, SBX_WIRE_EXITED, 5);
		ok(strstr(sbx_buf_str(&job.out[0]), "child\n") != NULL);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* ---- bounds that the guest keeps */

TEST(memory_of_the_tree)
{
	struct box box = {.limit_memory = true, .memory = 64 << 20};
	struct job job = {0};

	/* Each may have as much as it wants, up to the bound; both together are more. */
	if (box_start(&box, err) &&
	    job_run(&job, &box,
		    "dd if=/dev/zero of=/dev/null bs=40M & dd if=/dev/zero of=/dev/null bs=40M",
		    err)) {
		ok_end(&job, SBX_WIRE_OOM, SIGKILL);
		ok_int(job.facts.data, 64 << 20);
		nothing_is_left(&box, err);
	}
	job_release(&job);
	job = (struct job){0};
	if (job_run(&job, &box, "dd if=/dev/zero of=/dev/null bs=100M count=1", err))
		ok_end(&job, SBX_WIRE_EXITED, 1);
	job_release(&job);
	ok_int(box_end(&box), 0);
}

TEST(cpu_time_of_the_tree)
{
	struct box box = {0};
	struct job job = {.spawn = {.cpu_time_ms = 300, .timeout_ms = 9000}};
	uint64_t used;

	/* Also of children that ended, and that nobody waited for. */
	if (box_start(&box, err) &&
	    job_run(&job, &box,
		    "while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done) & wait; done",
		    err)) {
		ok_end(&job, SBX_WIRE_CPU_TIMEOUT, SIGKILL);
		used = job.end.cpu_user_ns + job.end.cpu_sys_ns;
		ok(used > 250000000 && used < 2000000000);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* ---- a terminal */

TEST(terminal)
{
	struct box box = {0};
	struct job job = {.spawn = {.flags = SBX_WIRE_SPAWN_TTY, .rows = 40, .cols = 100}};

	if (box_start(&box, err) &&
	    job_start(&job, &box, NULL,
		      "tty >/dev/null && stty -echo && stty size && trap 'stty size' WINCH\n"
		      "echo ready; until read x; do :; done; until read y; do :; done\n"
		      "echo \"$x $y\" >&2; cat; exit 8",
		      err) &&
	    job_until_output(&job, "ready\r\n", err)) {
		ok_out(&job, 1, "40 100\r\nready\r\n");
		ok_call(sbx_client_data(box.client, job.req, SBX_STR("a\n"), err));
		ok_call(sbx_client_resize(box.client, job.req, 24, 80, err));
		/* A shell whose read is interrupted by the signal has read nothing. */
		ok(job_until_output(&job, "24 80\r\n", err));
		ok_call(sbx_client_data(box.client, job.req, SBX_STR("b\nc\n"), err));
		ok(job_until_output(&job, "c\r\n", err));
		ok_call(sbx_client_eof(box.client, job.req, err));
		ok(job_until(&job, &job.over, err));
		ok_end(&job, SBX_WIRE_EXITED, 8);
		ok(strstr(sbx_buf_str(&job.out[0]), "24 80\r\n") != NULL);
		ok(strstr(sbx_buf_str(&job.out[0]), "a b\r\nc\r\n") != NULL);
		ok_int(job.out[1].len, 0);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* The character for its end takes no room of the window. */
TEST(terminal_ends)
{
	struct box box = {0};
	struct job job = {.spawn.flags = SBX_WIRE_SPAWN_TTY};
	char bytes[65535];

	memset(bytes, 'x', sizeof bytes);
	if (box_start(&box, err) &&
	    job_start(&job, &box, NULL,
		      "stty raw -echo; echo ready; head -c 65536 | tail -c 1 | od -An -tu1", err) &&
	    job_until_output(&job, "ready", err)) {
		ok_call(sbx_client_data(box.client, job.req, (struct sbx_str){bytes, sizeof bytes},
					err));
		ok_call(sbx_client_eof(box.client, job.req, err));
		ok(job_until(&job, &job.over, err));
		ok_end(&job, SBX_WIRE_EXITED, 0);
		ok(strstr(sbx_buf_str(&job.out[0]), "   4\n") != NULL);
	}
	job_release(&job);
	ok_int(box_end(&box), 0);
}

/* What a terminal's program wrote last is not lost. */
TEST(terminal_drains)
{
	struct box box = {0};

	if (box_start(&box, err)) {
		for (int i = 0; i < 20; i++) {
			struct job job = {.spawn.flags = SBX_WIRE_SPAWN_TTY};

			if (!job_run(&job, &box,
				     "stty -onlcr -echo; head -c 3000 /dev/zero | tr '\\0' x; echo "
				     "end",
				     err))
				break;
			ok_int(job.out[0].len, 3004);
			job_release(&job);
		}
	}
	ok_int(box_end(&box), 0);
}

/* ---- the channel */

/* Processes of this machine whose command line begins with text. */
static int processes(const char *text)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int found = 0;

	while (dir && (e = readdir(dir))) {
		char path[300], line[64] = "";
		int fd;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		(void)snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, line, sizeof line - 1) > 0)
			found += memcmp(line, text, strlen(text) + 1) == 0;
		sbx_close(fd);
	}
	if (dir)
		closedir(dir);
	return found;
}

TEST(host_goes_away)
{
	struct box box = {0};
	struct job job = {.input = ""};

	if (box_start(&box, err) &&
	    job_start(&job, &box, NULL,
		      "cp /bin/sleep wiresleep; PATH=$PATH:.; (setsid wiresleep 99 &)\n"
		      "wiresleep 99 & sleep 0.1; echo begun; exec wiresleep 99",
		      err) &&
	    job_until_output(&job, "begun\n", err)) {
		(void)usleep(50000);
		ok_int(processes("wiresleep"), 3);
		ok_int(box_end(&box), 1); /* it said that the host is gone */
		ok_int(processes("wiresleep"), 0);
	}
	job_release(&job);
}

/* ---- a host that breaks the protocol ends its sandbox, and nothing else happens */

struct raw {
	uint8_t bytes[4096];
	size_t n;
};

static void add(struct raw *raw, uint8_t type, uint8_t stream, uint32_t req, const void *p,
		size_t n)
{
	struct sbx_frame f = {.type = type, .stream = stream, .req = req, .n = (uint32_t)n};

	sbx_wire_header(raw->bytes + raw->n, &f);
	memcpy(raw->bytes + raw->n + SBX_WIRE_HEADER, p, n);
	raw->n += SBX_WIRE_HEADER + n;
}

static void add_setup(struct raw *raw, const struct box *box, const char *digest)
{
	uint8_t payload[1024];
	struct sbx_coder c = sbx_encoder(payload, sizeof payload);
	struct sbx_wire_setup m = box_setup(box);

	m.digest = digest;
	sbx_code_setup(&c, &m);
	add(raw, SBX_WIRE_SETUP, 0, 0, payload, c.at);
}

/* The guest ends by itself, though the channel stays open. */
static void ends_at(struct box *box, const struct raw *raw)
{
	char sink[4096];
	int status = 0;

	ok_int(write(box->fd, raw->bytes, raw->n), raw->n);
	ok_int(waitpid(box->outer, &status, 0), box->outer);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	while (read(box->fd, sink, sizeof sink) > 0)
		;
	sbx_close(box->fd);
}

TEST(broken_hosts)
{
	static const uint8_t ff[4] = {255, 255, 255, 255}, one[4] = {1};

	for (int i = 0; i < 8; i++) {
		struct box box = {0};
		struct raw raw = {0};

		if (!ok(box_fork(&box)))
			return;
		if (i > 1)
			add_setup(&raw, &box, SBX_GUEST_DIGEST);
		if (i == 0)
			add(&raw, SBX_WIRE_MARK, 0, 1, "", 0);
		else if (i == 1)
			add_setup(&raw, &box, "of another build");
		else if (i == 2)
			add_setup(&raw, &box, SBX_GUEST_DIGEST);
		else if (i == 3)
			add(&raw, SBX_WIRE_MARK, 0, SBX_WIRE_GUEST_ID, "", 0);
		else if (i == 4)
			add(&raw, SBX_WIRE_DATA, SBX_WIRE_STDOUT, 1, one, 4);
		else if (i == 5)
			add(&raw, 77, 0, 1, "", 0);
		else if (i == 6)
			add(&raw, SBX_WIRE_SPAWN, 0, 1, "", 0);
		else {
			memcpy(raw.bytes + raw.n, ff, 4);
			raw.n += SBX_WIRE_HEADER;
		}
		ends_at(&box, &raw);
	}
}

TEST(more_credit_than_the_window)
{
	static const uint8_t argv[] = {4, 0, 0, 0, 't', 'r', 'u', 'e', 0}, one[4] = {1};
	struct box box = {0};
	struct raw raw = {0};
	uint8_t payload[256];
	struct sbx_coder c = sbx_encoder(payload, sizeof payload);
	struct sbx_wire_spawn m = {.cwd = "/"};

	sbx_code_spawn(&c, &m);
	if (!ok(box_fork(&box)))
		return;
	add_setup(&raw, &box, SBX_GUEST_DIGEST);
	add(&raw, SBX_WIRE_ARGV, 0, 1, argv, sizeof argv);
	add(&raw, SBX_WIRE_SPAWN, 0, 1, payload, c.at);
	add(&raw, SBX_WIRE_CREDIT, SBX_WIRE_STDOUT, 1, one, 4);
	ends_at(&box, &raw);
}

TAP_MAIN(RUN(runs), RUN(exit_codes), RUN(signals), RUN(cannot_be_started), RUN(too_many_arguments),
	 RUN(search), RUN(descriptors), RUN(out_of_reach), RUN(owner_of_a_descriptor),
	 RUN(stdin_ends), RUN(stdin_is_not_wanted), RUN(both_ways_at_once), RUN(slow_reader),
	 RUN(deaf_host), RUN(output_limit), RUN(endless_output), RUN(deadline),
	 RUN(no_deadline_that_overflows), RUN(grandchild_holds_stdout), RUN(zombies),
	 RUN(killed_while_held), RUN(killed), RUN(signal_for_the_group), RUN(memory_of_the_tree),
	 RUN(cpu_time_of_the_tree), RUN(terminal), RUN(terminal_ends), RUN(terminal_drains),
	 RUN(host_goes_away), RUN(broken_hosts), RUN(more_credit_than_the_window))
