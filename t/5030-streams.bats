#!/usr/bin/env bats
# What a program reads and writes: every byte, on the right stream, at any size, with any reader.
# shellcheck disable=SC2016,SC2094,SC2154 # programs in single quotes; files read twice; what sandbox of lib/conform sets
load lib/common
load lib/conform

@test "streams: random bytes on both streams at once" {
	needs python3
	head -c 4000000 /dev/urandom >one
	head -c 3000001 /dev/urandom >two
	sandbox -l bash --file one --file two -c 'cat one & cat two >&2; wait'
	is outcome exited truncated "" bytes "4000000 3000001"
	stream stdout | cmp - one
	stream stderr | cmp - two
	"$LLMSBX" run -rq -l bash --file one --file two -c 'cat one & cat two >&2; wait' >out 2>err
	cmp out one && cmp err two
}

@test "streams: every byte by itself, JSON stays JSON" {
	needs python3
	sandbox - <<-'END'
		import os
		for i in range(256):
		    os.write(1, bytes([i]))
		os.write(1, "\u2028\u2029\ufeff\U0010ffff\"\\\r\n".encode())
		os.write(1, b"\xed\xa0\x80 \xc0\xaf \xf5\x80\x80\x80 \xef\xbf\xbf")
	END
	python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) + "\u2028\u2029\ufeff\U0010ffff\"\\\r\n".encode() +
		b"\xed\xa0\x80 \xc0\xaf \xf5\x80\x80\x80 \xef\xbf\xbf")' >want
	stream stdout | cmp - want
	# A line an event, whatever is in it, and nothing that a terminal would act on.
	[[ $(tr -d '\n' <events | LC_ALL=C tr -cd '\000-\037\177' | wc -c) == 0 ]]
}

@test "streams: no character is cut, wherever a write or a buffer ends" {
	needs python3
	sandbox - <<-'END'
		import os
		text = ("a" + "ü" + "日" + "𝄞").encode() * 30000
		for step, part in ((1, text[:3000]), (7, text[:70000]), (65537, text)):
		    for at in range(0, len(part), step):
		        os.write(1, part[at:at + step])
		os.write(2, "é".encode()[:1])
	END
	[[ $(event 'select(.type == "stdout") | has("data")' | sort -u) == true ]]
	# What ends in half a character was written so.
	[[ $(event 'select(.type == "stderr") | .base64') == '"ww=="' ]]
	python3 -c 'import sys; t = ("a" + "ü" + "日" + "𝄞").encode() * 30000; sys.stdout.buffer.write(t[:3000] + t[:70000] + t)' >want
	stream stdout | cmp - want
}

@test "streams: stdout and stderr apart, in turn" {
	sandbox -l bash -c 'for i in {1..100}; do echo o; echo e >&2; done'
	is out "$(printf 'o\n%.0s' {1..100})"$'\n' err "$(printf 'e\n%.0s' {1..100})"$'\n' bytes "200 200"
}

@test "streams: no newline at the end, empty lines, nothing" {
	sandbox -l bash -c 'printf "\n\nx"; printf "y" >&2'
	is out $'\n\nx' err y
	run -0 --separate-stderr "$LLMSBX" run -rq -l bash -c 'printf x; printf y >&2'
	[[ $output == x && $stderr == y ]]
	sandbox -l bash -c true
	is order "start end" bytes "0 0"
}

@test "streams: all that was written before the end is there, every time" {
	local i
	head -c 1048576 /dev/zero | tr '\0' x >mib
	for i in {1..10}; do
		"$LLMSBX" run -rq -l bash -c ': '"$i"'; head -c 1048576 /dev/zero | tr "\0" x | tee /dev/stderr' >out 2>err
		cmp out mib && cmp err mib
	done
}

@test "streams: output comes as it is written, not at the end" {
	start_sandbox -l bash -c 'echo tick; read -r x; echo "got $x"; read -r x; exit 3' \
		< <(wait_for 10 saw tick && echo tock && wait_for 10 saw 'got tock')
	finish_sandbox 3
	is out $'tick\ngot tock\n'
}

@test "streams: 1 GiB of output in little memory" {
	flat 48 "$LLMSBX" run -rq --timeout 50s --max-output none -l bash -c 'exec head -c 1073741824 /dev/zero' |
		cmp - <(head -c 1073741824 /dev/zero)
	[[ ${PIPESTATUS[*]} == "0 0" ]]
}

@test "streams: ten million lines" {
	needs python3
	flat 48 "$LLMSBX" run --timeout 50s --format jsonl -l bash -c 'yes | head -n 10000000' >events
	[[ $(event 'select(.type == "end") | [.outcome, .bytes.stdout]') == '["exited",20000000]' ]]
	stream stdout | cmp - <(yes | head -n 10000000)
}

