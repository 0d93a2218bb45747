#!/usr/bin/env bats
# Every way in which a run can end: its status, the order of its events, `end`, the limit that was met, the receipt.
# shellcheck disable=SC2016,SC2034,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

# language NAME COMMANDS [NEED]: a language of this test alone, in JSON.
language() {
	local need=${3-\"bash\"}
	mkdir -p "$HOME/.config/llmsbx/languages"
	printf '{"name":"%s","title":"%s","file":"main","suffixes":["%s"],"image":"none","variants":[{"needs":[{"program":%s}],%s}],
		"selftest":{"code":"x","stdin":"","stdout":""}}\n' "$1" "$1" "$1" "$need" "$2" >"$HOME/.config/llmsbx/languages/$1.json"
}

# Takes more and more memory that every way of bounding it sees, and touches it.
hidden='import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)' # PR_SET_DUMPABLE

hog='
import mmap
held = []
while True:
    m = mmap.mmap(-1, 8 << 20)
    for at in range(0, 8 << 20, 4096):
        m[at] = 1
    held.append(m)
'

@test "outcome: exited" {
	sandbox -7 -l bash -c 'echo out; echo err >&2; exit 7'
	is order "start output end" outcome exited exit_code 7 signal null ran true error null limits "" truncated "" \
		bytes "4 4" out $'out\n' err $'err\n'
	[[ $(event 'select(.type == "end") | [.timing.compile, .timing.install, .usage.io, .usage.net] | tostring' -r) ]]
	[[ $(event 'select(.type == "end") | .timing.exec > 0 and .timing.acquire > 0') == true ]]
	[[ $(event 'select(.type == "end") | .usage.memory_peak_bytes > 100000') == true ]]
}

@test "outcome: exited, with the numbers that statuses of ours have" {
	local status
	for status in 124 125 126 127 137 143; do
		sandbox "-$status" -l bash -c "exit $status"
		is order "start end" outcome exited exit_code "$status" signal null ran true error null limits ""
	done
}

@test "outcome: signaled" {
	sandbox -137 -l bash -c 'echo before; kill -KILL $$'
	is order "start output end" outcome signaled exit_code null signal SIGKILL ran true error null limits "" out $'before\n'
	sandbox -143 -l bash -c 'kill -TERM $$'
	is outcome signaled exit_code null signal SIGTERM
	sandbox -139 -l bash -c 'kill -SEGV $$'
	is outcome signaled exit_code null signal SIGSEGV
	sandbox -130 -l bash -c 'kill -INT $$'
	is outcome signaled exit_code null signal SIGINT
	sandbox -162 -l bash -c 'kill -RTMIN $$'
	is outcome signaled exit_code null signal SIGRTMIN
	# A signal that someone else of the program gets is the program's own affair.
	sandbox -0 -l bash -c 'bash -c "kill -KILL \$\$" 2>/dev/null; echo $?'
	is outcome exited out $'137\n'
}

@test "outcome: signaled, by the filter of system calls" {
	needs gcc
	[[ $(uname -m) == x86_64 ]] || skip "the calls of another machine are those of i386"
	sandbox -159 -l c -c '
		#include <stdio.h>
		int main(void) { puts("before"); fflush(stdout); __asm__ volatile("int $0x80" : : "a"(20)); puts("after"); }'
	is outcome signaled signal SIGSYS out $'before\n' error null
}

@test "outcome: timeout" {
	sandbox -124 -l bash --timeout 300ms -c 'echo partial; while :; do :; done'
	is order "start output limit end" outcome timeout exit_code null signal SIGKILL ran true error null \
		limits wall_time=300000000 out $'partial\n' truncated ""
	[[ " $enforced " == *" wall_time "* ]]
	# Whoever sleeps, ignores signals, or waits for input has no more time.
	sandbox -124 -l bash --timeout 200ms -c 'trap "" TERM INT HUP; sleep 100 & wait; sleep 100'
	is outcome timeout
	sandbox -124 -l bash --timeout 200ms -c 'cat' < <(exec sleep 5)
	is outcome timeout
	# Time does not run while the program is being made ready, and none is counted without a limit.
	sandbox -0 -l bash --timeout none -c 'echo x'
	is outcome exited limits ""
	[[ " $enforced $degraded $unsupported " != *" wall_time "* ]]
}

@test "outcome: cpu_timeout, of all processes together" {
	sandbox -124 -l bash --cpu-time 300ms --timeout 20s --cpus none -c 'echo partial; (while :; do :; done) & while :; do :; done'
	is order "start output limit end" outcome cpu_timeout exit_code null signal SIGKILL ran true error null \
		limits cpu_time=300000000 out $'partial\n'
	[[ " $enforced $degraded " == *" cpu_time "* ]]
	[[ $(event 'select(.type == "end") | .usage.cpu_user_ns + .usage.cpu_sys_ns >= 250000000') == true ]]
	# Time of processes that are over counts too.
	sandbox -124 -l bash --cpu-time 400ms --timeout 20s -c 'while :; do (for ((i = 0; i < 20000; i++)); do :; done); done'
	is outcome cpu_timeout
	# Hiding from /proc does not help.
	needs python3
	sandbox -124 -l python --cpu-time 300ms --timeout 20s -c "$hidden; exec('while True: pass')"
	is outcome cpu_timeout
	# Who sleeps uses none.
	sandbox -0 -l bash --cpu-time 400ms -c 'read -t 0.6 <> <(:) || :'
	is outcome exited limits ""
}

