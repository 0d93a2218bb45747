#!/usr/bin/env bats
# shellcheck disable=SC2154 # output and the like are set by bats
#
# lang, doctor, gc: what is there, what it can enforce, what was left.

load lib/common

@test "lang lists the rest where a definition is broken" {
	mkdir -p "$HOME/.config/llmsbx/languages"
	run -0 --separate-stderr llmsbx lang list
	local all=$output
	echo '{"name": "mine"' >"$HOME/.config/llmsbx/languages/mine.json"
	run -1 --separate-stderr llmsbx lang list
	[[ $output == "$all" && $stderr == "llmsbx lang: $HOME/.config/llmsbx/languages/mine.json: line 2, column 1: "* && ${#stderr_lines[@]} == 1 ]]
	# One of theirs that is broken hides ours of that name, and says so.
	mv "$HOME/.config/llmsbx/languages/mine.json" "$HOME/.config/llmsbx/languages/bash.json"
	run -1 --separate-stderr llmsbx lang list
	[[ $output == "$(grep -v '^bash ' <<<"$all")" && ${#stderr_lines[@]} == 1 ]]
}

@test "lang lists every language, ready or with what to install" {
	run -0 --separate-stderr llmsbx lang
	[[ -z $stderr ]]
	local file n=0
	for file in "$SBX_SHARE"/languages/*.json; do
		n=$((n + 1))
		[[ $output == *"$(basename "$file" .json) "* ]]
	done
	[[ ${#lines[@]} == "$n" ]]
	local first=$output
	run -0 --separate-stderr llmsbx lang list
	[[ $output == "$first" ]]
	run -0 --separate-stderr llmsbx lang list --format json
	jq -e "length == $n and all(.ready == (.missing == null) and .ready == (.install == null))" <<<"$output"
	run -0 --separate-stderr llmsbx lang --format jsonl list
	[[ ${#lines[@]} == "$n" && $(jq -r .name <<<"${lines[0]}") == bash ]]
	[[ $(jq -r .program <<<"${lines[0]}") == */bash ]]
}

@test "lang says what is missing" {
	mkdir -p "$HOME/.config/llmsbx/languages"
	jq '.name = "odd" | .aliases = [] | .suffixes = ["odd"] | .variants |= [.[0] | .needs =
		[{"program": "no-such-program", "debian": "odd-package"}] | .run = ["no-such-program", "{file}"]]' \
		"$SBX_SHARE/languages/bash.json" >"$HOME/.config/llmsbx/languages/odd.json"
	run -0 --separate-stderr llmsbx lang
	[[ $output == *$'\n'"odd          missing  'no-such-program': install the package 'odd-package'"* ]]
	run -0 --separate-stderr llmsbx lang show odd --format json
	[[ $(jq -r '"\(.ready) \(.program) \(.missing) \(.install)"' <<<"$output") == \
		"false null no-such-program odd-package" ]]
	run -127 --separate-stderr llmsbx run -r -l odd -c x
	[[ $stderr == *"'no-such-program'"*"'odd-package'"* ]]
}

@test "lang show takes other names too" {
	run -0 --separate-stderr llmsbx lang show python
	local first=$output
	[[ $first == "name      python (Python)"$'\n'* ]]
	run -0 --separate-stderr llmsbx lang show PY
	[[ $output == "$first" ]]
	run -0 --separate-stderr llmsbx lang show python --format json
	[[ $(jq -r .file <<<"$output") == main.py ]]
}

@test "doctor shows the machine and the receipt of a run, and its status is the answer" {
	run --separate-stderr llmsbx doctor --format json
	[[ -z $stderr && $status == "$(jq 'if .all_enforced then 0 else 1 end' <<<"$output")" ]]
	[[ $(jq -r .machine.kernel <<<"$output") == "Linux $(uname -r) $(uname -m)" ]]
	[[ $(jq -r .uid <<<"$output") == "$EUID" ]]
	[[ $(jq -r '.started, .error' <<<"$output") == $'true\nnull' ]]
	jq -e '.all_enforced == (.degraded == {} and .unsupported == {})' <<<"$output"
	local controls
	controls=$(jq -c '.enforced + .degraded + .unsupported | keys' <<<"$output")
	[[ $controls == *'"seccomp"'* && $controls == *'"memory"'* ]]

	run --separate-stderr llmsbx run -l bash -c true --
	[[ $(events 'select(.type == "start") | .enforced + .degraded + .unsupported | keys' -c) == "$controls" ]]

	run --separate-stderr llmsbx doctor
	[[ $output == "this machine, as user $EUID"$'\n'* && $output == *$'\n  no_new_privs   enforced '* ]]
}

@test "doctor says what would help, and what is enforced needs none" {
	run --separate-stderr llmsbx doctor --format json
	[[ $(jq -c '(.help | keys) - (.degraded | keys)' <<<"$output") == '[]' ]]
	local help
	help=$(jq -r '.help.user // ""' <<<"$output")
	if [[ $(jq -r '.degraded.user // ""' <<<"$output") == *"no line for the caller"* ]]; then
		# Ids that are in nobody's line.
		[[ $help =~ ^"as root: usermod --add-subuids "([0-9]+)-([0-9]+)" --add-subgids "([0-9]+)-([0-9]+)" $(id -un)"$ ]]
		[[ ${BASH_REMATCH[1]} -ge 100000 && $((BASH_REMATCH[2] - BASH_REMATCH[1])) == 65535 ]]
		awk -F: -v first="${BASH_REMATCH[1]}" '$2 + $3 > first { exit 1 }' /etc/subuid /etc/subgid
		run --separate-stderr llmsbx doctor
		[[ $output == *$'\nwhat would help\n  user           '"$help"$'\n'* ]]
	else
		[[ -z $help ]]
	fi
}

@test "doctor on a machine without languages says so" {
	mkdir -p share/languages
	LLMSBX_SHARE=$PWD/share run -1 --separate-stderr llmsbx doctor
	[[ $output == *"failed: no interpreter is installed that a run could be tried with; "* ]]
}

@test "gc finds nothing when nothing was left" {
	run -0 --separate-stderr llmsbx gc --format json
	[[ -z $stderr ]]
	run -0 --separate-stderr llmsbx gc
	[[ -z $output ]]
}
