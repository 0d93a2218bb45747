#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154 # what is in single quotes is for an inner shell
#
# Wrong usage: one line that says what, where and what to do; the right status; nothing started.

load lib/common

# refused STATUS LINE ARGUMENT...: that status, that line alone on stderr, nothing on stdout.
refused() {
	local expected=$1 line=$2
	shift 2
	run "-$expected" --separate-stderr llmsbx "$@"
	[[ -z $output ]] || fail "printed: $output"
	[[ $stderr == "$line" ]] || fail "said: $stderr"
}

@test "unknown options name the nearest one" {
	refused 125 "llmsbx run: unknown option '--timeot'; did you mean '--timeout'?" run --timeot 5 -c x
	refused 125 "llmsbx run: unknown option '--time'; did you mean '--timeout'?" run --time=5 -c x
	refused 125 "llmsbx run: unknown option '--no-readonly'; did you mean '--no-read-only'?" \
		run --no-readonly -c x
	refused 125 "llmsbx run: unknown option '-z'; --help lists them" run -z -c x
	refused 2 "llmsbx lang: unknown option '--fromat'; did you mean '--format'?" lang --fromat json
	refused 2 "llmsbx doctor: unknown option '-x'; --help lists them" doctor -x
}

@test "options of other backends and of the future are unknown" {
	refused 125 "llmsbx run: unknown option '--install'; --help lists them" run --install x -c x
	refused 125 "llmsbx run: unknown option '--pool'; --help lists them" run --pool p -c x
	refused 125 "llmsbx run: there is no backend 'docker' in this llmsbx; there is 'local'" \
		run --backend docker -c x
}

@test "values that are missing, or that are there and must not be" {
	refused 125 "llmsbx run: option '--timeout' needs a value: TIME" run --timeout
	refused 125 "llmsbx run: option '-c' needs a value: CODE" run -c
	refused 125 "llmsbx run: option '--raw' takes no value" run --raw=yes -c x
	refused 125 "llmsbx run: --lang: the value is empty" run --lang= -c x
}

@test "impossible limits say what is possible" {
	refused 125 "llmsbx run: --timeout: '0' is refused, write 'none' for no limit" \
		run --timeout 0 -c x
	refused 125 "llmsbx run: --timeout: 'soon' is not a duration (500ms, 30s, 2m, 1h, none)" \
		run --timeout soon -c x
	refused 125 "llmsbx run: --memory: '1m' is too small; the least is 4m" run -m 1m -c x
	refused 125 "llmsbx run: --memory: '1x' is not a size (65536, 512k, 64m, 1g, 1GiB, none)" \
		run --memory 1x -c x
	refused 125 "llmsbx run: --cpus: '0.001' is too small; the least is 0.01" run --cpus 0.001 -c x
	refused 125 "llmsbx run: --pids: '0' is too small; the least is 1" run --pids 0 -c x
	refused 125 "llmsbx run: --pids: must be a number, not '-1'" run --pids=-1 -c x
	refused 125 "llmsbx run: --disk: '1' is too small; the least is 4k" run --disk 1 -c x
	refused 125 "llmsbx run: --max-output: '0' is too small; the least is 1" run --max-output 0 -c x
	refused 125 "llmsbx run: --parallel: '0' is not from 1 to 1024" run -j 0 --jobs -
}

@test "users, networks, controls and formats that are not there" {
	refused 125 "llmsbx run: --user: must be a number, not 'root'" run --user root -c x
	refused 125 "llmsbx run: --user: 0 is the guest's own; a program runs as 1 or above" run -u 0 -c x
	refused 125 "llmsbx run: --network: 'host' is neither 'none' nor 'full'" run --network host -c x
	refused 125 "llmsbx run: --format: 'xml' is none of 'jsonl', 'raw', 'json'" run --format xml -c x
	run -125 --separate-stderr llmsbx run --require-enforced memory,color -c x
	[[ -z $output && $stderr == "llmsbx run: --require-enforced: "*"'color'"* ]]
	run -125 --separate-stderr llmsbx run --accept-missing colour -c x
	[[ -z $output && $stderr == "llmsbx run: --accept-missing: "*"'colour'"* ]]
}

