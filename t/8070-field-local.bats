#!/usr/bin/env bats
# Faults that people reported of tools of this kind: what only a sandbox of this machine can meet (classes E and T of
# data/field-cases.tsv).
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

setup() { conform_setup && export LLMSBX_BACKEND=local; }
teardown() {
	[[ ! ${fuses-} ]] || remove_fuses
	conform_teardown
}

@test "field: FC-045: process 1 of a container that does not reap has no zombie of ours" {
	needs python3
	local -a how=(unshare --pid --fork --mount-proc)
	[[ $EUID == 0 ]] || how=(unshare --user --map-root-user --map-auto --pid --fork --mount-proc)
	if [[ $EUID != 0 ]]; then
		needs userns subuid newuidmap
	fi
	cat >first.py <<-'END'
		import glob, os, subprocess
		assert os.getpid() == 1
		for i in range(20):
		    done = subprocess.run([os.environ["LLMSBX"], "run", "-rq", "-l", "bash", "-c", "(setsid sleep 9 &); exit 4"])
		    assert done.returncode == 4, done
		# One that is no child of process 1 any more, when it ends.
		subprocess.run(["sh", "-c", "true & exec true"])
		left = [open(path).read() for path in glob.glob("/proc/[0-9]*/stat")]
		print([stat for stat in left if "llmsbx" in stat])
	END
	run -0 --separate-stderr "${how[@]}" python3 first.py
	[[ $output == "[]" ]]
}

@test "field: FC-180: without a cgroup the receipt says so, and no one who asks for more is run" {
	needs user
	sandbox -l bash -c 'echo ran'
	is out $'ran\n'
	[[ " $degraded " == *" memory "* ]] || skip "needs a user who may not make cgroups"
	[[ $(event 'select(.type == "start") | .degraded.memory') == *"no cgroup"* ]]
	sandbox -125 --require-enforced memory -l bash -c 'echo ran'
	is order "start end" outcome failed ran false error unsupported
	[[ $message == *memory*"no cgroup"* && $hint == *doctor* ]]
	run -0 --separate-stderr "$LLMSBX" run -r -l bash -c 'echo ran'
	[[ $output == ran && $stderr == "llmsbx: degraded: "*memory* ]]
}

@test "field: FC-184 FC-185: root, and a cgroup tree that is read-only" {
	needs root
	cat >read-only <<-'END'
		while read -r _ folder type _; do
			[[ $type != cgroup && $type != cgroup2 ]] || mount -o remount,bind,ro "$folder" || exit
		done </proc/mounts
		exec "$LLMSBX" run --format jsonl "$@"
	END
	unshare --mount bash read-only -l bash -c 'echo ran; echo err >&2' >events
	judge events
	is order "start output end" out $'ran\n' err $'err\n'
	[[ " $degraded " == *" memory "*" pids "* && $(event 'select(.type == "start") | .degraded.memory') == *"no cgroup"* ]]
	unshare --mount bash read-only --require-enforced memory,pids -l bash -c 'echo ran' >events || [[ $? == 125 ]]
	judge events
	is order "start end" outcome failed ran false error unsupported
	[[ $message == *memory*pids*"no cgroup"* ]]
}

@test "field: FC-183: what we keep of a run may vanish under it" {
	mkdir -m 700 runtime
	export XDG_RUNTIME_DIR=$PWD/runtime
	start_sandbox -l bash -c 'echo begun; read -r x; exit 5' < <(while [[ ! -e go ]]; do :; done)
	wait_for 10 saw begun
	rm -rf runtime
	: >go
	finish_sandbox 5
	is outcome exited
	sandbox -l bash -c 'echo next'
	is out $'next\n'
}

@test "field: FC-187: where namespaces are forbidden, nothing is run, and the message names the cause" {
	needs user userns
	run -125 --separate-stderr unshare --user --map-current-user --keep-caps bash -c '
		echo 0 >/proc/sys/user/max_user_namespaces || exit
		"$LLMSBX" run -r -l bash -c "echo ran"'
	[[ $output == "" && $stderr == "llmsbx: cannot make namespaces: "*user.max_user_namespaces* ]]
}

