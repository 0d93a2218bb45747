#!/usr/bin/env bats
# Signals to llmsbx: the first ends the tree, writes `end`, and then llmsbx as it would have ended without us; SIGKILL at any moment
# leaves nothing that the next command does not remove.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # programs in single quotes; tests are subshells; what sandbox of lib/conform sets
load lib/common
load lib/conform

# died_of SIGNAL-NUMBER: the process `pid` died of it, which a status of 128 and more alone does not say.
died_of() {
	[[ $(<waited) == "-$1" ]] || fail "it ended with $(<waited), not by signal $1"
}

# A parent that tells exits from deaths: writes the status, or the signal as a negative number, to the file `waited`.
start_watched() {
	: >events
	rm -f watched
	python3 -c '
import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
p = subprocess.Popen(sys.argv[1:], stdout=open("events", "w"), stderr=open("diagnostics", "w"),
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
open("watched", "w").write(str(p.pid))
open("waited", "w").write(str(p.wait()))
' "$LLMSBX" run --format jsonl "$@" 3>&- &
	watcher=$!
	background+=("$watcher")
	wait_for 10 test -s watched
	pid=$(<watched)
}

@test "signals: INT, TERM and HUP cancel, and are what llmsbx dies of" {
	needs python3
	local number
	for number in 2 15 1; do
		start_watched -l bash -c 'trap "echo caught" INT TERM HUP; echo begun; while :; do :; done'
		wait_for 10 saw begun
		kill "-$number" "$pid"
		wait "$watcher"
		died_of "$number"
		judge events
		is order "start output end" outcome cancelled exit_code null signal SIGKILL ran true error null out $'begun\n'
		[[ ! -s diagnostics ]]
	done
}

@test "signals: each format says how it was" {
	start_sandbox --format raw -l bash -c 'echo begun; exec sleep 1000'
	wait_for 10 saw begun
	kill -INT "$pid"
	local got=0
	wait "$pid" || got=$?
	[[ $got == 130 && $(<events) == begun && $(<diagnostics) == *cancelled* ]]
	start_sandbox --format json -l bash -c 'exec sleep 1000'
	wait_for 10 program_of "$pid"
	kill -INT "$pid"
	got=0
	wait "$pid" || got=$?
	[[ $got == 130 && $(jq -r .outcome events) == cancelled ]]
}

@test "signals: one that the caller ignores stays ignored" {
	: >events
	env --ignore-signal=INT,HUP "$LLMSBX" run --format jsonl -l bash -c 'echo begun; read -r x; echo "got $x"' \
		< <(wait_for 10 saw begun && kill -INT "$(<started)" && kill -HUP "$(<started)" && echo on) >events 3>&- &
	pid=$!
	background+=("$pid")
	echo "$pid" >started
	wait "$pid"
	judge events
	is outcome exited exit_code 0 out $'begun\ngot on\n'
}

@test "signals: a window that changes its size, a stop and a continue change nothing" {
	start_sandbox -l bash -c 'echo begun; read -r x; echo "got $x"' < <(wait_for 10 saw begun && wait_for 10 test -e told && echo on)
	wait_for 10 saw begun
	kill -WINCH "$pid"
	kill -STOP "$pid"
	kill -WINCH "$pid"
	kill -CONT "$pid"
	: >told
	finish_sandbox 0
	is outcome exited out $'begun\ngot on\n'
}

@test "signals: while it is compiled, while files go in" {
	mkdir -p "$HOME/.config/llmsbx/languages"
	cat >"$HOME/.config/llmsbx/languages/slow.json" <<-'END'
		{"name": "slow", "title": "Slow", "suffixes": ["slow"], "image": "none", "file": "main", "selftest": {"code": "", "stdin": "", "stdout": ""},
		 "variants": [{"needs": [{"program": "bash"}], "compile": [["bash", "-c", "echo compiling; sleep 1000"]], "run": ["true"]}]}
	END
	start_sandbox -l slow -c x
	wait_for 10 program_of "$pid"
	wait_for 10 saw start
	kill -TERM "$pid"
	finish_sandbox 143
	is outcome cancelled ran false
	# A pipe that nobody fills is no regular file: one that is big enough takes its time.
	truncate -s 4G sparse
	start_sandbox --memory 20g --disk 8g -l bash --file sparse -c 'true'
	wait_for 10 guest_of "$pid"
	kill -TERM "$pid"
	finish_sandbox 143
	is order end outcome cancelled ran false
}

@test "signals: before anything runs it is a plain death" {
	needs python3
	mkfifo code
	exec {hold}<>code
	: >events
	env --default-signal=INT "$LLMSBX" run --format jsonl -l bash <code >events 2>diagnostics 3>&- {hold}>&- &
	pid=$!
	background+=("$pid")
	reads() { [[ $(readlink "/proc/$pid/fd/0" 2>/dev/null) == */code && $(<"/proc/$pid/comm") == llmsbx ]] && stands_still "$pid"; }
	wait_for 10 reads
	kill -INT "$pid"
	local got=0
	wait "$pid" || got=$?
	exec {hold}>&-
	[[ $got == 130 && ! -s events && ! -s diagnostics ]]
}

# impatient OPTION...: two signals to a run whose reader stands still.  With --jobs each job is a process between llmsbx and guest.
impatient() {
	running() {
		local of=$pid
		if [[ $jobs ]]; then of=$(first_child "$pid") || return; fi
		program_of "$of"
	}
	not_running() { ! running && { read -rt 0.1 <> <(:) || ! running; }; }
	local jobs=
	[[ $1 != --jobs ]] || jobs=yes
	rm -f pipe
	mkfifo pipe
	bash -c 'kill -STOP $$; exec cat' <pipe >got 3>&- &
	local reader=$!
	background+=("$reader")
	env --default-signal=INT "$LLMSBX" run --format jsonl "$@" >pipe 2>diagnostics 3>&- &
	pid=$!
	background+=("$pid")
	wait_for 10 running
	wait_for 10 stands_still "$pid"
	kill -INT "$pid"
	wait_for 10 not_running
	wait_for 10 stands_still "$pid"
	wait_for 10 stands_still "$pid"
	kill -INT "$pid" 2>/dev/null || :
	local got=0
	wait "$pid" || got=$?
	kill -KILL "$reader"
	wait "$reader" 2>/dev/null || :
	[[ $got == 130 ]]
}

@test "signals: a second one does not wait for anybody" {
	impatient --max-output none --timeout 50s -l bash -c 'exec yes'
	yes '{"lang":"bash","code":"exec yes","max_output":"none","timeout":"50s"}' | head -n 3 >jobs.jsonl
	impatient --jobs jobs.jsonl -j 2
	wait_for 10 nobody_is_left
}

@test "signals: Ctrl-C in a terminal" {
	needs python3
	# The signal goes to every process of the foreground; what was written is there, and so is the end.
	python3 - "$LLMSBX" >screen <<-'END'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], [sys.argv[1], "run", "-l", "bash", "-c", "echo begun; exec sleep 1000"])
		seen = b""
		while b"begun" not in seen:
		    seen += os.read(fd, 4096)
		os.write(fd, b"\x03")
		try:
		    while True:
		        more = os.read(fd, 4096)
		        if not more:
		            break
		        seen += more
		except OSError:
		    pass
		_, status = os.waitpid(pid, 0)
		print(os.WIFSIGNALED(status) and os.WTERMSIG(status), b"cancelled" in seen)
	END
	[[ $(<screen) == "2 True" ]]
}

