#!/usr/bin/env bats
# `llmsbx run`: where code, arguments, input, environment and status come from, on every backend.
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

@test "run: code from standard input" {
	needs python3
	sandbox <<<'print(6*7)'
	is out $'42\n' err "" order "start output end" outcome exited exit_code 0 signal null ran true bytes "3 0"
	sandbox - <<<'print(6*7)'
	is out $'42\n'
	# Nothing is left of it for the program, and no one waits for more.
	sandbox <<<'import sys; print(repr(sys.stdin.read()))'
	is out $'\'\'\n'
	# No code at all is an empty program.
	sandbox --lang bash </dev/null
	is order "start end" outcome exited exit_code 0
}

@test "run: code from FILE, which keeps its name" {
	printf 'echo "$0 $PWD"; cat\n' >'my code.sh'
	sandbox 'my code.sh' <<<input
	is out $'my code.sh /sandbox\ninput\n'
	mkdir -p a/b && cp 'my code.sh' a/b/deep.sh
	sandbox a/b/deep.sh
	is out $'deep.sh /sandbox\n'
	printf 'echo dash\n' >-n.sh
	sandbox ./-n.sh
	is out $'dash\n'
	sandbox -- -n.sh
	is out $'dash\n'
	cmp -s <(printf 'echo dash\n') ./-n.sh
}

@test "run: code from -c, all operands are arguments" {
	sandbox -l bash -c 'printf "<%s>" "$@"; cat' one two <<<input
	is out $'<one><two>input\n'
	sandbox -l bash -c 'printf "<%s>" "$@"' -- -x --timeout '' 'a  b' '*' '$HOME' $'new\nline' '日本'
	is out $'<-x><--timeout><><a  b><*><$HOME><new\nline><日本>' warnings ""
	sandbox -l bash -c ''
	is order "start end"
}

@test "run: everything behind FILE is the program's, one -- is dropped" {
	printf 'printf "<%%s>" "$@"\n' >args.sh
	sandbox args.sh a --timeout 5 -c x --
	is out '<a><--timeout><5><-c><x><-->' warnings option_after_file order "warn start output end"
	sandbox args.sh -- --timeout -- x
	is out '<--timeout><--><x>' warnings "" order "start output end"
	sandbox -l bash - a b <args.sh
	is out '<a><b>'
	sandbox args.sh
	is out '<>'
}

@test "run: arguments of any bytes, and many" {
	printf 'printf "%%s" "$1" | od -An -tx1; echo $#\n' >args.sh
	sandbox args.sh $'\xff\xfe\x01\\\"'
	is out $' ff fe 01 5c 22\n1\n'
	sandbox -l bash -c 'echo $# ${#1} ${!#}' "$(printf '%0100000d' 7)" $(seq 2 20000)
	is out $'20000 100000 20000\n'
}

@test "run: the language: --lang, else #!, else the suffix, else python" {
	needs python3
	printf '#!/usr/bin/env python3\nimport sys; print(sys.argv[0])\n' >misnamed.sh
	sandbox misnamed.sh
	is out $'misnamed.sh\n'
	printf '#!/usr/bin/env -S bash -e\necho ${BASH_VERSION:+bash}\n' >noext
	sandbox noext
	is out $'bash\n'
	printf '#!/usr/bin/python3.11\nprint(1)\n' >versioned
	sandbox versioned
	is out $'1\n'
	printf 'print("py")\n' >plain.txt
	sandbox plain.txt
	is out $'py\n'
	printf '#!/bin/sh\necho ${BASH_VERSION:+bash}\n' >forced.py
	sandbox --lang bash forced.py
	is out $'bash\n'
	[[ $(event 'select(.type == "start") | .lang' -r) == '"bash"' ]]
	sandbox <<<$'#!/bin/bash\necho ${BASH_VERSION:+bash}'
	is out $'bash\n'
	LLMSBX_LANG=bash sandbox -c 'echo ${BASH_VERSION:+bash}'
	is out $'bash\n'
}

@test "run: an executable script with llmsbx as its interpreter" {
	printf '#!/usr/bin/env -S %s run --format raw -l bash\nprintf "<%%s>" "$@"\n' "$LLMSBX" >script
	chmod +x script
	run -0 --separate-stderr ./script --timeout 'a b'
	[[ $output == '<--timeout><a b>' ]]
}

