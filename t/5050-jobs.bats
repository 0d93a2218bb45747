#!/usr/bin/env bats
# `llmsbx run --jobs`: many runs of one command, each as if it were the only one.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # programs in single quotes; what sandbox and job of lib/conform set
load lib/common
load lib/conform

@test "jobs: every key of a job" {
	needs python3
	echo 'print("from file", __import__("sys").argv[1:])' >code.py
	cat >jobs.jsonl <<-'END'
		{"id": "code", "lang": "bash", "code": "echo $# \"$1\" \"$E\"; cat; pwd; cat f/x y; stat -c %a y", "args": ["a b"], "stdin": "in\n", "env": {"E": "e=f"}, "workdir": "/w", "files": [{"path": "f/x", "data": "data\n"}, {"path": "y", "base64": "//4=", "mode": "0755"}]}

		{"id": "file", "file": "code.py", "args": ["-x", "y"]}
		{"id": "bytes", "lang": "bash", "code": "od -An -tx1", "stdin_base64": "AAH/"}
		{"id": "default", "code": "import sys; print(repr(sys.stdin.read()))"}
		{"id": "limits", "lang": "bash", "code": "echo x; while :; do :; done", "timeout": "200ms", "memory": "64m", "pids": 9}
		{"id": "out", "lang": "bash", "code": "echo made >new.txt", "out": ["*.txt"], "out_dir": "got"}
		{"id": "compiled", "lang": "bash", "code": "kill -KILL $$"}
	END
	run_jobs -124 --jobs jobs.jsonl -j 3
	job code
	is outcome exited order "start output end" out $'1 a b e=f\nin\n/w\ndata\n[base64]755\n'
	job file
	is out $'from file [\'-x\', \'y\']\n'
	job bytes
	is out $' 00 01 ff\n'
	job default
	is out $'\'\'\n'
	job limits
	is order "start output limit end" outcome timeout limits wall_time=200000000 out $'x\n'
	job out
	is order "start file end"
	[[ $(<got/new.txt) == made ]]
	job compiled
	is outcome signaled signal SIGKILL
	[[ $(event .id | sort -u | wc -l) == 7 ]]
}

@test "jobs: from standard input, with what the command line says for all" {
	printf '%s\n' '{"lang":"bash","code":"cat; echo $A"}' '{"lang":"bash","code":"echo $A","env":{"A":"own"}}' >jobs.jsonl
	run_jobs --jobs - --keep-order -e A=all --timeout 20s <jobs.jsonl
	[[ $(event 'select(.type == "stdout") | .data' -r | paste -sd' ') == '"all\n" "own\n"' ]]
	# Jobs without an id get ones of ours, and no program reads the jobs.
	[[ $(event .id | sort -u | wc -l) == 2 ]]
	run_jobs --jobs - </dev/null
	[[ ! -s events ]]
}

@test "jobs: the status of all" {
	local good='{"lang":"bash","code":"exit 0"}' bad='{"lang":"bash","code":"exit 7"}' slow='{"lang":"bash","code":"while :; do :; done","timeout":"100ms"}'
	local kill='{"lang":"bash","code":"kill -9 $$"}' ours='{"lang":"nosuch","code":""}'
	printf '%s\n' "$good" "$good" >all-good
	run_jobs --jobs all-good
	printf '%s\n' "$good" "$bad" "$kill" >some-bad
	run_jobs -123 --jobs some-bad
	printf '%s\n' "$bad" "$slow" "$good" >slow
	run_jobs -124 --jobs slow
	printf '%s\n' "$bad" "$slow" "$ours" "$good" >failed
	run_jobs -125 --jobs failed
	[[ $(event 'select(.type == "end") | .outcome' | sort | paste -sd' ') == '"exited" "exited" "failed" "timeout"' ]]
}