@test "files, mounts and variables that cannot be" {
	refused 125 "llmsbx run: --file: cannot read 'nope': No such file or directory" \
		run --file nope -c x
	refused 125 "llmsbx run: --file: '.' is a folder; use --mount, or name its files" run --file . -c x
	touch data
	run -125 --separate-stderr llmsbx run --file data:/etc/passwd -c x
	[[ -z $output && $stderr == "llmsbx run: --file: "*"absolute"* ]]
	run -125 --separate-stderr llmsbx run --file data:../../x -c x
	[[ -z $output && $stderr == "llmsbx run: --file: "*"'..'"* ]]
	refused 125 "llmsbx run: --mount: 'data' must be HOST:DEST with an absolute DEST, then ':ro' or ':rw'" \
		run --mount data -c x
	refused 125 "llmsbx run: --mount: cannot read 'nope': No such file or directory" \
		run --mount nope:/x -c x
	refused 125 "llmsbx run: --env: '=x' has no name; write NAME=VALUE" run --env =x -c x
	echo 'A B=1' >data
	refused 125 "llmsbx run: --env-file: 'data' line 1: the name 'A B' holds a blank" \
		run --env-file data -c x
	refused 125 "llmsbx run: --workdir: '/usr' is in the system's folder '/usr'" run --workdir /usr -c x
	mapfile -t many < <(seq 65537)
	refused 125 "llmsbx run: more than 65536 arguments for the program; give it a list with --file or as its input" \
		run -c x "${many[@]}"
	refused 125 "llmsbx run: --workdir: 'here' must be absolute" run --workdir here -c x
	refused 125 "llmsbx run: --stdin: cannot open 'nope': No such file or directory" \
		run --stdin nope -c x
	run -125 --separate-stderr llmsbx run --out '/etc/*' -c x
	[[ -z $output && $stderr == "llmsbx run: --out: the pattern '/etc/*' "* ]]
}

@test "code and input from one standard input" {
	refused 125 "llmsbx run: --stdin: the code comes from standard input already; give it as FILE or -c" \
		run --stdin - -
}

@test "--events-fd must be open, writable and not 0" {
	refused 125 "llmsbx run: --events-fd: 0 is standard input" run --events-fd 0 -c x
	refused 125 "llmsbx run: --events-fd: descriptor 77 is not open; open it in the shell: 77>FILE" \
		run --events-fd 77 -c x
	run -125 --separate-stderr bash -c '"$LLMSBX" run --events-fd 7 -c x 7</dev/null'
	[[ $stderr == "llmsbx run: --events-fd: descriptor 7 is open for reading only" ]]
}

@test "--jobs does not go with code, input or raw output" {
	local why="no FILE, -c, --stdin or --dry-run"
	refused 125 "llmsbx run: --jobs takes code and input from the jobs: $why" run --jobs - -c x
	refused 125 "llmsbx run: --jobs takes code and input from the jobs: $why" run --jobs - file
	refused 125 "llmsbx run: --jobs prints events: --format is jsonl or json" run --jobs - -r
	refused 125 "llmsbx run: --jobs: cannot open 'nope': No such file or directory" run --jobs nope
}

@test "a file, a language or a program that is not there is 127, with an end event" {
	run -127 --separate-stderr llmsbx run nope.py
	[[ -z $stderr && $(the_end .outcome) == failed && $(the_end .error.code) == not_found ]]
	[[ $(the_end .error.message) == "no such file: 'nope.py'" && $(the_end .ran) == false ]]
	run -127 --separate-stderr llmsbx run -r nope.py
	[[ -z $output && $stderr == "llmsbx: no such file: 'nope.py'" ]]
	run -127 --separate-stderr llmsbx run -r -l cobol -c x
	[[ -z $output && $stderr == "llmsbx: unknown language 'cobol': there are "*" python "* ]]
}

@test "a file that cannot be read or is a folder is 125" {
	run -125 --separate-stderr llmsbx run -r .
	[[ $stderr == "llmsbx: '.' is a folder, not a file of code" ]]
	if [[ $EUID != 0 ]]; then
		touch secret.py
		chmod 0 secret.py
		run -125 --separate-stderr llmsbx run -r secret.py
		[[ $stderr == "llmsbx: cannot open 'secret.py': Permission denied" ]]
	fi
}

@test "other commands: 2 for wrong usage, 1 for failure" {
	refused 2 "llmsbx lang: 'lst' is neither 'list' nor 'show'" lang lst
	refused 2 "llmsbx lang: show takes one name; 'llmsbx lang list' has them" lang show
	refused 2 "llmsbx gc: takes no arguments" gc now
	refused 2 "llmsbx check: give the file that is to be checked with --language or --config" check
	run -1 --separate-stderr llmsbx lang show cobol
	[[ -z $output && $stderr == "llmsbx: unknown language 'cobol': "* ]]
}