@test "outcome: oom" {
	needs python3
	printf '%s' "$hog" >hog.py
	sandbox -137 --memory 64m hog.py
	is order "start limit end" outcome oom exit_code null signal SIGKILL ran true error null limits memory=67108864
	[[ " $enforced $degraded " == *" memory "* ]]
	[[ $(event 'select(.type == "end") | .usage.memory_peak_bytes > 40000000') == true ]]
	# Where the kernel itself bounds it, it ends one process, and the program may survive that.
	if [[ " $enforced " == *" memory "* ]]; then
		sandbox --memory 64m --file hog.py -l bash -c 'python3 hog.py; echo status $?'
		is order "start output limit end" outcome exited exit_code 0 limits memory=67108864 out $'status 137\n'
	else
		# All processes together, those that hide from /proc as well.
		sandbox -137 -l python --memory 64m -c "$hidden; import os, time
for i in range(3):
	if os.fork() == 0:
		hog = b'x' * (30 << 20); time.sleep(10); os._exit(0)
while os.wait(): pass"
		is outcome oom limits memory=67108864
	fi
	# What several processes share is there once.
	sandbox -l python --memory 96m -c "import os, time
shared = b'x' * (30 << 20)
for i in range(3):
	if os.fork() == 0:
		time.sleep(0.3); os._exit(0)
for i in range(3): os.wait()"
	is outcome exited limits ""
}

@test "outcome: cancelled by a signal that comes twice, as from timeout" {
	for i in 1 2 3 4 5; do
		run -124 --separate-stderr timeout 0.5 "$LLMSBX" run --format jsonl -l bash -c 'echo begun; while :; do :; done'
		[[ $(the_end '"\(.outcome) \(.signal) \(.bytes.stdout)"') == "cancelled SIGKILL 6" ]]
	done
}

@test "code in a pipe is waited for, and who waits can leave" {
	mkfifo code
	(exec 3>&-; echo "echo late" >code) &
	sandbox -l bash code
	is outcome exited out $'late\n'
	sandbox -l bash <(echo "echo here")
	is outcome exited out $'here\n'
	exec 9<>code
	run -130 --separate-stderr bash -c 'timeout --preserve-status -s INT 0.5 env --default-signal=INT "$LLMSBX" run code 9>&-; exit $?'
	[[ $output$stderr == "" ]]
}

@test "outcome: output" {
	sandbox -137 -l bash --max-output 1000 -c 'exec yes'
	is order "start output limit end" outcome output exit_code null signal SIGKILL ran true error null limits output=1000 \
		truncated stdout out "$(yes | head -n 500)"$'\n'
	[[ $(event 'select(.type == "end") | .bytes.stdout >= 16000 and .bytes.stdout < 16000 + (2 * 1048576)') == true ]]
	sandbox -137 -l bash --max-output 1000 -c 'exec yes >&2'
	is outcome output truncated stderr limits output=1000 out ""
}

@test "outcome: output that was cut and survived" {
	sandbox -l bash --max-output 1000 -c 'head -c 1001 /dev/zero | tr "\0" x; head -c 1000 /dev/zero | tr "\0" y >&2; echo z'
	is outcome exited exit_code 0 limits output=1000 truncated stdout bytes "1003 1000" out "$(printf 'x%.0s' {1..1000})" \
		err "$(printf 'y%.0s' {1..1000})"
	# Exactly as much as there may be is not cut.
	sandbox -l bash --max-output 1000 -c 'head -c 1000 /dev/zero | tr "\0" x'
	is outcome exited limits "" truncated "" bytes "1000 0"
	# No character is cut: what would be half of one is dropped whole.
	sandbox -l bash --max-output 1000 -c 'printf "x"; for i in {1..400}; do printf "\xe6\x97\xa5"; done'
	is limits output=1000 truncated stdout out "x$(printf '日%.0s' {1..333})"
}

@test "outcome: cancelled" {
	start_sandbox -l bash -c 'echo begun; sleep 1000'
	wait_for 10 saw begun
	kill -INT "$pid"
	finish_sandbox 130
	is order "start output end" outcome cancelled exit_code null signal SIGKILL ran true error null limits "" out $'begun\n'
}

