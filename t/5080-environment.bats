#!/usr/bin/env bats
# Whatever surroundings llmsbx is started in: they change neither the program's nor the result.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # programs in single quotes; tests are subshells; what sandbox of lib/conform sets
load lib/common
load lib/conform

# answers COMMAND-PREFIX...: a run behind it prints its sentence, and nothing else.
answers() {
	local got=0
	"$@" "$LLMSBX" run -rq --backend "$LLMSBX_BACKEND" -l bash -c 'echo well; exit 7' >out 2>diagnostics || got=$?
	[[ $got == 7 && $(<out) == well && ! -s diagnostics ]] || fail "status $got of: $* $(show out diagnostics)"
}

@test "environment: none at all" {
	answers env -i
	answers env -i PATH= HOME= USER= TERM= LANG=
	answers env -u HOME -u USER -u PATH -u TMPDIR
}

@test "environment: a home that is not there, not a folder, not to be read or written" {
	: >plain
	answers env HOME=/no/such/home
	answers env HOME="$PWD/plain"
	answers env HOME=/proc
	answers env HOME=relative
	mkdir -m 555 shut && mkdir -m 0 dark
	answers env HOME="$PWD/shut"
	answers env HOME="$PWD/dark"
	answers env XDG_CONFIG_HOME=/no/such XDG_CACHE_HOME=relative XDG_STATE_HOME=/proc XDG_DATA_HOME=
	chmod 755 dark
}

@test "environment: a runtime folder that is not there, not ours, not to be written" {
	: >plain
	mkdir -m 555 shut
	mkdir -m 777 open && ln -s open link
	answers env XDG_RUNTIME_DIR=/no/such
	answers env XDG_RUNTIME_DIR="$PWD/plain"
	answers env XDG_RUNTIME_DIR="$PWD/shut"
	answers env XDG_RUNTIME_DIR="$PWD/link"
	answers env XDG_RUNTIME_DIR=/proc
	answers env XDG_RUNTIME_DIR=
	answers env TMPDIR=/no/such
	mkdir -m 700 good
	answers env XDG_RUNTIME_DIR="$PWD/good"
}

@test "environment: a runtime folder that cannot be made at all" {
	needs root unshare
	# As after a boot from a read-only medium.
	run -0 --separate-stderr unshare -m bash -c '
		mount -t tmpfs -o ro none /run && "$0" run -rq -l bash -c "echo well"' "$LLMSBX"
	[[ $output == well ]]
}

@test "environment: 1000 inherited descriptors, of which the program gets none" {
	answers bash -c '
		ulimit -Sn 1024; for fd in {3..1010}; do eval "exec $fd</dev/null"; done
		exec "$@"' _
	run -0 --separate-stderr bash -c 'exec 3</etc/passwd 4>written 17<>both; exec "$@"' _ \
		"$LLMSBX" run -rq -l bash -c 'for fd in /proc/self/fd/*; do [ -e "$fd" ] && echo "${fd##*/}"; done; true'
	[[ $output == $'0\n1\n2\n255' && $stderr == "" ]] # 255: bash's own, of its script
}

@test "environment: 0, 1 and 2 closed, in every combination" {
	local closed got
	mkdir in
	echo data >in/data
	for closed in '' '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
		got=0
		rm -rf got
		# A file of ours that took the place of one that was closed would get its bytes.
		bash -c '"$@" '"$closed" _ "$LLMSBX" run -rq -l bash --file in/data -o made --out-dir got -c '
			cat; echo to-stdout; echo to-stderr >&2; echo made >made; ls /proc/self/fd | wc -l; exit 7' </dev/null >out 2>err || got=$?
		[[ $got == 7 && $(<in/data) == data && $(<got/made) == made ]] || fail "status $got with $closed"
		[[ $closed == *'>&- '* || $closed == *'>&-' || $(<out) == $'to-stdout\n4' ]]
		[[ $closed == *'2>&-' || $(<err) == to-stderr ]]
	done
	# The events have a place of their own whatever is closed.
	"$LLMSBX" run -rq --events-fd 9 -l bash -c 'echo x; exit 0' 9>events <&- >&- 2>&-
	judge events
	is out $'x\n' outcome exited
}