@test "settings: a name or a value that cannot be is refused, and says where it stands" {
	LLMSBX_TIMEOUT=0 run -125 --separate-stderr llmsbx run -c x
	[[ $stderr == "llmsbx run: LLMSBX_TIMEOUT: '0' is refused, write 'none' for no limit" ]]
	LLMSBX_TIMOUT=5 run -125 --separate-stderr llmsbx run -c x
	[[ $stderr == "llmsbx run: LLMSBX_TIMOUT: there is no setting 'timout'; did you mean 'timeout'?" ]]
	mkdir -p "$HOME/.config/llmsbx"
	echo '{"memory": "1k"}' >"$HOME/.config/llmsbx/config.json"
	run -125 --separate-stderr llmsbx run -c x
	[[ $stderr == "llmsbx run: $HOME/.config/llmsbx/config.json: memory: '1k' is too small; the least is 4m" ]]
	echo '{"memory": ' >"$HOME/.config/llmsbx/config.json"
	run -125 --separate-stderr llmsbx run -c x
	[[ $stderr == "llmsbx"*": $HOME/.config/llmsbx/config.json: line "* && ${#stderr_lines[@]} == 1 ]]
}

plan() { "$LLMSBX" run --dry-run "$@" -l bash -c x | jq -r "$filter"; }

@test "settings: options over variables over the user's file over what is built in" {
	local filter=.limits.wall_time_ns
	[[ $(plan) == 30000000000 ]]
	mkdir -p "$HOME/.config/llmsbx"
	echo '{"timeout": 4, "env": ["A=1", "B=1"]}' >"$HOME/.config/llmsbx/config.json"
	[[ $(plan) == 4000000000 ]]
	export LLMSBX_TIMEOUT=3s
	[[ $(plan) == 3000000000 ]]
	[[ $(plan --timeout 2s) == 2000000000 ]]
	[[ $(plan --timeout 2s --timeout 1s) == 1000000000 ]]
	filter='.env[] | select(test("^[AB]="))'
	[[ $(plan --env B=2 --env A) == $'A=1\nB=2' ]]
}

@test "options stand before FILE, all behind it is the program's" {
	echo 'for a in "$@"; do echo "<$a>"; done' >args.sh
	printed() { [[ $(the_stdout) == "$1" ]] || fail "printed: $(the_stdout)"; }
	warned() { [[ $(events 'select(.type == "warn") | .code') == "$1" ]] || fail "$output"; }
	run -0 --separate-stderr llmsbx run args.sh --timeout 0 -- -x ''
	printed $'<--timeout>\n<0>\n<-->\n<-x>\n<>'
	warned option_after_file
	run -0 --separate-stderr llmsbx run args.sh -- --timeout=0 --
	printed $'<--timeout=0>\n<-->'
	warned ''
	run -0 --separate-stderr llmsbx run -- args.sh a
	printed '<a>'
	run -0 --separate-stderr llmsbx run -l bash -c 'echo "<$1>"' args.sh
	printed '<args.sh>'
	run -0 --separate-stderr bash -c '"$LLMSBX" run -l bash - a <args.sh'
	printed '<a>'
	run -0 --separate-stderr llmsbx run -r args.sh --timeout=5
	[[ $output == '<--timeout=5>' ]]
	[[ $stderr == *"llmsbx: warning: '--timeout=5' stands behind the code and goes to the program; "* ]]
	run -0 --separate-stderr llmsbx run args.sh --memory
	warned option_after_file
	[[ $(events 'select(.seq == 0) | .type') == warn ]]
}

@test "check says of a file what is wrong with it" {
	run -0 --separate-stderr llmsbx check --language "$SBX_SHARE/languages/python.json"
	[[ $output == "$SBX_SHARE/languages/python.json: ok" && -z $stderr ]]
	echo '{"timeout": "5s"}' >good.json
	echo '{"timeot": "5s"}' >bad.json
	run -1 --separate-stderr llmsbx check --config bad.json --config good.json
	[[ $output == "good.json: ok" ]]
	[[ $stderr == "llmsbx: bad.json: timeot: there is no setting 'timeot'; did you mean 'timeout'?" ]]
	run -1 --separate-stderr llmsbx check --language good.json
	[[ -z $output && $stderr == "llmsbx: good.json: unknown key 'timeout'"* ]]
	run -1 --separate-stderr llmsbx check --language nope.json
	[[ $stderr == "llmsbx: "*"nope.json"*"No such file"* ]]
}

@test "/dev/full as standard output is 125 with the system's words" {
	run -125 --separate-stderr bash -c '"$LLMSBX" run -l bash -c "echo hi" >/dev/full'
	[[ $stderr == "llmsbx: cannot write the output: No space left on device" ]]
}

@test "a language that is asked for is never guessed" {
	printf '#!/usr/bin/perl\nprint 1;\n' >script
	run -127 --separate-stderr llmsbx run -r script
	[[ -z $output && $stderr == "llmsbx: the code's first line asks for 'perl', which is no language here: say --lang" ]]
	echo 'print(1)' >page.html
	run -0 --separate-stderr llmsbx run -r page.html
	[[ $output == 1 && $stderr == "llmsbx: warning: no language has the suffix 'html': 'page.html' is taken as python; say --lang"* ]]
	# A script that is run by us says our own name there.
	printf '#!/usr/bin/env -S llmsbx run\nprint(2)\n' >mine
	run -0 --separate-stderr llmsbx run -r mine
	[[ $output == 2 ]]
}

@test "a wrong LLMSBX_LOG is refused, and debug says what is done" {
	run -2 --separate-stderr env LLMSBX_LOG=loud "$LLMSBX" version
	[[ $stderr == "llmsbx: LLMSBX_LOG: 'loud' is not one of error, warn, info, debug, trace" ]]
	run -0 --separate-stderr env LLMSBX_LOG=debug "$LLMSBX" run -r -c 'print(1)'
	[[ $output == 1 && $stderr == *"llmsbx: run: "*": acquire done after "* ]]
}
