# What every .bats file loads first:  load lib/common
# shellcheck shell=bash disable=SC2154 # output, stderr and status are set by bats
#
# Each test starts in an empty folder of its own ($BATS_TEST_TMPDIR, also HOME and every XDG_*),
# without the caller's LLMSBX_* variables, and fails at its end if a process, a mount, a cgroup or a
# scratch folder is left of what it started.  A file that has a setup or teardown of its own calls
# common_setup and common_teardown there.  See t/README.

bats_require_minimum_version 1.8.0

: "${SBX_SRCDIR:=$(cd "$BATS_TEST_DIRNAME/.." && pwd)}"
: "${SBX_BUILDDIR:=$SBX_SRCDIR}"
: "${LLMSBX:=$SBX_BUILDDIR/llmsbx}"
: "${SBX_SHARE:=$SBX_SRCDIR/share}"
export SBX_SRCDIR SBX_BUILDDIR LLMSBX SBX_SHARE
export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-60}
export LC_ALL=C.UTF-8

setup() { common_setup; }
teardown() { common_teardown; }

common_setup() {
	local name
	for name in "${!LLMSBX_@}" "${!XDG_@}"; do
		unset "$name"
	done
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME"
	cd "$BATS_TEST_TMPDIR" || return
	stale_before=
	stale_before=$(stale_names | tr '\n' ' ')
}

common_teardown() {
	cd / && assert_no_leftovers
}

# The program under test, for use under bats' run:  run -0 --separate-stderr llmsbx run -c ...
llmsbx() { "$LLMSBX" "$@"; }

# A helper program of t/helper by name.
helper() {
	local name=$1
	shift
	"$SBX_BUILDDIR/t/helper/$name" "$@"
}

# fail WORDS...: ends the test, saying why.
fail() {
	printf '%s\n' "$*" >&2
	return 1
}

# events FILTER [JQ-OPTION...]: the lines of $output as events through jq -r, an object at a time.
#   [[ $(events 'select(.type == "end") | .outcome') == exited ]]
events() {
	local filter=$1
	shift
	jq -r "$@" "$filter" <<<"$output" || fail "not JSON lines: $output"
}

# The end event of $output, or one of its fields:  [[ $(the_end .exit_code) == 7 ]]
the_end() {
	local ends
	ends=$(events 'select(.type == "end")' -c)
	[[ -n $ends && $ends != *$'\n'* ]] || fail "not exactly one end event in: $output"
	jq -r "${1-.}" <<<"$ends"
}

# The text of stdout or stderr events of $output, joined, followed by a dot where the last line of a
# text matters (a command substitution drops newlines).
the_stdout() { events 'select(.type == "stdout") | .data' -j; }
the_stderr() { events 'select(.type == "stderr") | .data' -j; }

# A crash of ours is never the failure that was meant: 128 and above only where it was asked for.
no_crash() {
	[[ $status -lt 128 ]] || fail "status $status: $output ${stderr-}"
}

# wait_for SECONDS COMMAND...: until it succeeds; the only way to wait.
wait_for() {
	local end=$((${EPOCHREALTIME/./} + $1 * 1000000))
	shift
	until "$@"; do
		((${EPOCHREALTIME/./} < end)) || { fail "waited in vain for: $*"; return 1; }
		sleep 0.02
	done
}

# needs THING...: skips the test where one is not there, saying which.  What can be installed (a
# program, a language) fails instead under SBX_TEST_STRICT=1; what a kernel or a machine has, or who
# runs the test, does not.
#   root, user      who runs the test        userns     user namespaces may be made
#   subuid          the caller has a line    cgroup1, cgroup2   writable with a memory controller
#   NAME            a program of the sandbox's or the caller's PATH
needs() {
	local thing
	for thing in "$@"; do
		case $thing in
		root) [[ $EUID == 0 ]] || skip "needs root" ;;
		user) [[ $EUID != 0 ]] || skip "needs an ordinary user" ;;
		userns) unshare --user true 2>/dev/null || skip "needs user namespaces" ;;
		subuid) grep -q "^$(id -un):" /etc/subuid || skip "needs a line in /etc/subuid" ;;
		cgroup1) can_cgroup1 || skip "needs a writable cgroup v1 with memory" ;;
		cgroup2) can_cgroup2 || skip "needs a writable cgroup v2 with memory" ;;
		*) has_program "$thing" || skip_or_fail "needs $thing" ;;
		esac
	done
}