@test "jobs: what is no job fails by itself, and the stream goes on" {
	local i
	cat >jobs.jsonl <<-'END'
		not json
		[1]
		{"id": "unknown", "lang": "bash", "code": "", "nosuchkey": 1}
		{"id": "nothing"}
		{"id": "both", "code": "x", "file": "y"}
		{"id": "twice", "lang": "bash", "code": "echo first"}
		{"id": "twice", "lang": "bash", "code": "echo second"}
		{"id": "mount", "lang": "bash", "code": "true", "mount": ["/:/x"]}
		{"id": "up", "lang": "bash", "code": "true", "files": [{"path": "../x", "data": ""}]}
		{"id": "bad-timeout", "lang": "bash", "code": "true", "timeout": "soon"}
		{"id": "type", "lang": "bash", "code": 7}
		{"id": [7], "lang": "bash", "code": "true"}
		{"id": "cut", "lang": "bash", "code": "tr
		{"id": "nofile", "file": "nofile.py"}
		{"id": "good", "lang": "bash", "code": "echo good"}
	END
	# Events of one id are those of two jobs where the id was there before.
	"$LLMSBX" run --jobs jobs.jsonl --keep-order >events 2>diagnostics && fail "all well"
	[[ ! -s diagnostics && $(event 'select(.type == "end")' | wc -l) == 15 ]]
	[[ $(event 'select(.type == "end" and .outcome == "failed") | .ran == false and .error.message != ""' | sort | uniq -c | xargs) == "13 true" ]]
	[[ $(event 'select(.type == "stdout") | .data' | paste -sd' ') == '"first\n" "good\n"' ]]
	[[ $(event 'select(.type == "end" and .error) | .error.message' | sed -n 1p) == *"line 1"* ]]
	for i in unknown nothing both mount up bad-timeout type cut nofile; do
		[[ $i == cut || $(event "select(.type == \"end\" and .id == \"$i\") | .outcome") == '"failed"' ]]
	done
	usage_error "--jobs" run --jobs jobs.jsonl -c true
	usage_error "--jobs" run --jobs jobs.jsonl file
	usage_error "'nofile'" run --jobs nofile
}

@test "jobs: -j at once, --keep-order in their order" {
	printf '%s\n' '{"id":"slow","lang":"bash","code":"echo a; while :; do :; done","timeout":"1s"}' \
		'{"id":"q1","lang":"bash","code":"echo b"}' '{"id":"q2","lang":"bash","code":"echo c"}' >jobs.jsonl
	run_jobs -124 --jobs jobs.jsonl -j 2
	[[ $(event 'select(.type == "end") | .id' | paste -sd' ') == '"q1" "q2" "slow"' ]]
	run_jobs -124 --jobs jobs.jsonl -j 1
	[[ $(event 'select(.type == "end") | .id' | paste -sd' ') == '"slow" "q1" "q2"' ]]
	run_jobs -124 --jobs jobs.jsonl -j 3 --keep-order
	[[ $(event .id | uniq | paste -sd' ') == '"slow" "q1" "q2"' ]]
}

@test "jobs: a slow reader slows the runs, in little memory, and misses nothing" {
	mkfifo pipe
	yes '{"lang":"bash","code":"head -c 1000000 /dev/zero | tr \"\\0\" x"}' | head -n 60 >jobs.jsonl
	bash -c 'kill -STOP $$; exec cat' <pipe >got 3>&- &
	local reader=$!
	background+=("$reader")
	(little_memory 48 && exec "$LLMSBX" run --jobs jobs.jsonl -j 4 --timeout 40s) >pipe 3>&- &
	pid=$!
	background+=("$pid")
	# The first process below llmsbx is a job, which stays until it is read.
	wait_for 10 first_child "$pid"
	wait_for 20 stands_still "$pid"
	kill -CONT "$reader"
	wait "$pid"
	wait "$reader"
	judge_jobs got
	[[ $(jq -c 'select(.type == "end") | [.outcome, .bytes.stdout]' got | sort | uniq -c | xargs) == '60 [exited,1000000]' ]]
	[[ $(jq -j 'select(.type == "stdout") | .data' got | wc -c) == 60000000 ]]
}

@test "jobs: one whose process is killed leaves no half of a line, and is lost" {
	mkfifo pipe
	printf '%s\n' '{"id":"big","lang":"bash","code":"exec yes"}' >jobs.jsonl
	bash -c 'kill -STOP $$; exec cat' <pipe >got 3>&- &
	local reader=$! child got=0
	background+=("$reader")
	"$LLMSBX" run --jobs jobs.jsonl >pipe 3>&- &
	pid=$!
	background+=("$pid")
	wait_for 10 program_of "$pid"
	child=$(first_child "$pid")
	# Its pipe is full then, up to some byte of a line.
	wait_for 20 stands_still "$pid"
	wait_for 20 stands_still "$child"
	kill -KILL "$child"
	kill -CONT "$reader"
	wait "$pid" || got=$?
	wait "$reader"
	[[ $got == 125 && $(tail -c 1 got | od -An -tx1) == " 0a" ]]
	"$LLMSBX" gc >removed
	jq -se 'map(.seq) == [range(length)] and (map(select(.type == "end")) | length == 1) and
		(.[-1] | .type == "end" and .outcome == "lost" and .error.code == "lost")' got
}

@test "jobs: one signal cancels them all" {
	printf '%s\n' '{"id":"a","lang":"bash","code":"echo begun; sleep 1000"}' '{"id":"b","lang":"bash","code":"echo begun; sleep 1000"}' \
		'{"id":"c","lang":"bash","code":"echo never"}' >jobs.jsonl
	: >events
	env --default-signal=INT,TERM,HUP,PIPE "$LLMSBX" run --jobs jobs.jsonl -j 2 >events 2>diagnostics 3>&- &
	pid=$!
	background+=("$pid")
	two_begun() { [[ $(grep -c begun events) == 2 ]]; }
	wait_for 10 two_begun
	kill -INT "$pid"
	local got=0
	wait "$pid" || got=$?
	[[ $got == 130 && ! -s diagnostics ]]
	judge_jobs events
	job a
	is order "start output end" outcome cancelled signal SIGKILL
	job b
	is outcome cancelled
	[[ $(<events) != *never* ]]
}

@test "jobs: what ends one of them ends no other" {
	needs python3
	cat >jobs.jsonl <<-'END'
		{"id": "hog", "code": "import mmap\nheld = []\nwhile True:\n    m = mmap.mmap(-1, 8 << 20)\n    for at in range(0, 8 << 20, 4096): m[at] = 1\n    held.append(m)", "memory": "64m"}
		{"id": "disk", "lang": "bash", "code": "head -c 2000000 /dev/zero >big; exit 3", "disk": "1m"}
		{"id": "noise", "lang": "bash", "code": "exec yes", "max_output": 1000}
		{"id": "kill", "lang": "bash", "code": "kill -KILL -1; exit 5"}
		{"id": "good", "lang": "bash", "code": "echo good"}
	END
	run_jobs -123 --jobs jobs.jsonl -j 4
	job hog
	is outcome oom limits memory=67108864
	job disk
	is outcome exited exit_code 3 limits disk=1048576
	job noise
	is outcome output limits output=1000
	job kill
	is outcome exited exit_code 5
	job good
	is outcome exited out $'good\n'
}

@test "jobs: 300 of them" {
	local i
	for i in {1..300}; do printf '{"id":"j%d","lang":"bash","code":"echo %d"}\n' "$i" "$i"; done >jobs.jsonl
	run_jobs --jobs jobs.jsonl -j 8 --keep-order
	[[ $(event 'select(.type == "stdout") | "j" + .data[:-1] == .id' | sort | uniq -c | xargs) == "300 true" ]]
	[[ $(event 'select(.type == "end") | .id[1:] | tonumber' | paste -sd' ') == "$(seq -s' ' 300)" ]]
}
