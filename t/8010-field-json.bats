#!/usr/bin/env bats
# Faults that people reported of tools of this kind: JSON that is none (class C of data/field-cases.tsv).
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

# Reads lines that are no jobs; each must fail alone, with its number, between two good ones that run.
refused_jobs() {
	local line n=0
	while IFS= read -r line; do
		printf '{"id":"good%d","lang":"bash","code":"echo ran"}\n%s\n' $((++n)) "$line"
	done >"jobs"
	printf '{"id":"last","lang":"bash","code":"echo ran"}\n' >>"jobs"
	run -125 --separate-stderr "$LLMSBX" run --jobs jobs --keep-order
	[[ $stderr == "" ]]
	local want=
	local -i i
	for ((i = 1; i <= n; i++)); do
		want+="exited"$'\n'"failed line $((2 * i))"$'\n'
	done
	[[ $(events 'select(.type == "end") | .outcome + (if .error then " " + (.error.message | capture("^--jobs: (?<n>line [0-9]+)[:,]").n) else "" end)') == "${want}exited" ]] ||
		fail "$(jq -r 'select(.type == "end") | "\(.id) \(.outcome) \(.error.message)"' <<<"$output")"
	[[ $(events 'select(.type == "stdout") | .data' -j | sort | uniq -c) == *" $((n + 1)) ran" ]]
}

