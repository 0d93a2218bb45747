#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154,SC2030,SC2031 # what is in single quotes is for an inner shell
#
# run --jobs: many runs, each with its own events, status and end.

load lib/common

# job CODE [MEMBERS]: a line for a bash program.
job() { jq -cn --arg code "$1" "{lang: \"bash\", code: \$code} + {${2-}}"; }

# The outcomes by id, sorted: "a exited".
outcomes() { events 'select(.type == "end") | "\(.id) \(.outcome)"' | sort; }

@test "jobs: each has its id, its arguments, its input, its files and its status" {
	{
		job 'echo "$1"; cat; cat d/f; ls -l run.sh | cut -c1-10; exit 3' '
			id: "a", args: ["arg"], stdin: "input\n", env: {A: "1"},
			files: [{path: "d/f", data: "file\n"}, {path: "run.sh", data: "", mode: "755"}]'
		echo
		job 'echo $A' 'id: "b", env: {A: "env"}, timeout: 5, memory: "64m"'
	} >jobs.jsonl
	run -123 --separate-stderr llmsbx run --jobs jobs.jsonl
	[[ -z $stderr ]]
	[[ $(events 'select(.id == "a" and .type == "stdout") | .data' -j) == $'arg\ninput\nfile\n-rwxr-xr-x' ]]
	[[ $(events 'select(.id == "b" and .type == "stdout") | .data' -j) == env ]]
	[[ $(events 'select(.type == "end") | "\(.id) \(.exit_code)"' | sort) == $'a 3\nb 0' ]]
}

@test "jobs: seq counts from 0 in each, and exactly one end closes each" {
	for i in {1..12}; do job "echo $i; echo $i >&2"; done >jobs.jsonl
	run -0 --separate-stderr llmsbx run --jobs jobs.jsonl -j 4
	[[ $(events .id | sort -u | wc -l) == 12 ]]
	jq -se 'group_by(.id) | all(map(.seq) == [range(length)] and .[-1].type == "end" and
		(map(select(.type == "end")) | length == 1))' <<<"$output"
}

@test "jobs: a line that is not a job fails alone, under its id" {
	{
		echo 'not json'
		job 'true' 'id: "good"'
		echo '{"id":"odd","code":"x","colour":"red"}'
		job 'true' 'id: "good"'
		echo '{"id":"mount","code":"x","mount":"/etc:/x"}'
		printf '%s' "$(job 'true' 'id: "last"')"
	} >jobs.jsonl
	run -125 --separate-stderr llmsbx run --jobs jobs.jsonl
	[[ $(outcomes | grep -v "^[a-z2-7]\{20\} ") == $'good exited\ngood failed\nlast exited\nmount failed\nodd failed' ]]
	[[ $(outcomes | grep -c "^[a-z2-7]\{20\} failed") == 1 ]]
	[[ $(events 'select(.type == "end") | .error.message // empty' | grep -c '^--jobs: line 1, column 1: ') == 1 ]]
	[[ $(events 'select(.id == "odd") | .error.message') == *"line 3: "*"'colour'"* ]]
	[[ $(events 'select(.id == "good" and .outcome == "failed") | .error.message') == *"line 4: the id 'good' was there before" ]]
	[[ $(events 'select(.id != "good" and .id != "last") | .ran' | sort -u) == false ]]
}

@test "jobs: the status of all: ours, then time, then others" {
	job true >ok
	job 'exit 7' >seven
	job 'while :; do :; done' 'timeout: "100ms"' >slow
	echo '{}' >wrong
	run -0 llmsbx run --jobs - < <(cat ok ok)
	run -123 llmsbx run --jobs - < <(cat ok seven)
	run -124 llmsbx run --jobs - < <(cat slow seven)
	run -125 llmsbx run --jobs - < <(cat wrong slow seven ok)
	run -0 llmsbx run --jobs - </dev/null
	[[ -z $output ]]
}

@test "jobs: a program that exits with 125 is not a failure of ours" {
	run -123 llmsbx run --jobs - < <(job 'exit 125')
	[[ $(the_end .exit_code) == 125 ]]
}

