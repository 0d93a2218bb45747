#!/usr/bin/env bats
# `llmsbx doctor --attack`: what it tells, and that it can tell something bad.
# shellcheck disable=SC2030,SC2031,SC2154 # each test has a HOME of its own; output, stderr and status are set by bats
load lib/common

# attack STATUS OPTION...: with these probes; stderr is silent.
attack() {
	local expected=$1
	shift
	run "-$expected" --separate-stderr llmsbx doctor --attack "$@"
	[[ -z $stderr ]] || fail "stderr: $stderr"
}

@test "attack: TAP of a class" {
	attack 0 --only SC
	[[ ${lines[0]} == "TAP version 13" && ${lines[1]} == 1..16 ]]
	[[ $output == *$'\nok 1 - SC01 bpf: refused ('*$'\nok 16 - SC16 control: '*': works ('* ]]
	[[ $output != *"not ok"* && ${lines[-1]} == "# 16 passed, 0 failed, "* ]]
}

@test "attack: JSON lines" {
	needs jq
	run --separate-stderr llmsbx doctor --attack --only ID0 --format jsonl
	[[ $(jq -rs 'map(.id) | join(" ")' <<<"$output") == "ID00 ID01 ID02 ID03 ID04 ID05 ID06 ID07 ID08 ID09" ]]
	# Without ids of one's own ID04 is a gap that the receipt tells of.
	case $(jq -rs 'map(.state) | unique | join(" ")' <<<"$output") in
	passed) [[ $status == 0 ]] ;;
	"gap passed") [[ $status == 2 ]] ;;
	*) fail "$output" ;;
	esac
	[[ $(jq -rs 'map(select(.class != "ID" or (.severity | length) != 1 or (.detail | length) == 0)) | length' <<<"$output") == 0 ]]
}

@test "attack: every class but the slow ones" {
	local class
	for class in FS PS SC NN; do
		run --separate-stderr llmsbx doctor --attack --only "$class"
		[[ $output != *$'\nnot ok'* ]] || fail "$output"
		# NN10 attacks what is not built; with one id PS13 is a gap.
		[[ $status == 0 || ($class == @(NN|PS) && $status == 2) ]] || fail "status $status: $output"
	done
}

@test "attack: our own side" {
	attack 2 --only LI
	[[ $output != *$'\nnot ok'* && $output == *"LI00 control: "*": works ("* && $output == *"# SKIP not_built: "* ]]
	attack 2 --only CP
	[[ $output != *$'\nnot ok'* && $output == *"CP00 control: "*": works ("* ]]
}

@test "attack: bombs" {
	run --separate-stderr llmsbx doctor --attack --only RL0
	[[ $output != *$'\nnot ok'* ]] || fail "$output"
	[[ $output =~ "RL01 fork bomb: "(contained|killed)" (" ]] || fail "$output"
}

@test "attack: what comes through is told" {
	needs root
	# A home below /usr, which every sandbox sees: the flag in it is found.
	HOME=$(mktemp -d /usr/local/llmsbx-test-XXXXXX)
	chmod 755 "$HOME"
	run --separate-stderr llmsbx doctor --attack --only FS01
	rm -r "$HOME"
	[[ $status == 1 && $output == *$'\nnot ok 1 - FS01 '*": reached ("* ]] || fail "$status: $output"
}

@test "attack: nothing of it is left" {
	local before after
	before=$(find /tmp /var/tmp /dev/shm -maxdepth 1 -name '*llmsbx-flag*' -o -maxdepth 1 -name 'llmsbx-attack-*' | wc -l)
	# Without an id of its own a program has a gap there, which the receipt tells of.
	run --separate-stderr llmsbx doctor --attack --only PS
	[[ ($status == 0 || $status == 2) && $output != *$'\nnot ok'* ]] || fail "status $status: $output"
	after=$(find /tmp /var/tmp /dev/shm -maxdepth 1 -name '*llmsbx-flag*' -o -maxdepth 1 -name 'llmsbx-attack-*' | wc -l)
	[[ $after -le $before && -z $(find "$HOME" -name '*llmsbx-flag*') ]]
}

@test "attack: wrong usage" {
	run -2 --separate-stderr llmsbx doctor --only FS
	[[ $stderr == *"--only: is an option of --attack"* ]]
	run -2 --separate-stderr llmsbx doctor --attack --only ZZ
	[[ -z $output && $stderr == *"no probe's id begins with 'ZZ'"* ]]
	run -2 --separate-stderr llmsbx doctor --attack --format json
	[[ -z $output && $stderr == *"--format: "* ]]
}
