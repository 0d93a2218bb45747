#!/usr/bin/env bats
# Where no namespace can be made, --accept-missing=namespaces runs with Landlock, the filter and limits alone.
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what judge of lib/conform sets
# shellcheck disable=SC2030,SC2031,SC2094 # a test is a shell of its own; cmp only reads
load lib/common
load lib/conform

setup() {
	conform_setup || return
	"$SBX_SRCDIR/t/lib/forbid-namespaces" true 2>/dev/null || skip "needs a user namespace to forbid them in"
	[[ $("$LLMSBX" doctor | sed -n 's/^  landlock  *ABI //p') -ge 6 ]] || skip "needs Landlock of Linux 6.12"
}

# bare [-STATUS] OPTION-OR-OPERAND...: as sandbox of lib/conform, without namespaces.
bare() {
	local want=0 got=0
	[[ $1 != -[0-9]* ]] || { want=${1#-} && shift; }
	"$SBX_SRCDIR/t/lib/forbid-namespaces" "$LLMSBX" run --format jsonl --accept-missing=namespaces "$@" \
		>events 2>diagnostics || got=$?
	[[ $got == "$want" ]] || fail "status $got, not $want, of: $* $(show events diagnostics)" || return
	judge events || fail "$(show events)"
}

@test "without namespaces: nothing runs unasked, and the message names the cause and the way out" {
	run -125 --separate-stderr "$SBX_SRCDIR/t/lib/forbid-namespaces" "$LLMSBX" run -r -l bash -c 'echo ran'
	[[ $output == "" && ${#stderr_lines[@]} == 1 ]]
	[[ $stderr == *"cannot make namespaces: "*user.max_user_namespaces*--accept-missing=namespaces* ]]
}

@test "without namespaces: the receipt says so, and can be refused" {
	bare -3 -l bash -c 'exit 3'
	is outcome exited exit_code 3 unsupported namespaces
	local name
	for name in mounts readonly_root devices network disk; do
		[[ " $degraded " == *" $name "* ]] || fail "$name: $degraded"
	done
	for name in no_new_privs seccomp landlock wall_time; do
		[[ " $enforced " == *" $name "* ]] || fail "$name: $enforced"
	done
	bare -125 --require-enforced=network -l bash -c 'echo ran'
	is outcome failed ran false out ""
	[[ $message == *network* ]]
}

@test "without namespaces: the option alone changes nothing" {
	sandbox --accept-missing=namespaces -l bash -c pwd
	is out $'/sandbox\n' unsupported ""
}

@test "without namespaces: code, arguments, files" {
	echo given >data
	bare --file data --out '*.txt' -l bash -c '
		[[ $PWD == "$HOME" && $(mktemp) == "$TMPDIR"/* ]] || exit 9
		cat data; echo "$@" >made.txt' a b
	is outcome exited out $'given\n'
	[[ $(<made.txt) == "a b" ]]
}

@test "without namespaces: 64 MiB in and out" {
	head -c 64M /dev/urandom >much
	"$SBX_SRCDIR/t/lib/forbid-namespaces" "$LLMSBX" run -rq --accept-missing=namespaces -l bash -c cat <much | cmp - much
}

@test "without namespaces: outcomes" {
	bare -139 -l bash -c 'kill -SEGV $$'
	is outcome signaled signal SIGSEGV
	bare -124 --timeout 0.3s -l bash -c 'echo begun; sleep 100'
	is outcome timeout
	bare -127 -l bash /nonexistent
	bare -137 --disk 4m -l bash -c 'for i in 1 2 3 4; do head -c 2M /dev/zero >f$i; done; sleep 100'
	is outcome disk
	[[ " $limits " == *" disk="* ]]
	bare -125 --mount /usr:/there -l bash -c 'echo ran'
	is outcome failed ran false out ""
}

@test "without namespaces: files of the host are neither read nor changed" {
	echo secret >"$HOME/secret"
	chmod 644 "$HOME/secret"
	bare -l bash -c '
		cat "$1" /etc/passwd /proc/1/cmdline "/proc/$PPID/status"; ls / /tmp /proc; (echo >"$1"); (echo >>"$1")
		rm -f "$1"; ln "$1" here; mv "$1" there; truncate -s 0 "$1"; touch "$1"; chmod 777 "$1"; (echo >../new)
		ln -s "$1" link; cat link; :' x "$HOME/secret"
	is out ""
	[[ $(<"$HOME/secret") == secret && $(stat -c %a "$HOME/secret") == 644 ]]
}

@test "without namespaces: no sockets, no IPC objects, no other process" {
	needs python3
	sleep 300 &
	background+=($!)
	bare -l python -c '
import ctypes, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def held(what, call):
    try:
        call()
        print("not held:", what)
    except OSError:
        pass
def c(name, *args):
    if getattr(libc, name)(*args) < 0:
        raise OSError(name)
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    held(family, lambda: socket.socket(family, socket.SOCK_DGRAM if family != socket.AF_NETLINK else socket.SOCK_RAW))
held("datagrams", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
held("datagrams, raw", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW))
held("shm", lambda: c("shmget", 0, 4096, 0o1600))
held("sem", lambda: c("semget", 0, 1, 0o1600))
held("msg", lambda: c("msgget", 0, 0o1600))
held("ptrace", lambda: c("ptrace", 16, int(sys.argv[1]), 0, 0))
for victim in (int(sys.argv[1]), os.getppid()):
    held("kill", lambda: os.kill(victim, signal.SIGKILL))
    held("mem", lambda: open("/proc/%d/mem" % victim))
socket.socketpair()
' "${background[0]}"
	is out "" err ""
	kill -0 "${background[0]}"
}

@test "without namespaces: however it ends, its whole tree ends" {
	local mark=9998.$BASHPID pid
	local hide='sleep '"$mark"' & (setsid sleep '"$mark"' </dev/null >/dev/null 2>&1 &)
		((setsid bash -c "trap \"\" TERM; sleep '"$mark"'; :" &) &) ; setsid bash -c "sleep '"$mark"' & kill -STOP \$\$" &
		echo ready; '
	gone() { ! grep -lzxF "$mark" /proc/[0-9]*/cmdline 2>/dev/null; }
	needs setsid
	bare -7 -l bash -c "$hide exit 7"
	gone
	bare -124 --timeout 1s -l bash -c "$hide sleep 300"
	gone
	"$SBX_SRCDIR/t/lib/forbid-namespaces" "$LLMSBX" run --accept-missing=namespaces -l bash -c "$hide sleep 300" >events 2>&1 3>&- &
	pid=$!
	background+=("$pid")
	wait_for 20 saw ready
	kill -KILL "$pid"
	wait "$pid" || :
	wait_for 20 gone
	# Its folder is all that is left; gc takes it.
	"$LLMSBX" gc
}

@test "without namespaces: a tree of folders too deep for a path is removed" {
	needs python3
	# It is as good as a full disk.
	bare -137 -l python -c '
import os, time
for i in range(1500):
    os.mkdir("d" * 20)
    os.chdir("d" * 20)
open("f", "w").close()
os.fchmod(os.open(".", os.O_RDONLY), 0)
time.sleep(300)
'
	is outcome disk
}

@test "without namespaces: a terminal, and what is typed before the program has started" {
	needs script
	local command="'$SBX_SRCDIR/t/lib/forbid-namespaces' '$LLMSBX' run -q --accept-missing=namespaces --tty -l bash -c 'read -r x; test -t 1 && echo got \$x'"
	printf 'typed\n' | script -qec "$command" /dev/null >shown
	grep -q 'got typed' shown
}
