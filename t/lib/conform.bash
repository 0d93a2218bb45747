# What the conformance suite (50xx) shares:  load lib/common, then load lib/conform
# shellcheck shell=bash disable=SC2034 # what is set here is for the tests
#
# The suite is written once, and run for each backend of $SBX_TEST_BACKENDS (make check goes through the list; a bats file takes one
# of it).  No test asks which backend it is: where backends differ, their receipts do.

setup() { conform_setup; }
teardown() { conform_teardown; }

conform_setup() {
	background=()
	common_setup || return
	needs jq
	export LLMSBX_BACKEND=${SBX_TEST_BACKENDS:-local}
	[[ $LLMSBX_BACKEND != *[[:space:],]* ]] || fail "SBX_TEST_BACKENDS: one at a time, not '$LLMSBX_BACKEND'"
	exec </dev/null
}

# What a failed test left running is not left behind by llmsbx; tests add what they start to `background`.
conform_teardown() {
	[[ ${#background[@]} == 0 ]] || kill -KILL "${background[@]}" 2>/dev/null || :
	common_teardown
}

# sandbox [-STATUS] OPTION-OR-OPERAND...: a run of `llmsbx run` that ends with STATUS (0), says nothing on stderr, and obeys the
# contract of the events (contract.jq); they are left in the file `events`.  Sets, "null" being what is null there:
#   order              types in their order, neighbours of a kind once, stdout and stderr as output: "start output end"
#   out err            the text of both streams, whole ("[base64]" for what is not UTF-8)
#   outcome exit_code signal ran   of end
#   error message phase hint       of end's error
#   truncated          streams, by blanks         bytes      of stdout and stderr: "12 0"
#   limits             "memory=1024 pids=5"       warnings   codes
#   enforced degraded unsupported  controls, by blanks
sandbox() {
	local want=0 got=0
	[[ $1 != -[0-9]* ]] || { want=${1#-} && shift; }
	"$LLMSBX" run --format jsonl "$@" >events 2>diagnostics || got=$?
	[[ $got == "$want" ]] || fail "status $got, not $want, of: $* $(show events diagnostics)" || return
	[[ ! -s diagnostics ]] || fail "on stderr: $(show diagnostics)" || return
	judge events || fail "$(show events)"
}

# judge FILE: what sandbox says of the events of one run.
judge() {
	local problem assignments
	assignments=$(jq -rs -f "$SBX_SRCDIR/t/lib/contract.jq" "$1") && eval "$assignments" || return
	[[ $problem == "" ]] || fail "$1: $problem"
}

# judge_jobs FILE: the same of many, as far as they are right.
judge_jobs() {
	local -x CONTRACT="jobs"
	judge "$1"
}

# is NAME VALUE...: the variables have these values, as text.
is() {
	while [[ $# -gt 0 ]]; do
		[[ ${!1} == "$2" ]] || fail "$1 is '${!1}', not '$2'; $(show events)" || return
		shift 2
	done
}

# event FILTER: of the events of the last run, through jq -c, an object at a time.
event() { jq -c "$1" events; }

# stream NAME [FILE]: the exact bytes of stdout or stderr events.
stream() {
	python3 -c '
import base64, json, sys
for line in sys.stdin.buffer:
    e = json.loads(line)
    if e["type"] == sys.argv[1]:
        sys.stdout.buffer.write(base64.b64decode(e["base64"]) if "base64" in e else e["data"].encode())
' "$1" <"${2-events}"
}

# usage_error WORDS LLMSBX-ARGUMENT...: wrong usage: status 125, one line on stderr with WORDS in it, and nothing else.
usage_error() {
	local words=$1 got=0
	shift
	"$LLMSBX" "$@" >events 2>diagnostics || got=$?
	[[ $got == 125 && ! -s events && $(wc -l <diagnostics) == 1 && $(<diagnostics) == "llmsbx"*": "*"$words"* ]] ||
		fail "status $got, not 125 and one line with '$words': $* $(show events diagnostics)"
}

# start_sandbox OPTION-OR-OPERAND...: in the background, with signals as a person's shell would have them; its events go to the file
# `events`.  Sets pid.  finish_sandbox STATUS: waits for its end, and judges.
start_sandbox() {
	: >events
	env --default-signal=INT,TERM,HUP,PIPE "$LLMSBX" run --format jsonl "$@" <&0 >events 2>diagnostics 3>&- &
	pid=$!
	background+=("$pid")
}
finish_sandbox() {
	local got=0
	wait "$pid" || got=$?
	[[ $got == "$1" ]] || fail "status $got, not $1; $(show events diagnostics)" || return
	judge events
}

# saw TEXT: an event with it came, for wait_for.
saw() { grep -qF -- "$1" "${2-events}"; }

# guest_of PID: the first process of the sandbox of an llmsbx that has one; program_of PID: the first of its program.  For wait_for
# and kill; both fail where there is none.
guest_of() { first_child "$1"; }
program_of() {
	local guest
	guest=$(first_child "$1") && first_child "$guest"
}
# Twice: a list of children that is read while it changes may be short.
no_program_of() {
	if program_of "$1"; then return 1; fi
	read -rt 0.1 <> <(:) || :
	if program_of "$1"; then return 1; fi
}
first_child() {
	local children=() child name
	{ read -ra children <"/proc/$1/task/$1/children"; } 2>/dev/null || :
	for child in "${children[@]}"; do
		# The keeper of a work directory on disk is no sandbox.
		{ read -r name <"/proc/$child/comm"; } 2>/dev/null || continue
		[[ $name == llmsbx-keeper ]] || { echo "$child"; return; }
	done
	return 1
}

# show FILE...: their contents for a message, bounded.
show() {
	local file
	for file; do
		printf '\n--- %s (%s bytes)\n' "$file" "$(stat -c %s "$file")"
		head -c 2000 "$file"
	done
}

# little_memory MIB: bounds what this shell's commands take of their own; but not those with a sanitizer in them, whose shadow is huge.
little_memory() { [[ $(ldd "$LLMSBX") == *libasan* ]] || ulimit -d $(($1 << 10)); }

# flat MIB COMMAND...: with no more than that much memory of its own, which its program inherits.
flat() {
	local mib=$1
	shift
	(little_memory "$mib" && exec "$@")
}

# run_jobs [-STATUS] OPTION...: `llmsbx run` with --jobs; the events of each job obey the contract, whatever is between them.
run_jobs() {
	local want=0 got=0
	[[ $1 != -[0-9]* ]] || { want=${1#-} && shift; }
	"$LLMSBX" run "$@" >events 2>diagnostics || got=$?
	[[ $got == "$want" && ! -s diagnostics ]] || fail "status $got, not $want, of: $* $(show events diagnostics)" || return
	judge_jobs events || fail "$(show events)"
}

# job ID: sets what sandbox sets, from the events of one job.
job() {
	jq -c --arg id "$1" 'select(.id == $id)' events >"job-$1" && judge "job-$1"
}

# stands_still PID: whether it used no processor for a while, for wait_for.
stands_still() {
	local before after
	before=$(cut -d' ' -f14,15 "/proc/$1/stat") || return
	read -rt 0.1 <> <(:) || :
	after=$(cut -d' ' -f14,15 "/proc/$1/stat") && [[ $before == "$after" ]]
}
