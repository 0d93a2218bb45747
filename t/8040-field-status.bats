#!/usr/bin/env bats
# Faults that people reported of tools of this kind: exit codes and what cannot be started (class G of data/field-cases.tsv).
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

# language NAME COMMANDS: a language of this test alone, in JSON.
language() {
	mkdir -p "$HOME/.config/llmsbx/languages"
	printf '{"name":"%s","title":"%s","file":"main","suffixes":["%s"],"image":"none","variants":[{"needs":[{"program":"bash"}],%s}],
		"selftest":{"code":"x","stdin":"","stdout":""}}\n' "$1" "$1" "$1" "$2" >"$HOME/.config/llmsbx/languages/$1.json"
}

@test "field: FC-067: a folder as the program is 126" {
	local folder
	for folder in /etc /usr/bin /sandbox; do
		language folder '"run":["'"$folder"'"]'
		sandbox -126 -l folder -c x
		is order "start end" outcome failed exit_code null signal null ran false error not_executable phase run
		[[ $message == *"'$folder'"* ]]
	done
}

@test "field: FC-068: no such program is the same 50 times" {
	local i
	language ghost '"run":["no-such-program"]'
	for i in {1..50}; do
		printf '{"id":"%d","lang":"ghost","code":"x"}\n' "$i"
	done >"jobs"
	run -125 --separate-stderr "$LLMSBX" run --jobs jobs
	[[ $stderr == "" ]]
	[[ $(events 'select(.type == "end") | [.outcome, .exit_code, .ran, .error.code, .error.phase, (.error.message | contains("no-such-program"))]' -c |
		uniq -c | tr -s ' ') == ' 50 ["failed",null,false,"not_found","run",true]' ]]
}

@test "field: FC-071: a work directory is made; where it cannot be, the message names it" {
	sandbox -l bash --workdir /nope/deeper -c 'pwd; : >f && echo written'
	is out $'/nope/deeper\nwritten\n'
	local folder
	for folder in /proc /dev/x /etc/passwd /usr/nope /tmp; do
		run -125 --separate-stderr "$LLMSBX" run -l bash --workdir "$folder" -c 'echo ran'
		[[ $output == "" && ${#stderr_lines[@]} == 1 && $stderr == *--workdir*"'${folder%/x}'"* ]] || fail "$folder: $output $stderr"
	done
}

# broken FILE WORDS: its compiler refuses it with those words, and nothing else is heard.
broken() {
	sandbox "-${3-1}" "$1"
	is outcome compile_failed exit_code "${3-1}" ran false error null bytes "0 0"
	[[ $out$err == *"$2"* ]] || fail "no '$2' in: $out$err"
	[[ $out$err != *[Nn]"ot found"* && $out$err != *"o such file"* && $out$err != *a.out* ]] || fail "$out$err"
}

@test "field: FC-072: a failed compile is all that is heard: C and C++" {
	needs gcc g++
	printf 'int main(void) { int x = "a" * 2; return x; }\n' >bad.c
	broken bad.c "invalid operands"
	printf '#include <string>\nint main() { std::string s = 5; }\n' >bad.cpp
	broken bad.cpp "conversion from ‘int’"
}

@test "field: FC-072: a failed compile is all that is heard: Java" {
	needs javac
	printf 'public class Bad { public static void main(String[] a) { int x = "a"; } }\n' >Bad.java
	broken Bad.java "incompatible types"
}

@test "field: FC-072: a failed compile is all that is heard: Go" {
	needs go
	# One that is seen before anything is built.
	printf 'package main\n\nimport "fmt\n\nfunc main() { fmt.Println(1) }\n' >bad.go
	broken bad.go "string literal not terminated"
}

@test "field: FC-072: a failed compile is all that is heard: TypeScript" {
	needs tsc node
	printf 'const x: number = (1\nconsole.log(x)\n' >bad.ts
	broken bad.ts "bad.ts"
}

@test "field: FC-073: an unknown backend, or one that is not there, runs nothing" {
	local backend
	for backend in nosuch ../local 'local,nosuch' docker; do
		DOCKER_HOST=unix://$PWD/none run -125 --separate-stderr "$LLMSBX" run --backend "$backend" -l bash -c "echo ran; echo ran >$PWD/canary"
		[[ $output$stderr != *'"ran'* && $output$stderr == *"${backend//\"}"* ]]
		LLMSBX_BACKEND=$backend DOCKER_HOST=unix://$PWD/none run -125 --separate-stderr "$LLMSBX" run -l bash -c "echo ran; echo ran >$PWD/canary"
		[[ $output != *'"stdout"'* ]]
	done
	[[ ! -e canary ]]
}
