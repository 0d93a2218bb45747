#!/usr/bin/env bats
# Faults that people reported of tools of this kind: limits and whole trees (classes D and T of data/field-cases.tsv).
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

# Processes, wherever they are, that have exactly this argument.
with_argument() {
	printf '%s\n' "$1" >argument
	grep -lzxF -f argument /proc/[0-9]*/cmdline 2>/dev/null
}
is_there() { [[ $(with_argument "$1" | wc -l) -ge ${2-1} ]]; }
is_gone() { [[ $(with_argument "$1") == "" ]]; }

@test "field: FC-029 FC-030 FC-182: after a time-out nothing of the program lives, however it hides" {
	needs setsid
	local mark=9999.$BASHPID
	start_sandbox -l bash --timeout 1s -c '
		trap "" TERM INT HUP QUIT PIPE
		sleep '"$mark"' &
		(setsid sleep '"$mark"' </dev/null >/dev/null 2>&1 &)
		(exec -a "" sleep '"$mark"' &)
		setsid bash -c "trap \"\" TERM INT HUP; cd /; sleep '"$mark"' & while :; do :; done" &
		while :; do :; done'
	wait_for 10 is_there "$mark" 4
	finish_sandbox 124
	is outcome timeout exit_code null signal SIGKILL
	[[ " $limits " == *" wall_time=1000000000 "* ]]
	is_gone "$mark"
}

@test "field: FC-031: what runs does not outlive an llmsbx that is killed" {
	local mark=9998.$BASHPID
	start_sandbox -l bash -c '(setsid sleep '"$mark"' &); exec sleep '"$mark"
	wait_for 10 is_there "$mark" 2
	kill -KILL "$pid"
	wait "$pid" || :
	pid=
	wait_for 10 is_gone "$mark"
	# And the next run is none the worse for it.
	sandbox -l bash -c 'echo next'
	is out $'next\n'
}

@test "field: FC-034: the limit that was given counts, also where files are to come back" {
	LLMSBX_TIMEOUT=100ms sandbox -l bash --timeout 20s -o '*' --out-dir got -c 'read -t 0.4 <> <(:); echo late >file'
	is outcome exited limits "" order "start file end"
	run -0 --separate-stderr "$LLMSBX" run --dry-run -l bash --timeout 60 -o '*' -c true
	[[ $(jq .limits.wall_time_ns <<<"$output") == 60000000000 ]]
}

@test "field: FC-035: several at once each meet their own limit" {
	local i
	for i in 1 2 3 4; do
		printf '{"id":"%d","lang":"bash","timeout":"%d00ms","code":"while :; do :; done"}\n' "$i" $((i + 2))
	done >"jobs"
	run -124 --separate-stderr "$LLMSBX" run --jobs jobs -j 4
	[[ $stderr == "" ]]
	[[ $(events 'select(.type == "end") | "\(.id) \(.outcome)"' | sort) == $'1 timeout\n2 timeout\n3 timeout\n4 timeout' ]]
	[[ $(events 'select(.name == "wall_time") | "\(.id) \(.value)"' | sort) == $'1 300000000\n2 400000000\n3 500000000\n4 600000000' ]]
}

@test "field: FC-037: a program that eats all processor time and nearly all memory is ended all the same" {
	needs python3
	sandbox -124 --memory 64m --timeout 2s - <<-'END'
		import mmap, threading
		held = mmap.mmap(-1, 40 << 20)
		for at in range(0, 40 << 20, 4096):
		    held[at] = 1
		def burn():
		    while True:
		        pass
		print("burning", flush=True)
		for i in range(8):
		    threading.Thread(target=burn).start()
	END
	is outcome timeout out $'burning\n'
	[[ " $limits " == *" wall_time=2000000000 "* ]]
}