skip_or_fail() {
	[[ ${SBX_TEST_STRICT-} != 1 ]] || fail "$* (SBX_TEST_STRICT=1)" || return 1
	skip "$@"
}

has_program() {
	PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin:$PATH command -v "$1" >/dev/null
}

can_cgroup1() { [[ -w /sys/fs/cgroup/memory/cgroup.procs ]]; }
can_cgroup2() {
	local controllers=/sys/fs/cgroup/cgroup.controllers
	[[ -w /sys/fs/cgroup/cgroup.procs && -r $controllers && " $(<"$controllers") " == *" memory "* ]]
}

# Nothing stays of a run that is over: processes that were ours, cgroups and folders named after a
# dead llmsbx (llmsbx-BOOT-PID-STARTTIME-N), mounts.  Other tests' and people's live ones stay out.
assert_no_leftovers() {
	local end=$((${EPOCHREALTIME/./} + 3000000)) left
	left=$(leftovers)
	# What a later look does not show again was on its way out, or somebody else's.
	while [[ $left ]] && ((${EPOCHREALTIME/./} < end)); do
		sleep 0.02
		left=$(comm -12 <(sort <<<"$left") <(leftovers | sort))
	done
	[[ -z $left ]] || fail "left behind: $left"
}
nothing_left() { [[ -z $(leftovers) ]]; }
leftovers() {
	orphans
	stale_names
	[[ $(</proc/self/mounts) != *"$BATS_TEST_TMPDIR"* ]] || echo "a mount below $BATS_TEST_TMPDIR"
}

# Guests that nobody has any more, and processes of ours that this test started (they carry its folder in
# their environment).  One pass over /proc: this runs after every test.
orphans() {
	local kind pid
	cat /proc/[0-9]*/stat 2>/dev/null | awk '
		$2 ~ /^\(llmsbx/ { name[$1] = $2; parent[$1] = $4 }
		$2 == "(systemd)" || $1 == 1 { reaper[$1] = 1 }
		END {
			for (pid in name) {
				if (name[pid] != "(llmsbx-guest)")
					print "process", pid
				else if (parent[pid] in reaper)
					print "guest", pid
			}
		}' | while read -r kind pid; do
		if [[ $kind == guest ]] || grep -qzxF "HOME=$HOME" "/proc/$pid/environ" 2>/dev/null; then
			echo "$kind $pid"
		fi
	done
}

# What was there before the test is somebody else's.
stale_names() {
	local name path
	for path in $(own_cgroups) /run/llmsbx "/tmp/llmsbx-$EUID" /tmp "$HOME/.cache/llmsbx"; do
		for name in "$path"/llmsbx-*; do
			[[ ! -O $name || " $stale_before " == *" $name "* ]] || is_live "$name" || echo "$name"
		done
	done
}
is_live() { [[ ! ${1##*/} =~ ^llmsbx-[^-]+-([0-9]+)- || -d /proc/${BASH_REMATCH[1]} ]]; }

# The folders of the cgroups that this process is in, of every hierarchy.
own_cgroups() {
	local controllers path
	while IFS=: read -r _ controllers path; do
		for controllers in ${controllers//,/ } "$controllers" unified ''; do
			[[ ! -d /sys/fs/cgroup/$controllers$path ]] || echo "/sys/fs/cgroup/$controllers$path"
		done
	done </proc/self/cgroup | sort -u
}