@test "outcome: compile_failed" {
	needs gcc
	printf '#warning careful\nint main(void) { return x; }\n' >bad.c
	sandbox -1 bad.c
	is order "start output end" outcome compile_failed exit_code 1 signal null ran false error null limits "" out "" bytes "0 0"
	[[ $err == *"bad.c:2"*"‘x’ undeclared"* ]]
	# The words of a good compiler are no output of the program.
	printf '#warning careful\n#include <stdio.h>\nint main(void) { puts("ran"); return 0; }\n' >good.c
	sandbox good.c
	is order "start progress output end" out $'ran\n' err "" outcome exited
	[[ $(event 'select(.type == "progress") | [.phase, (.message | contains("careful"))]') == '["compile",true]' ]]
	[[ $(event 'select(.type == "end") | .timing.compile > 0') == true ]]
}

@test "outcome: a compiler that meets a limit" {
	language slow '"compile":[["bash","-c","echo compiling; while :; do :; done"]],"run":["true"]'
	sandbox -124 --timeout 300ms -l slow -c x
	is outcome timeout ran false limits wall_time=300000000
	[[ $out == $'compiling\n' ]]
	language killed '"compile":[["bash","-c","kill -SEGV $$"]],"run":["true"]'
	sandbox -139 -l killed -c x
	is outcome compile_failed exit_code null signal SIGSEGV ran false
}

@test "outcome: failed, 127: no such program, language, file" {
	language ghost '"run":["ghost-interpreter","{file}"]' '"ghost-interpreter","debian":"ghost","fedora":"ghost-f"'
	sandbox -127 -l ghost -c x
	is order end outcome failed exit_code null signal null ran false error not_found phase prepare limits ""
	[[ $message == *"'ghost-interpreter'"*ghost* ]]
	language late '"run":["no-such-program"]'
	sandbox -127 -l late -c x
	is order "start end" outcome failed ran false error not_found phase run
	[[ $message == *"'no-such-program'"* ]]
	sandbox -127 -l klingon -c x
	is order end outcome failed error not_found
	[[ $message == *"'klingon'"* ]]
	sandbox -127 nofile.py
	is order end outcome failed error not_found
	[[ $message == *"'nofile.py'"* ]]
	# An interpreter of a script that is not there is not the script's status.
	sandbox -127 -l bash -c 'exec no-such-program' || fail "$(show events)"
	is outcome exited exit_code 127 ran true
}

@test "outcome: failed, 126: what is there cannot be executed" {
	language itself '"run":["./{file}"]'
	printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\363\0\1\0\0\0' >other.itself
	chmod +x other.itself
	sandbox -126 other.itself
	is order "start end" outcome failed exit_code null signal null ran false error not_executable phase run
	printf '#!/bin/bash\necho ran\n' >no-x.itself
	chmod 644 no-x.itself
	sandbox -126 -l itself no-x.itself
	is outcome failed error not_executable
	chmod 755 no-x.itself
	sandbox -l itself no-x.itself
	is outcome exited out $'ran\n'
	printf '#!/no/such/interpreter\n' >no-i.itself
	chmod 755 no-i.itself
	sandbox -127 -l itself no-i.itself
	is outcome failed error not_found
}

@test "outcome: failed, 125: what is ours or was asked for cannot be had" {
	head -c 3000000 /dev/zero >big
	sandbox -125 -l bash --disk 1m --file big -c true
	is order end outcome failed exit_code null signal null ran false limits ""
	[[ $message == *"'big'"*--disk* ]]
	mkdir folder
	sandbox -125 -l bash folder
	is order end outcome failed ran false
	[[ $message == *"'folder'"* ]]
	sandbox -125 -l bash --network full --require-enforced network -c true
	is outcome failed ran false
	[[ $message == *network* ]]
}

@test "outcome: lost" {
	start_sandbox -l bash -c 'echo begun; sleep 1000'
	wait_for 10 saw begun
	kill -KILL "$(guest_of "$pid")"
	finish_sandbox 125
	is order "start output end" outcome lost exit_code null signal null ran true error lost out $'begun\n'
}

@test "outcome: a full disk is a limit event; the program decides" {
	sandbox -3 -l bash --disk 1m -c 'head -c 3000000 /dev/zero >big || exit 3'
	is outcome exited exit_code 3 limits disk=1048576
	[[ $err == *"No space left"* ]]
	[[ " $enforced $degraded " == *" disk "* ]]
	# One that makes room again has met it all the same only where it still shows.
	sandbox -l bash --disk 1m -c 'head -c 500000 /dev/zero >half && echo fits'
	is outcome exited limits "" out $'fits\n'
	# Folders and files without bytes are bounded too.
	sandbox -3 -l bash --disk 1m --timeout 20s -c 'for ((i = 0; i < 1000000; i++)); do : >"$i" || exit 3; done'
	is outcome exited limits disk=1048576
}

@test "outcome: processes that were refused, where they are counted, are a limit event" {
	needs python3
	sandbox --pids 16 - <<-'END'
		import os, time
		made = 0
		for i in range(40):
		    try:
		        if os.fork() == 0:
		            time.sleep(1000)
		        made += 1
		    except BlockingIOError:
		        pass
		print(made)
	END
	# The first process is one of the 16.
	is outcome exited exit_code 0 out $'15\n'
	[[ " $enforced $degraded " == *" pids "* ]]
	[[ " $enforced " != *" pids "* ]] || is limits pids=16
}