@test "field: FC-040: a time-out says in one line which limit it was" {
	run -124 --separate-stderr "$LLMSBX" run -rq -l bash --timeout 200ms -c 'echo one; while :; do :; done'
	[[ $output == one && ${#stderr_lines[@]} == 1 ]]
	[[ $stderr == "llmsbx: "*"time limit of 200ms (--timeout)"* ]]
	run -124 --separate-stderr "$LLMSBX" run -rq -l bash --cpu-time 200ms -c 'echo one; while :; do :; done'
	[[ $output == one && ${#stderr_lines[@]} == 1 ]]
	[[ $stderr == "llmsbx: "*"(--cpu-time)"* ]]
}

@test "field: FC-041: a clock that is set changes no limit" {
	needs gcc
	[[ $(ldd "$LLMSBX") != *libasan* ]] || skip "needs an llmsbx that no sanitizer is in"
	cat >step.c <<-'END'
		#define _GNU_SOURCE
		#include <sys/syscall.h>
		#include <sys/time.h>
		#include <time.h>
		#include <unistd.h>
		/* Back and forth by an hour, from one look to the next. */
		static long step(void)
		{
			static unsigned int n;
			return n++ % 2 ? 3600 : -3600;
		}
		int clock_gettime(clockid_t id, struct timespec *ts)
		{
			int r = (int)syscall(SYS_clock_gettime, id, ts);
			if (id == CLOCK_REALTIME)
				ts->tv_sec += step();
			return r;
		}
		int gettimeofday(struct timeval *restrict tv, void *restrict tz)
		{
			struct timespec ts;
			(void)tz;
			clock_gettime(CLOCK_REALTIME, &ts);
			tv->tv_sec = ts.tv_sec;
			tv->tv_usec = ts.tv_nsec / 1000;
			return 0;
		}
		time_t time(time_t *ret)
		{
			struct timespec ts;
			clock_gettime(CLOCK_REALTIME, &ts);
			return ret ? (*ret = ts.tv_sec) : ts.tv_sec;
		}
	END
	gcc -shared -fPIC -o step.so step.c
	local now
	now=$(date +%s)
	[[ $(LD_PRELOAD=$PWD/step.so date +%s) -lt $((now - 3000)) ]]
	LD_PRELOAD=$PWD/step.so "$LLMSBX" run --format jsonl -l bash --timeout 500ms -c 'while :; do :; done' >events || [[ $? == 124 ]]
	judge events
	is outcome timeout limits wall_time=500000000
	[[ $(event 'select(.type == "end") | .timing.exec >= 500000000 and .timing.total < 60000000000') == true ]]
}

@test "field: FC-042: a program that is over while its output ends it, 200 times" {
	local i
	for i in {1..200}; do
		printf '{"lang":"bash","code":"printf %%020000d 0"}\n'
	done >"jobs"
	run --separate-stderr "$LLMSBX" run --jobs jobs --max-output 1000
	[[ $status == 0 || $status == 123 ]]
	[[ $stderr == "" ]]
	# Who is first is open; that one of them says what happened is not.
	[[ $(events 'select(.type == "end") | .outcome' | sort -u | grep -vx -e exited -e output) == "" ]]
	[[ $(events 'select(.type == "end") | .truncated.stdout' | sort | uniq -c | tr -s ' ') == " 200 true" ]]
	[[ $(events 'select(.type == "limit") | "\(.name) \(.value)"' | sort | uniq -c | tr -s ' ') == " 200 output 1000" ]]
}

@test "field: FC-186: a program makes no cgroups" {
	sandbox -l bash -c '
		grep cgroup /proc/self/mounts && echo mounted
		for folder in /sys/fs/cgroup /sys/fs/cgroup/{memory,pids,cpu,unified} "/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup | head -n 1)"; do
			mkdir -p "$folder/x" 2>/dev/null && echo "made $folder/x"
		done
		mkdir mnt && { mount -t cgroup2 none mnt || mount -t cgroup -o pids none mnt; } 2>/dev/null && echo "mounted one"
		echo tried'
	is out $'tried\n'
}

@test "field: FC-189: who is at the limit of processes does not keep another from his" {
	needs python3
	mkfifo hold
	cat >fill.py <<-'END'
		import os
		made = 0
		try:
		    while made < 100:
		        if os.fork() == 0:
		            os.read(0, 1)
		            os._exit(0)
		        made += 1
		except BlockingIOError:
		    pass
		print(f"full at {made}", flush=True)
		os.read(0, 1)
	END
	start_sandbox --pids 16 fill.py < <(exec cat hold 3>&-)
	exec {feed}>hold
	wait_for 10 saw '"full at 15'
	mkdir other
	cp fill.py other
	(cd other && sandbox --pids 40 fill.py && is out $'full at 39\n')
	exec {feed}>&-
	finish_sandbox 0
	is out $'full at 15\n'
}