@test "signals: SIGKILL at each event leaves no process, and the next command removes the rest" {
	local event
	for event in '' '"type":"start"' begun two; do
		start_sandbox -l bash -c 'setsid sleep 1000 & echo begun; echo two >&2; exec sleep 1000'
		wait_for 10 saw "$event"
		kill -KILL "$pid"
		local got=0
		wait "$pid" || got=$?
		[[ $got == 137 ]]
		wait_for 10 nobody_is_left
	done
	next_command_cleans
}

nobody_is_left() { [[ $(orphans) == "" ]]; }
next_command_cleans() {
	run -0 --separate-stderr "$LLMSBX" gc
	assert_no_leftovers
	run -0 --separate-stderr "$LLMSBX" run -rq -l bash -c 'echo well'
	[[ $output == well && $stderr == "" ]]
}

@test "signals: SIGKILL at any moment, 40 times" {
	local i got
	for i in {1..40}; do
		"$LLMSBX" run --format jsonl -l bash -o '*' --out-dir got -c 'echo x >f; for i in 1 2 3 4; do sleep 1000 & done; sleep 0.03' \
			>"events-$i" 2>diagnostics 3>&- &
		pid=$!
		background+=("$pid")
		read -rt "0.0$((i + 9))" <> <(:) || :
		kill -KILL "$pid" 2>/dev/null || :
		got=0
		wait "$pid" || got=$?
		[[ $got == 137 || $got == 0 ]]
		# Whole lines, of which the last is the end only where it is.
		[[ ! -s events-$i ]] || jq -e . "events-$i" >parsed
	done
	wait_for 10 nobody_is_left
	next_command_cleans
	[[ ! -d got || $(find got -name '.llmsbx-*' | wc -l) -le 40 ]]
}

@test "signals: SIGKILL while it compiles and in the midst of jobs" {
	needs gcc
	{ printf 'int main(void) { return 0; }\n'; seq -f 'int v%.0f[] = { 1, 2, 3 };' 20000; } >big.c
	start_sandbox big.c
	wait_for 10 saw '"type":"start"'
	kill -KILL "$pid"
	wait "$pid" || :
	yes '{"lang":"bash","code":"echo begun; exec sleep 1000"}' | head -n 8 >jobs.jsonl
	start_sandbox --jobs jobs.jsonl -j 4
	wait_for 10 saw begun
	kill -KILL "$pid"
	wait "$pid" || :
	wait_for 10 nobody_is_left
	next_command_cleans
}

@test "signals: SIGKILL of a group and of a session" {
	needs python3 setsid
	: >events
	setsid "$LLMSBX" run --format jsonl -l bash -c 'echo begun; exec sleep 1000' >events 3>&- &
	local leader=$!
	background+=("$leader")
	wait_for 10 saw begun
	pid=$(pgrep -f -x "$LLMSBX run --format jsonl -l bash -c echo begun; exec sleep 1000")
	kill -KILL -- "-$pid"
	wait "$leader" || :
	wait_for 10 nobody_is_left
	next_command_cleans
}