@test "field: FC-023: strings without values, values without keys, strings without commas" {
	refused_jobs <<-'END'
		{"a"}
		{"a":}
		{"a" "b"}
		{"a":1""
		{"lang":"bash","code"}
		{"lang":"bash","code":}
		{"lang":"bash" "code":"echo ran"}
		{"lang":"bash","code":"echo ran""id":"x"}
		{"lang":"bash","code":"echo ran" 1}
		{"lang":"bash",:"echo ran"}
		{"lang":"bash","code":"echo ran","args":["a" "b"]}
	END
}

@test "field: FC-024: stray commas and colons" {
	refused_jobs <<-'END'
		:,{}:,
		,{"lang":"bash","code":"echo ran"}
		{"lang":"bash","code":"echo ran"},
		{"lang":"bash","code":"echo ran",}
		{,"lang":"bash","code":"echo ran"}
		{"lang":"bash",,"code":"echo ran"}
		{"lang"::"bash","code":"echo ran"}
		{"lang":"bash","code":"echo ran","args":["a",]}
		{"lang":"bash","code":"echo ran","args":[,]}
	END
}

@test "field: FC-025: brackets that do not match, several values in a line" {
	refused_jobs <<-'END'
		"k": 1}
		{}{}
		{"lang":"bash","code":"echo ran"}{"lang":"bash","code":"echo ran"}
		{"lang":"bash","code":"echo ran"} {"lang":"bash","code":"echo ran"}
		{"lang":"bash","code":"echo ran"}}
		{"lang":"bash","code":"echo ran"]
		{"lang":"bash","code":"echo ran"
		[{"lang":"bash","code":"echo ran"}]
		{"lang":"bash","code":"echo ran","args":["a"}
		{"lang":"bash","code":"echo ran"}x
	END
}

@test "field: FC-027: words without quotes, and other languages that look like JSON" {
	refused_jobs <<-'END'
		lang: bash
		{lang: "bash", code: "echo ran"}
		{"lang":bash,"code":"echo ran"}
		{'lang':'bash','code':'echo ran'}
		{"lang":"bash","code":"echo ran"} // a comment
		{"lang":"bash","code":"echo ran","timeout":01}
		{"lang":"bash","code":"echo ran","timeout":+1}
		{"lang":"bash","code":"echo ran","timeout":1.}
		{"lang":"bash","code":"echo ran","timeout":.5}
		{"lang":"bash","code":"echo ran","timeout":0x10}
		{"lang":"bash","code":"echo ran","timeout":NaN}
		{"lang":"bash","code":"echo ran","timeout":Infinity}
		{"lang":"bash","code":"echo ran","tty":tru}
		{"lang":"bash","code":"echo ran","tty":True}
		{"lang":"bash","code":"echo ran\x"}
		{"lang":"bash","code":"echo ran\u12"}
		{"lang":"bash","code":"echo ran #\ud800"}
		null
		true
		7
		"echo ran"
	END
	# A tab inside of a string, bytes that are not UTF-8, a byte order mark.
	refused_jobs < <(printf '{"lang":"bash","code":"echo\tran"}\n{"lang":"bash","code":"echo ran #\xff"}\n{"lang":"bash","code":"echo ran #\xed\xa0\x80"}\n')
	refused_jobs < <(printf '\xef\xbb\xbf{"lang":"bash","code":"echo ran"}\n')
}

@test "field: our own: keys twice, NUL in what cannot hold it, depth, wrong types" {
	refused_jobs <<-'END'
		{"lang":"bash","code":"exit 1","code":"echo ran"}
		{"lang":"bash","code":"exit 1","\u0063ode":"echo ran"}
		{"lang":"bash\u0000","code":"echo ran"}
		{"lang":"bash","code":"echo ran","args":["a\u0000b"]}
		{"lang":"bash","code":"echo ran","env":{"A":"a\u0000b"}}
		{"lang":"bash","code":"echo ran","env":{"A\u0000":"a"}}
		{"lang":"bash","code":"echo ran","files":[{"path":"a\u0000b","data":""}]}
		{"lang":"bash","code":"echo ran","file":"a\u0000b"}
		{"lang":"bash","code":"echo ran","workdir":"/a\u0000b"}
		{"lang":"bash","code":["echo ran"]}
		{"lang":"bash","code":"echo ran","args":"a"}
		{"lang":"bash","code":"echo ran","args":[1]}
		{"lang":"bash","code":"echo ran","stdin":null}
		{"lang":"bash","code":"echo ran","env":[]}
		{"lang":"bash","code":"echo ran","stdin_base64":"YQ"}
		{"lang":"bash","code":"echo ran","stdin_base64":"Y Q="}
		{"lang":"bash","code":"echo ran","stdin_base64":"YR=="}
	END
	{
		printf '{"lang":"bash","code":"echo ran","args":'
		printf '[%.0s' {1..100000}
		echo
	} | refused_jobs
}

@test "field: FC-026: a number that comes in two pieces is one" {
	needs python3
	mkfifo pipe
	"$LLMSBX" run --jobs pipe >events 2>diagnostics 3>&- &
	# Each piece is written when the one before has been read.
	python3 - >pipe <<-'END'
		import array, fcntl, os, termios
		waiting = array.array("i", [0])
		for piece in b'{"lang":"bash","timeout":0.', b'2', b'5,"code":"while :; do :; do', b'ne"}', b'\n':
		    os.write(1, piece)
		    while True:
		        fcntl.ioctl(1, termios.FIONREAD, waiting)
		        if waiting[0] == 0:
		            break
		        os.sched_yield()
	END
	local got=0
	wait $! || got=$?
	[[ $got == 124 ]]
	judge events
	is outcome timeout limits wall_time=250000000
}

@test "field: FC-023 FC-024 FC-025 FC-027 FC-028: settings and languages are read as strictly" {
	local text n=0
	mkdir -p "$HOME/.config/llmsbx/languages"
	for text in '{"timeout"}' '{"timeout":}' '{"timeout" "5"}' '{"timeout":5""' ':,{}:,' '{"timeout":5,}' '"timeout":5}' '{"timeout":5}{}' \
		'{timeout:5}' "{'timeout':5}" '{"timeout":5}]' '{"timeout":5,"timeout":6}' '[]' '5' '{"timeout":05}' '{"lang":"ba\u0000sh"}'; do
		printf '%s' "$text" >"$HOME/.config/llmsbx/config.json"
		usage_error "config.json" run -l bash -c 'echo ran'
		printf '%s' "$text" >file.json
		run -1 --separate-stderr "$LLMSBX" check --config file.json
		[[ $output == "" && $stderr == "llmsbx: file.json: "* && ${#stderr_lines[@]} == 1 ]]
		run -1 --separate-stderr "$LLMSBX" check --language file.json
		[[ $output == "" && $stderr == "llmsbx: file.json: "* && ${#stderr_lines[@]} == 1 ]]
		n=$((n + 1))
	done
	[[ $n == 16 ]]
	rm "$HOME/.config/llmsbx/config.json"
	# A variable that cannot be is named.
	LLMSBX_ENV='=x' usage_error "LLMSBX_ENV" run -l bash -c true
	LLMSBX_MEMORY='{"bytes":1}' usage_error "LLMSBX_MEMORY" run -l bash -c true
	LLMSBX_TTY='yes please' usage_error "LLMSBX_TTY" run -l bash -c true
}