@test "streams: 64 MiB in and out at once, in little memory" {
	head -c 67108864 /dev/urandom >input
	flat 48 "$LLMSBX" run -rq --timeout 50s -l bash -c 'exec tee /dev/stderr' <input 2>err | cmp - input
	[[ ${PIPESTATUS[*]} == "0 0" ]]
	cmp err input
}

@test "streams: binary input arrives exactly" {
	head -c 1000003 /dev/urandom >in
	sandbox -l bash -c 'sha256sum; printf x' <in
	is out "$(sha256sum <in)"$'\nx'
	printf '\0\1\2\377' | "$LLMSBX" run -rq -l bash -c 'wc -c; cat' >out
	[[ $(<out) == 4 ]]
}

@test "streams: what is more than --max-output is counted, dropped, said" {
	run -0 --separate-stderr "$LLMSBX" run -r --max-output 10 -l bash -c 'echo 123456789012345'
	[[ $output == 1234567890 && $stderr == *"output limit"*"--max-output"* ]]
	sandbox -l bash --max-output none -c 'head -c 1000000 /dev/zero | tr "\0" x | head -c 1000000'
	is bytes "1000000 0" truncated "" limits ""
	[[ " $enforced $degraded $unsupported " != *" output "* ]]
}

@test "streams: a reader that stands still holds the program, and misses nothing" {
	mkfifo pipe
	bash -c 'kill -STOP $$; exec cat' <pipe >got 3>&- &
	local reader=$!
	background+=("$reader")
	(little_memory 48 && exec "$LLMSBX" run --timeout 1s --max-output none --format jsonl -l bash -c 'exec yes') >pipe 3>&- &
	pid=$!
	background+=("$pid")
	# The time of the program is over, and nobody has read: only then go on.
	wait_for 10 program_of "$pid"
	wait_for 10 no_program_of "$pid"
	kill -CONT "$reader"
	local got=0
	wait "$pid" || got=$?
	wait "$reader"
	[[ $got == 124 ]]
	judge got
	is outcome timeout limits wall_time=1000000000
	# It got no further than what is kept on the way.
	[[ ${bytes% *} -lt 4000000 && $(stream stdout got | wc -c) == "${bytes% *}" ]]
}

@test "streams: a reader that goes away ends the run, as it ends any filter" {
	# While the program writes, while it is silent, and with each format.
	local got format
	for format in raw jsonl; do
		got=$(set +e; "$LLMSBX" run --format "$format" -q --timeout 50s --max-output none -l bash -c 'exec yes' | head -n 2 >/dev/null; echo "${PIPESTATUS[0]}")
		[[ $got == 141 ]]
	done
	got=$(set +e; "$LLMSBX" run --timeout 50s -l bash -c 'echo once; exec sleep 1000' --format jsonl | head -n 1 >/dev/null; echo "${PIPESTATUS[0]}")
	[[ $got == 141 ]]
	# Whoever ignores SIGPIPE is told.
	got=$(set +e; trap '' PIPE; "$LLMSBX" run --format jsonl --timeout 50s --max-output none -l bash -c 'exec yes' 2>diagnostics | head -n 2 >/dev/null; echo "${PIPESTATUS[0]}")
	[[ $got == 125 && $(<diagnostics) == *"Broken pipe"* ]]
}

@test "streams: a full disk behind stdout ends the run with 125" {
	local format got
	for format in raw jsonl; do
		got=0
		"$LLMSBX" run --format "$format" -q --timeout 50s -l bash -c 'echo x; exec sleep 1000' >/dev/full 2>diagnostics || got=$?
		[[ $got == 125 && $(<diagnostics) == "llmsbx"*": "*"No space left on device" && $(wc -l <diagnostics) == 1 ]]
	done
	got=0
	"$LLMSBX" run --format json -l bash -c 'echo x' >/dev/full 2>diagnostics || got=$?
	[[ $got == 125 && $(<diagnostics) == "llmsbx"*": "*"No space left on device" ]]
	got=0
	"$LLMSBX" run --events-fd 3 -rq -l bash -c 'echo x; exec sleep 1000' 3>/dev/full >out 2>diagnostics || got=$?
	[[ $got == 125 && $(<diagnostics) == "llmsbx"*": "*"No space left on device" ]]
	# Nothing to write is nothing that fails.
	"$LLMSBX" run -rq -l bash -c 'exit 0' >/dev/full
}

@test "streams: invalid bytes in --format json" {
	needs python3
	"$LLMSBX" run --format json -l bash -c 'printf "\xff\xfeA"; printf "plain" >&2' >out
	python3 - <<-'END'
		import base64, json
		o = json.load(open("out"))
		assert o["stderr"] == "plain" and o["exit_code"] == 0
		assert base64.b64decode(o["stdout_base64"]) == b"\xff\xfeA", o
	END
}
