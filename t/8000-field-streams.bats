#!/usr/bin/env bats
# Faults that people reported of tools of this kind: streams and encodings (classes A, B and I of data/field-cases.tsv).
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

@test "field: FC-006: output that begins as the frames of some engine do" {
	needs python3
	local tty
	for tty in --no-tty --tty; do
		sandbox -l bash "$tty" -c 'printf "\1\2\3"'
		[[ $(stream stdout | od -An -tx1) == " 01 02 03" ]]
		sandbox -l bash "$tty" -c 'printf "\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\377"'
		[[ $(stream stdout | od -An -tx1 -w99) == " 01 00 00 00 00 00 00 05 68 65 6c 6c 6f 02 00 00 00 00 00 00 ff" ]]
	done
}

@test "field: FC-012 FC-013: text and bytes of a job, there and back" {
	needs python3
	local text='日本語 €“ü” 𝄞'
	jq -cn --arg t "$text" '{lang: "bash", args: [$t], env: {W: $t}, stdin: $t, files: [{path: "d/\($t)", data: $t}],
		code: "printf %s \"$1$W\"; cat; cat \"d/\($t)\"; printf %s \"\($t)\"; printf %s \"$1\" >&2"}' >job
	sandbox --jobs job
	is out "$text$text$text$text$text" err "$text"
	# No character escaped that need not be.
	grep -qF "$text" events
	head -c 1000 /dev/urandom >random
	jq -cn --arg b "$(base64 -w0 random)" '{lang: "bash", code: "cat; cat f >&2", stdin_base64: $b, files: [{path: "f", base64: $b}]}' >job
	sandbox --jobs job
	stream stdout | cmp - random
	stream stderr | cmp - random
	[[ $(event 'select(.base64) | .base64 | test("^[A-Za-z0-9+/]+=*$")' | sort -u) == true ]]
}

@test "field: FC-014: quotes in the words of a compiler" {
	needs g++
	printf '#include <iostream>\nint main() { std::cout << "x; }\n' >bad.cpp
	sandbox -1 bad.cpp
	is outcome compile_failed ran false
	[[ $err == *'missing terminating " character'*'std::cout << "x; }'* ]]
	printf 'int main() { int x = 1 return x; }\n' >bad.cpp
	sandbox -1 bad.cpp
	[[ $err == *"expected ‘,’ or ‘;’ before ‘return’"* ]]
}

@test "field: FC-015: a letter beyond ASCII, read and compared, whatever the caller's locale" {
	needs python3
	printf 's = input()\nprint(s, s[2] == "ầ", s == "thầu ao", len(s))\n' >compare.py
	LC_ALL=C LANG=C sandbox compare.py <<<'thầu ao'
	is out $'thầu ao True True 7\n'
	LC_ALL=C LANG=C sandbox -l bash -c 'read -r s; echo "$s ${#s} ${s:2:1} $LANG"' <<<'thầu ao'
	is out $'thầu ao 7 ầ C.UTF-8\n'
}

@test "field: FC-020: what we log never stands between the events" {
	LLMSBX_LOG=debug "$LLMSBX" run --format jsonl -l bash -c 'echo out; echo err >&2' >events 2>diagnostics
	judge events
	is order "start output end" out $'out\n' err $'err\n'
	[[ $(grep -v '^llmsbx' diagnostics) == "" ]]
}

@test "field: FC-085: a report is whole, though its reader begins only when the pipe is full" {
	needs python3
	"$LLMSBX" run --format jsonl -l bash -c 'head -c 5242880 /dev/zero | tr "\0" x' | python3 -c '
import os, select, sys
pipe = os.open("/proc/self/fd/0", os.O_WRONLY)
poll = select.poll()
poll.register(pipe, select.POLLOUT)
while poll.poll(0):
    os.sched_yield()
os.close(pipe)
sys.stdout.write(sys.stdin.read())' >events
	[[ ${PIPESTATUS[*]} == "0 0" ]]
	judge events
	is outcome exited bytes "5242880 0" truncated ""
	[[ ${#out} == 5242880 ]]
}
