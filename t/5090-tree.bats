#!/usr/bin/env bats
# However a run ends, its whole tree ends: children that hide in sessions of their own, that are stopped, that ignore every signal,
# that hold the output open, that nobody waits for.
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

# Five children that hide, each with an argument of this test alone; `ready` when all are there.
hiders() {
	mark=9997.$BASHPID
	hide='
		trap "" TERM INT HUP QUIT USR1
		sleep '"$mark"' &
		(setsid sleep '"$mark"' </dev/null >/dev/null 2>&1 &)
		((setsid bash -c "exec -a daemon sleep '"$mark"'" &) &)
		setsid bash -c "sleep '"$mark"' & kill -STOP \$\$" &
		setsid bash -c "trap \"\" TERM INT HUP; while :; do :; done" '"$mark"' &
		until [[ $(grep -lzxF '"$mark"' /proc/[0-9]*/cmdline 2>/dev/null | wc -l) -ge 5 ]]; do read -rt 0.05 <> <(:); done
		echo ready
	'
}
ours() { grep -lzxF "$mark" /proc/[0-9]*/cmdline 2>/dev/null; }
are_there() { [[ $(ours | wc -l) -ge 5 ]]; }

@test "tree: the end of the program" {
	needs setsid
	hiders
	sandbox -7 --timeout 50s -l bash -c "$hide exit 7"
	is outcome exited exit_code 7 out $'ready\n'
	[[ $(ours) == "" ]]
}

@test "tree: a signal of its own" {
	needs setsid
	hiders
	sandbox -139 --timeout 50s -l bash -c "$hide kill -SEGV \$\$"
	is outcome signaled signal SIGSEGV out $'ready\n'
	[[ $(ours) == "" ]]
}

@test "tree: too much output" {
	needs setsid
	hiders
	sandbox -137 --timeout 50s --max-output 1k -l bash -c "$hide yes"
	is outcome output
	[[ $(ours) == "" ]]
}

@test "tree: cancelled" {
	needs setsid
	hiders
	start_sandbox --timeout 50s -l bash -c "$hide sleep $mark"
	wait_for 20 saw ready
	are_there
	kill -TERM "$pid"
	finish_sandbox 143
	is outcome cancelled
	[[ $(ours) == "" ]]
}

@test "tree: one that is all stopped meets its time limit" {
	sandbox -124 --timeout 1s -l bash -c 'echo begun; kill -STOP $$; echo never'
	is outcome timeout signal SIGKILL out $'begun\n'
}

@test "tree: zombies that nobody waits for" {
	# The parent of them never waits; the number of processes is far below.
	sandbox --pids 64 --timeout 50s -l python -c '
import os
pids = []
for i in range(40):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    pids.append(pid)
print(len(pids), flush=True)
os._exit(3) if os.fork() == 0 else None
'
	is outcome exited exit_code 0 out $'40\n'
}