@test "run: the program's input: ours, --stdin, none" {
	echo from-file >input
	sandbox -l bash --stdin input -c cat <<<ours
	is out $'from-file\n'
	sandbox -l bash --stdin - -c cat <<<ours
	is out $'ours\n'
	sandbox -l bash --stdin input - <<<cat
	is out $'from-file\n'
	# What is not read does not matter, nor does it when the program closes it.
	sandbox -l bash -c 'exec <&-; echo done' < <(yes)
	is out $'done\n'
	sandbox -l bash -c 'read -r x; echo "$x"' < <(yes)
	is out $'y\n'
	usage_error "cannot open 'nofile'" run -l bash --stdin nofile -c cat
	usage_error "--stdin" run -l bash --stdin -
}

@test "run: the environment is ours, not the caller's" {
	export SECRET=1 PYTHONPATH=/x
	sandbox -l bash -c 'env | grep -v ^_= | sort'
	is out $'HOME=/sandbox\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=/sandbox\nSHLVL=1\nTZ=UTC\nUSER=sandbox\n'
	sandbox -l bash -c 'umask; hostname 2>/dev/null || cat /proc/sys/kernel/hostname; pwd; id -u; id -g'
	is out $'0077\nsandbox\n/sandbox\n65532\n65532\n'
}

@test "run: --env and --env-file" {
	export FROM_CALLER='a=b c' UNSET_ONE
	unset UNSET_ONE
	cat >vars <<-'END'
		# a comment

		FILE_ONE=1
		QUOTED="as it stands"
		LATER=file
	END
	sandbox -l bash -e A=1 -e B= -e C='x=y z' --env FROM_CALLER --env-file vars -e LATER=option -e TZ=CET -e N=$'l1\nl2' -c \
		'printf "<%s>" "$A" "${B-unset}" "$C" "$FROM_CALLER" "$FILE_ONE" "$QUOTED" "$LATER" "$TZ" "$N"'
	is out $'<1><><x=y z><a=b c><1><"as it stands"><option><CET><l1\nl2>'
	sandbox -l bash -e X=$'\xff' -c 'printf "%s" "$X" | od -An -tx1'
	is out $' ff\n'
	usage_error "--env" run -l bash -e =x -c true
	usage_error "nofile" run -l bash --env-file nofile -c true
}

@test "run: --workdir, --user" {
	sandbox -l bash --workdir /work/deep -c 'pwd; echo $HOME; touch x && echo written'
	is out $'/work/deep\n/work/deep\nwritten\n'
	sandbox -l bash --workdir /sandbox/./a/../b/ -c 'pwd'
	is out $'/sandbox/b\n'
	sandbox -l bash --user 1234:4321 -c 'id -u; id -g; id -G; touch x; stat -c %u:%g x'
	is out $'1234\n4321\n4321\n1234:4321\n'
	sandbox -l bash -u 1234 -c 'echo $(id -u) $(id -g)'
	is out $'1234 1234\n'
	usage_error "--workdir" run -l bash --workdir relative -c true
	usage_error "--workdir" run -l bash --workdir / -c true
	usage_error "--user" run -l bash --user 0 -c true
	usage_error "--user" run -l bash --user root -c true
}

@test "run: the status is the program's, all of 0 to 255" {
	local i status
	for i in {0..255}; do
		printf '{"id":"s%d","lang":"bash","code":"exit %d"}\n' "$i" "$i"
	done >jobs.jsonl
	run -123 --separate-stderr "$LLMSBX" run --jobs jobs.jsonl
	[[ $stderr == "" ]]
	[[ $(jq -r 'select(.type == "end") | select("s\(.exit_code)" == .id and .outcome == "exited" and .signal == null) | .id' \
		<<<"$output" | sort -u | wc -l) == 256 ]]
	for i in 1 2 7 126 128 255; do
		sandbox "-$i" -l bash -c "exit $i"
		is outcome exited exit_code "$i" order "start end"
	done
}