@test "environment: a working directory that is gone, or cannot be read" {
	mkdir gone && cd gone && rmdir ../gone
	run -0 --separate-stderr "$LLMSBX" run -rq -l bash -c 'echo well'
	[[ $output == well && $stderr == "" ]]
	# A file that cannot be brought there is said.
	run -0 --separate-stderr "$LLMSBX" run --format json -l bash -o f -c 'echo x >f'
	cd "$BATS_TEST_TMPDIR"
	[[ $(jq -c '[.files[0].skipped, .files[0].saved_as]' <<<"$output") == '["not_written",null]' ]]
	mkdir dark && cd dark && chmod 0 .
	run -0 --separate-stderr "$LLMSBX" run -rq -l bash -c 'echo well'
	chmod 700 "$BATS_TEST_TMPDIR/dark"
	[[ $output == well && $stderr == "" ]]
}

@test "environment: any locale" {
	local locale
	for locale in C POSIX de_DE de_DE.UTF-8 tr_TR.UTF-8 ja_JP.eucJP no_such_locale; do
		answers env LC_ALL="$locale" LANG="$locale" LANGUAGE=de
		run -0 --separate-stderr env LC_ALL="$locale" "$LLMSBX" run -q --format json --cpus 0.5 --timeout 1.5s -l bash -o '*' --out-dir "got-$locale" \
			-c 'echo "$LANG ü $LC_ALL"; : >"日本 ü"'
		[[ $(jq -r .stdout <<<"$output") == "C.UTF-8 ü " && -e "got-$locale/日本 ü" ]]
	done
	LC_ALL=C run -125 --separate-stderr "$LLMSBX" run --timeout 'ü' -l bash -c true
	[[ $stderr == *"'ü'"* || $stderr == *'\x'* ]]
}

@test "environment: masks, limits, ignored and blocked signals of the caller" {
	local mask
	for mask in 000 027 777; do
		answers bash -c 'umask '"$mask"'; exec "$@"' _
	done
	run -0 --separate-stderr bash -c 'umask 000; exec "$@"' _ "$LLMSBX" run -rq -l bash -c 'umask; : >f; stat -c %a f'
	[[ $output == $'0077\n600' ]]
	answers env --ignore-signal=CHLD,PIPE,USR1,QUIT,TSTP
	answers env --block-signal=CHLD,TERM,ALRM,USR2
	run -0 --separate-stderr env --ignore-signal=PIPE,USR1 --block-signal=USR2 "$LLMSBX" run -rq -l bash -c 'grep -E "^Sig(Blk|Ign)" /proc/self/status'
	[[ $output == $'SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000' ]]
	answers nice -n 5
	answers bash -c 'ulimit -c unlimited; exec "$@"' _
	answers bash -c 'ulimit -n 64; exec "$@"' _
	answers bash -c 'ulimit -s 1024; exec "$@"' _
	# Too few descriptors is a failure with words, not a hang or a crash.
	local got=0
	bash -c 'ulimit -n 8; exec "$@"' _ "$LLMSBX" run --format jsonl -l bash -c true >events 2>diagnostics || got=$?
	[[ $got == 125 && $(cat events diagnostics) == *"open files"* ]]
}

@test "environment: 50 at once" {
	local i
	local -a pids=()
	for i in {1..50}; do
		"$LLMSBX" run -rq --timeout 50s -l bash -c 'echo "$1"; touch f; ls; exit $(($1 % 7))' "$i" >"out-$i" 2>&1 3>&- &
		pids+=($!)
	done
	for i in {1..50}; do
		local got=0
		wait "${pids[i - 1]}" || got=$?
		[[ $got == $((i % 7)) && $(<"out-$i") == "$i"$'\nf\nmain.sh' ]] || fail "number $i: status $got: $(<"out-$i")"
	done
}

@test "environment: input that is no input" {
	local got=0
	"$LLMSBX" run -rq -l bash -c 'cat; echo "end $?"' </ >out 2>&1 || got=$?
	[[ $got == 0 && $(<out) == "end 0" ]]
	"$LLMSBX" run -rq -l bash -c 'cat; echo "end $?"' 0>written >out 2>&1
	[[ $(<out) == "end 0" ]]
	# Code cannot come from there.
	got=0
	"$LLMSBX" run -rq -l bash </ >out 2>&1 || got=$?
	[[ $got == 125 && $(wc -l <out) == 1 ]]
}