@test "jobs: no more than -j at once" {
	for i in {1..6}; do job 'sleep 0.2'; done >jobs.jsonl
	run -0 --separate-stderr llmsbx run --jobs jobs.jsonl -j 2
	# A program runs from its start event to its end event; these are in the order they happened.
	[[ $(events 'select(.type == "start" or .type == "end") | .type' |
		awk '{ n += $1 == "start" ? 1 : -1; if (n > max) max = n } END { print max }') -le 2 ]]
}

@test "jobs: more descriptors than a shell allows at first, and never fewer than it takes" {
	for i in {1..40}; do job 'echo'; done >jobs.jsonl
	run -0 --separate-stderr bash -c 'ulimit -Sn 128; exec "$LLMSBX" run --jobs jobs.jsonl -j 40'
	[[ $(outcomes | grep -c ' exited$') == 40 ]]
	run -125 --separate-stderr bash -c 'ulimit -n 128; exec "$LLMSBX" run --jobs jobs.jsonl -j 40'
	[[ $output == "" && $stderr == *"--parallel: 40 jobs at once need 304 descriptors, and the limit is 128"* ]]
}

@test "jobs: --keep-order prints the jobs in their order, however long they take" {
	{
		job 'sleep 0.3; echo 1' 'id: "1"'
		job 'echo 2' 'id: "2"'
		echo 'no job'
		for i in {4..9}; do job "echo $i" "id: \"$i\""; done
	} >jobs.jsonl
	run -125 --separate-stderr llmsbx run --jobs jobs.jsonl -j 4 --keep-order
	[[ $(events 'select(.type == "end") | .id' | sed 's/^[a-z2-7]\{20\}$/3/') == $'1\n2\n3\n4\n5\n6\n7\n8\n9' ]]
	# No job's events begin before those of the one before have ended.
	[[ $(events .id | uniq | wc -l) == 9 ]]
}