@test "run: a program of a millisecond has its status, every time" {
	local i
	for i in {1..20}; do
		run -4 --separate-stderr "$LLMSBX" run -rq -l bash -c 'exit 4'
		[[ $output$stderr == "" ]]
	done
}

@test "run: formats: raw, json, jsonl with --seq, --events-fd" {
	run -7 --separate-stderr "$LLMSBX" run -rq -l bash -c 'echo o; echo e >&2; exit 7'
	[[ $output == o && $stderr == e ]]
	run -7 --separate-stderr "$LLMSBX" run --format json -l bash -c 'echo o; echo e >&2; exit 7'
	[[ $(jq -c '[.exit_code, .stdout, .stderr, .plots, .outcome]' <<<"$output") == '[7,"o\n","e\n",[],"exited"]' ]]
	[[ $stderr == "" && $(wc -l <<<"$output") == 1 ]]
	"$LLMSBX" run --seq --format jsonl -l bash -c 'echo o' >events
	[[ $(head -c 1 events | od -An -tx1) == " 1e" && $(tr -cd '\036' <events | wc -c) == "$(wc -l <events)" ]]
	tr -d '\036' <events >plain && judge plain
	"$LLMSBX" run -rq --events-fd 9 -l bash -c 'echo o; echo e >&2' 9>events >o 2>e
	judge events
	is order "start output end" out $'o\n' err $'e\n'
	[[ $(<o) == o && $(<e) == e ]]
}

@test "run: wrong usage is one line that says what, and nothing starts" {
	usage_error "--timeout" run --timeout 0 -l bash -c 'true'
	usage_error "--timeout" run --timeout -1 -l bash -c true
	usage_error "--timeout" run --timeout 5x -l bash -c true
	usage_error "--memory" run --memory 1k -l bash -c true
	usage_error "--memory" run --memory 99999999999999999999 -l bash -c true
	usage_error "--pids" run --pids 0 -l bash -c true
	usage_error "--cpus" run --cpus 0 -l bash -c true
	usage_error "--cpus" run --cpus two -l bash -c true
	usage_error "--disk" run --disk 1 -l bash -c true
	usage_error "--network" run --network host -l bash -c true
	usage_error "--format" run --format xml -l bash -c true
	usage_error "--events-fd" run --events-fd 77 -l bash -c true
	usage_error "--nosuch" run --nosuch -l bash -c true
	usage_error "--timeout" run -l bash -c true --timeout
	usage_error "nosuch" run --backend nosuch -l bash -c true
	LLMSBX_TIMEOUT=soon usage_error "LLMSBX_TIMEOUT" run -l bash -c true
	mkdir -p "$HOME/.config/llmsbx"
	echo '{"timeout": "soon"}' >"$HOME/.config/llmsbx/config.json"
	usage_error "config.json" run -l bash -c true
	echo '{"timeout": ' >"$HOME/.config/llmsbx/config.json"
	usage_error "config.json" run -l bash -c true
}

@test "run: settings: options over variables over config.json" {
	mkdir -p "$HOME/.config/llmsbx"
	echo '{"workdir": "/from-file", "lang": "bash", "env": ["A=file"]}' >"$HOME/.config/llmsbx/config.json"
	sandbox -c 'echo $PWD $A'
	is out $'/from-file file\n'
	LLMSBX_WORKDIR=/from-variable sandbox -c pwd
	is out $'/from-variable\n'
	LLMSBX_WORKDIR=/from-variable sandbox --workdir /from-option -c pwd
	is out $'/from-option\n'
}

@test "run: --dry-run starts nothing" {
	run -0 --separate-stderr "$LLMSBX" run --dry-run -l bash --timeout 5 --memory 64m -e A=1 -o '*.txt' -c 'echo x' arg
	[[ $stderr == "" ]]
	[[ $(jq -c '[.lang, .run, .limits.wall_time_ns, .limits.memory_bytes, .out, .network]' <<<"$output") == \
		'["bash",["bash","main.sh","arg"],5000000000,67108864,["*.txt"],"none"]' ]]
}

@test "run: --tty gives the program a terminal" {
	sandbox -l bash --tty -c '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo $(tty) && stty size >/dev/null && echo sized'
	is out $'/dev/pts/0\r\nsized\r\n'
}