@test "field: FC-191: no user session, no HOME, no folder of its own" {
	cd / || return
	run -0 --separate-stderr env -i "$LLMSBX" run -rq -l bash -c 'echo ran; cd; pwd'
	[[ $output == $'ran\n/sandbox' && $stderr == "" ]]
	run -0 --separate-stderr env -i HOME=/nonexistent XDG_RUNTIME_DIR=/nonexistent "$LLMSBX" run -rq -l bash -c 'echo ran'
	[[ $output == ran && $stderr == "" ]]
	cd "$BATS_TEST_TMPDIR"
}

# The cgroups of the sandbox of an llmsbx.
cgroups_of() { compgen -G "/sys/fs/cgroup/**/llmsbx-*-$1-*" || find /sys/fs/cgroup -type d -name "llmsbx-*-$1-*"; }

@test "field: FC-192: a stranger in the sandbox's cgroup is neither killed nor waited for" {
	needs root
	start_sandbox -l bash -c 'echo begun; read -r x; exit 5' < <(while [[ ! -e go ]]; do :; done)
	wait_for 10 saw begun
	local folders folder stranger
	folders=$(cgroups_of "$pid")
	[[ $folders ]] || { : >go; skip "needs cgroups"; }
	sleep 1000 3>&- &
	stranger=$!
	for folder in $folders; do
		echo "$stranger" >"$folder/cgroup.procs"
	done
	: >go
	finish_sandbox 5
	is outcome exited
	kill -0 "$stranger"
	kill -KILL "$stranger"
	wait "$stranger" || :
	wait_for 10 swept
}
swept() { "$LLMSBX" gc >/dev/null && nothing_left; }

# A cgroup of this test around all that it runs, so that not even a fault of ours reaches the machine: fuse PROGRAM...
fuse() {
	local controller folder own
	if [[ ! ${fuses-} ]]; then
		for controller in pids memory; do
			own=$(sed -n "s/^[0-9]*:\(.*,\)\?$controller\(,.*\)\?://p" /proc/self/cgroup)
			folder=/sys/fs/cgroup/$controller$own/fuse-$BASHPID
			[[ -d /sys/fs/cgroup/$controller ]] || folder=/sys/fs/cgroup/fuse-$BASHPID
			[[ -d $folder ]] || mkdir "$folder" 2>/dev/null || return 99
			fuses+="$folder "
			if [[ $controller == pids ]]; then
				echo 250 >"$folder/pids.max" || return 99
			else
				echo 1G 2>/dev/null >"$folder/memory.max" || echo 1G >"$folder/memory.limit_in_bytes" || return 99
			fi
		done
	fi
	(
		for folder in $fuses; do
			echo "$BASHPID" >"$folder/cgroup.procs" || exit 99
		done
		exec "$@"
	)
}
remove_fuses() {
	local folder pid
	for folder in $fuses; do
		[[ -d $folder ]] || continue
		while read -r pid; do kill -KILL "$pid"; done <"$folder/cgroup.procs"
		wait_for 5 rmdir "$folder" 2>/dev/null
	done
	fuses=
}
blown() { [[ $(sed -n 's/^max //p' "${fuses%% *}/pids.events") != 0 ]]; }

@test "field: FC-188: a fork bomb" {
	needs root python3
	fuses=
	fuse true || skip "needs cgroups that may be made, as a fuse"
	cat >bomb.py <<-'END'
		import os
		print("lit", flush=True)
		while True:
		    try:
		        os.fork()
		    except OSError:
		        pass
	END
	chmod 755 . .. && chmod 644 bomb.py
	local as
	# Root and somebody who has no cgroups, ids or name.
	for as in "" "setpriv --reuid=65533 --regid=65533 --clear-groups"; do
		[[ ! $as ]] || $as test -x "$LLMSBX" -a -r bomb.py || continue
		got=0
		# shellcheck disable=SC2086 # $as is words
		fuse timeout -s KILL 30 $as env HOME=/nonexistent "$LLMSBX" run --format jsonl --pids 64 --timeout 2s bomb.py >events 2>diagnostics || got=$?
		[[ $got == 124 ]] || fail "status $got: $(show events diagnostics)"
		judge events
		is outcome timeout out $'lit\n'
		[[ " $limits " == *" wall_time=2000000000 "* ]]
		[[ " $enforced " != *" pids "* || " $limits " == *" pids=64 "* ]]
		run blown
		[[ $status == 1 ]] || fail "no bound of ours held it: $(show events)"
		[[ $(cat "${fuses%% *}/cgroup.procs") == "" ]]
	done
	sandbox -l bash -c 'echo next'
	is out $'next\n'
}