@test "jobs: --format json is a line a job" {
	{ job 'echo 1' 'id: "1"'; job 'echo 2; exit 2' 'id: "2"'; } >jobs.jsonl
	run -123 --separate-stderr llmsbx run --jobs jobs.jsonl --format json --keep-order
	[[ ${#lines[@]} == 2 ]]
	[[ $(events '"\(.id) \(.exit_code) \(.stdout)"' -j) == $'1 0 1\n2 2 2' ]]
}

@test "jobs: --events-fd gets the same lines" {
	job 'echo 1' >jobs.jsonl
	run -0 --separate-stderr bash -c '"$LLMSBX" run --jobs jobs.jsonl --events-fd 3 3>events'
	[[ $(<events) == "$output" ]]
}

@test "jobs: a line that is too long is refused, and the next one runs" {
	{
		head -c $((97 << 20)) /dev/zero | tr '\0' x
		echo
		job 'echo after' 'id: "after"'
	} >jobs.jsonl
	run -125 --separate-stderr llmsbx run --jobs jobs.jsonl
	[[ $(outcomes | grep -c failed) == 1 ]]
	[[ $(events 'select(.outcome == "failed") | .error.message') == *"line 1: longer than 96 MiB" ]]
	[[ $(events 'select(.id == "after") | select(.type == "stdout") | .data') == after ]]
}

@test "jobs: lines are taken as they come, not when the input ends" {
	mkfifo in
	"$LLMSBX" run --jobs - <in >out 3>&- &
	exec 4>in
	job 'echo one' 'id: "one"' >&4
	wait_for 10 grep -q '"id":"one".*"outcome":"exited"' out
	job 'echo two' 'id: "two"' >&4
	wait_for 10 grep -q '"id":"two".*"outcome":"exited"' out
	exec 4>&-
	wait $!
}

@test "jobs: a signal cancels those that run and starts no other" {
	for i in {1..8}; do job 'echo up; sleep 60'; done >jobs.jsonl
	"$LLMSBX" run --jobs jobs.jsonl -j 2 >out 3>&- &
	wait_for 10 grep -q '"data":"up' out
	kill -TERM $!
	wait $! || status=$?
	[[ $status == 143 ]]
	output=$(<out)
	[[ $(events 'select(.type == "end") | .outcome' | sort -u) == cancelled ]]
	jq -se 'group_by(.id) | length <= 4 and all(.[-1].type == "end")' out
}

@test "jobs: nothing is left when llmsbx is killed" {
	for i in {1..4}; do job 'echo up; sleep 60'; done >jobs.jsonl
	"$LLMSBX" run --jobs jobs.jsonl -j 2 >out 3>&- &
	wait_for 10 grep -q '"data":"up' out
	kill -KILL $!
	wait $! || status=$?
	[[ $status == 137 ]]
	wait_for 5 nothing_left
}

@test "jobs: a reader that goes away ends all" {
	for i in {1..4}; do job 'while :; do echo y; done'; done >jobs.jsonl
	run bash -c '{ "$LLMSBX" run --jobs jobs.jsonl -j 2; echo $? >status; } | head -c 1000 >/dev/null'
	[[ $(<status) == 141 ]]
}

@test "jobs: a slow reader slows the programs down and memory stays flat" {
	for i in {1..4}; do job 'yes 0123456789 | head -c 8000000'; done >jobs.jsonl
	mkfifo out
	"$LLMSBX" run --jobs jobs.jsonl -j 2 --timeout 60s >out 3>&- &
	exec 4<out
	read -r _ <&4
	sleep 1
	if [[ $(ldd "$LLMSBX") != *libasan* ]]; then
		for pid in $! $(pgrep -P $!); do
			[[ $(ps -o rss= -p "$pid") -lt 8192 ]]
		done
	fi
	jq -r 'select(.type == "stdout") | .data' -j <&4 >text
	exec 4<&-
	wait $!
	[[ $(stat -c %s text) == 32000000 ]]
}

@test "jobs: /dev/full is 125 with the system's words" {
	job 'echo 1' >jobs.jsonl
	run -125 --separate-stderr bash -c '"$LLMSBX" run --jobs jobs.jsonl >/dev/full'
	[[ $stderr == "llmsbx: cannot write the output: No space left on device" ]]
}

@test "jobs: where there is no room for a process, that job waits for another's end" {
	needs root
	local what
	# A sanitizer that looks for leaks would need one more process at the end.
	local -x ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
	for i in {1..5}; do job "echo $i" "id: \"j$i\""; done >jobs.jsonl
	for what in fork pidfd_open; do
		run -0 --separate-stderr helper refuse "$what" yynyny "$LLMSBX" run --jobs jobs.jsonl -j 2 --keep-order
		[[ -z $stderr && $(events 'select(.type == "stdout") | .id + .data' -j) == $'j11\nj22\nj33\nj44\nj55' ]]
	done
}

@test "jobs: a job for which there is never room fails alone" {
	needs root
	{
		job 'echo 1' 'id: "first"'
		echo '{"id": "odd", "colour": "red"}'
		job 'echo 2' 'id: "last"'
	} >jobs.jsonl
	# A sanitizer that looks for leaks would need one more process at the end.
	local -x ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
	run -125 --separate-stderr helper refuse fork yn "$LLMSBX" run --jobs jobs.jsonl --keep-order
	[[ -z $stderr && $(events 'select(.type == "end") | "\(.id) \(.seq) \(.outcome) \(.ran)"') == $'first 2 exited true\nodd 0 failed false\nlast 0 failed false' ]]
	[[ $(events 'select(.type == "end" and .error) | .error.message' | sed -n 1p) == *"line 2: "*"'colour'"* ]]
	[[ $(events 'select(.type == "end" and .error) | .error.message' | sed -n 2p) == "cannot start a process for a job (ulimit -u tells how many may be): Resource temporarily unavailable" ]]
	run -125 --separate-stderr helper refuse pidfd_open yn "$LLMSBX" run --jobs jobs.jsonl --keep-order
	[[ $(events 'select(.id == "last" and .type == "end") | .error.message') == "cannot watch a job: Too many open files" ]]
}
