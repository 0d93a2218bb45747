#!/usr/bin/env bats
# shellcheck disable=SC1091,SC2016,SC2154 # what is in single quotes is for an inner shell
#
# Help, version and completions: from every command, at no cost and in any circumstances.

load lib/common

commands() { "$LLMSBX" help --dump | cut -f1 | sort -u; }

@test "without a command: a short help on stderr, status 2" {
	run -2 --separate-stderr llmsbx
	[[ -z $output ]]
	[[ ${stderr_lines[0]} == "usage: llmsbx COMMAND [options] ..." ]]
	[[ $stderr == *$'\n  run '* ]]
}

@test "help, --help and -h are the same, on stdout" {
	run -0 --separate-stderr llmsbx help
	local first=$output
	[[ -z $stderr && $first == "usage: llmsbx COMMAND [options] ..."* ]]
	run -0 --separate-stderr llmsbx --help
	[[ $output == "$first" ]]
	run -0 --separate-stderr llmsbx -h
	[[ $output == "$first" ]]
}

@test "version, --version and -V are the same" {
	run -0 --separate-stderr llmsbx version
	[[ $output =~ ^llmsbx\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	local first=$output
	run -0 --separate-stderr llmsbx --version
	[[ $output == "$first" ]]
	run -0 --separate-stderr llmsbx -V
	[[ $output == "$first" ]]
}

@test "every command has a help of at most 80 columns, from --help, -h and help" {
	local command
	for command in $(commands); do
		run -0 --separate-stderr llmsbx "$command" --help
		[[ -z $stderr ]]
		[[ ${lines[0]} == "usage: llmsbx $command"* ]]
		awk 'length > 80 { print; bad = 1 } END { exit bad }' <<<"$output"
		local first=$output
		run -0 --separate-stderr llmsbx "$command" -h
		[[ $output == "$first" ]]
		run -0 --separate-stderr llmsbx help "$command"
		[[ $output == "$first" ]]
	done
}

@test "the help of a command has every option of the dump" {
	local command name
	while read -r command name; do
		run -0 llmsbx help "$command"
		[[ $output == *"${name#--}"* ]] || fail "$command: $name is not in the help"
	done < <("$LLMSBX" help --dump | awk -F'\t' '$2 { sub(/,.*/, "", $2); print $1, $2 }')
}

@test "a line of the dump has five fields, and a command's first line has no option" {
	run -0 --separate-stderr llmsbx help --dump
	awk -F'\t' 'NF != 5 { print; exit 1 }' <<<"$output"
	[[ ${lines[0]} == $'run\t\t[options] [FILE|-] [ARG...]\trun code in a fresh sandbox\t' ]]
	[[ $output == *$'\nrun\t--timeout\tTIME\t'* ]]
	[[ $output == *$'\nrun\t--read-only,--no-read-only\t\t'* ]]
}

@test "help needs no configuration, no folder, no environment and no descriptors" {
	mkdir -p home/.config/llmsbx gone
	echo 'not json' >home/.config/llmsbx/config.json
	run -0 --separate-stderr llmsbx run --help
	[[ ${lines[0]} == "usage: llmsbx run"* ]]
	cd gone
	rmdir ../gone
	run -0 --separate-stderr env -i "$LLMSBX" run --help
	[[ ${lines[0]} == "usage: llmsbx run"* ]]
	run -0 --separate-stderr bash -c '"$LLMSBX" run --help <&- 2>&-'
	[[ ${lines[0]} == "usage: llmsbx run"* ]]
}

@test "what was printed and could not be written is an error" {
	run -1 --separate-stderr bash -c '"$LLMSBX" help >/dev/full'
	[[ $stderr == "llmsbx: cannot write to standard output: No space left on device" ]]
	run -1 --separate-stderr bash -c '"$LLMSBX" version >/dev/full'
	[[ $stderr == "llmsbx: cannot write to standard output: No space left on device" ]]
	# Who closes it wants none of it, as with git.
	run -0 --separate-stderr bash -c '"$LLMSBX" version >&-'
}

@test "a command that is not there names the nearest one" {
	run -2 --separate-stderr llmsbx rnu
	[[ -z $output && $stderr == "llmsbx: there is no command 'rnu'; did you mean 'run'?" ]]
	run -2 --separate-stderr llmsbx help docter
	[[ $stderr == "llmsbx help: there is no command 'docter'; did you mean 'doctor'?" ]]
	run -2 --separate-stderr llmsbx frobnicate
	[[ $stderr == "llmsbx: there is no command 'frobnicate'; 'llmsbx help' lists them" ]]
	run -2 --separate-stderr llmsbx --timeout 5 run
	[[ $stderr == "llmsbx: unknown option '--timeout'; "* ]]
	run -2 --separate-stderr llmsbx version now
	[[ $stderr == "llmsbx version: takes no arguments" ]]
}

@test "bash completes commands, options and their values" {
	"$LLMSBX" help --dump | "$SBX_SRCDIR/scripts/gen-completions" bash >completion
	complete_words() {
		source ./completion
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_llmsbx
		echo "${COMPREPLY[*]}"
	}
	[[ $(complete_words llmsbx ru) == run ]]
	[[ $(complete_words llmsbx run --time) == --timeout ]]
	[[ $(complete_words llmsbx run --network "") == "none full" ]]
	[[ $(complete_words llmsbx run --format j) == "jsonl json" ]]
	[[ $(complete_words llmsbx run --file "") == "" ]]
	[[ $(complete_words llmsbx run --require-enforced no_) == no_new_privs ]]
	[[ $(complete_words llmsbx run --accept-missing a) == "allow_hosts all" ]]
	[[ $(complete_words "$LLMSBX" run -l py) == python ]]
	[[ " $(complete_words "$LLMSBX" run --lang-default "") " == *" bash "*" python "* ]]
}

@test "the other shells can read their completions" {
	"$LLMSBX" help --dump >dump
	"$SBX_SRCDIR/scripts/gen-completions" zsh <dump >_llmsbx
	"$SBX_SRCDIR/scripts/gen-completions" fish <dump >llmsbx.fish
	[[ $(head -n 1 _llmsbx) == "#compdef llmsbx" ]]
	grep -q "^complete -c llmsbx .* -l timeout " llmsbx.fish
	if has_program zsh; then zsh -n _llmsbx; fi
	if has_program fish; then fish --no-execute llmsbx.fish; fi
}
