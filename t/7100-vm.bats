#!/usr/bin/env bats
# Machines that this one may not be: systemd with cgroup v2 and a login's session, the oldest and the newest kernel that we know,
# users of each kind, namespaces or Landlock switched off, hybrid cgroups.
# shellcheck disable=SC2016,SC2154 # what is in single quotes is the machine's; output and the like are set by bats
#
# $SBX_TEST_VM runs a command in a fresh one: [--user dev|nosub|root] [--kernel stable|backports] [--sysctl NAME=VALUE]
# [--append KERNEL-ARGUMENTS] --copy FOLDER:NAME -- COMMAND...
# dev has subordinate ids, nosub has none.  It is slow, so what is asked there is what only it can answer.
export BATS_TEST_TIMEOUT=600
load lib/common

setup_file() {
	[[ ${SBX_TEST_VM-} ]] || return 0
	local source=$BATS_FILE_TMPDIR/src
	mkdir -p "$source/t/unit"
	cp "$LLMSBX" "$source/llmsbx"
	cp -rL "$SBX_SHARE" "$source/share"
	cp -r "$SBX_SRCDIR/t/lib" "$SBX_SRCDIR"/t/5010-outcomes.bats "$source/t/"
	cp "$SBX_BUILDDIR"/t/unit/test-{cgroup,scope} "$source/t/unit/"
	strip "$source/llmsbx" "$source"/t/unit/*
}

setup() {
	[[ ${SBX_TEST_VM-} ]] || skip "needs a virtual machine (SBX_TEST_VM)"
	# It keeps its disk in its caller's cache.
	machine=(env "HOME=$HOME" ${XDG_CACHE_HOME:+"XDG_CACHE_HOME=$XDG_CACHE_HOME"}
		"$SBX_TEST_VM" --copy "$BATS_FILE_TMPDIR/src:src" --timeout 300)
	common_setup
}

# in_vm SCRIPT OPTION...: what the script prints there is $output; it must succeed.
in_vm() {
	local script=$1
	shift
	run "${machine[@]}" "$@" -- bash --norc -euc "PATH=\$PWD:\$PATH; $script" </dev/null
	[[ $status == 0 ]] || fail "status $status: $output"
}

# receipt_is CONTROL WORDS: of the doctor's lines in $output
receipt_is() {
	[[ $output == *$'\n  '"$(printf '%-14s %s' "$1" "$2")"* ]] || fail "$1 is not $2: $output"
}

# attacked PROBES...: a script: none of them is reached.  Those that measure time have nothing to say in a machine without its own.
attacked() {
	printf 'for class in %s; do llmsbx doctor --attack --only $class >out || [[ $? == 2 ]] || { cat out; exit 1; }; done; ' "$*"
	printf '! grep "^not ok" out'
}

# What is below a user manager's slice: a scope of ours is there while it is needed.
scopes='scopes() { find /sys/fs/cgroup/user.slice/user-$UID.slice/user@$UID.service -name "llmsbx*.scope"; }
until_is() { for ((i = 0; i < 600; i++)); do [[ $(scopes | wc -l) != "$1" ]] || return 0; sleep 0.1; done; scopes; return 1; }; '

@test "vm: a login gets a scope of systemd, and every control is enforced" {
	local kernel
	for kernel in stable backports; do
		in_vm 'llmsbx doctor' --kernel "$kernel"
		receipt_is memory "enforced     cgroup v2"
		receipt_is cpu "enforced     cgroup v2"
		receipt_is pids "enforced     cgroup v2"
		[[ $output == *$'\nevery control is enforced' ]]
	done
}

@test "vm: a login without subordinate ids lacks only a user" {
	in_vm 'llmsbx doctor || [[ $? == 1 ]]' --user nosub
	receipt_is user "degraded     the caller's id 1001 and groups 1001: no line for the caller in /etc/subuid and /etc/subgid"
	[[ $(grep -cE '^  [a-z_]+ +(degraded|unsupported)' <<<"$output") == 1 ]]
}

@test "vm: a scope goes with its llmsbx, however that ends, and jobs share one" {
	in_vm "$scopes"'
		llmsbx run -r -l bash -c true 2>err; until_is 0
		llmsbx run -r -l bash -c "echo begun; while :; do :; done" >log 2>err & pid=$!
		until grep -q begun log; do sleep 0.1; done
		until_is 1
		grep -q "/llmsbx-.*\.scope/llmsbx$" /proc/$pid/cgroup
		kill -KILL $pid; wait $pid 2>err || :; until_is 0
		for i in 1 2 3 4; do echo "{\"lang\":\"bash\",\"code\":\"echo begun; sleep 2\"}"; done >jobs
		llmsbx run -j 2 --jobs jobs >log 2>err & pid=$!
		until grep -q begun log; do sleep 0.1; done
		until_is 1
		wait $pid; until_is 0
		jq -r "select(.type == \"start\") | .enforced.memory" log'
	[[ $output == $'cgroup v2\ncgroup v2\ncgroup v2\ncgroup v2' ]] || fail "$output"
}

@test "vm: without a bus the receipt says so" {
	in_vm 'unset DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR; llmsbx doctor || [[ $? == 1 ]]'
	receipt_is pids "degraded     RLIMIT_NPROC of the user namespace; no cgroup: none is delegated; no user bus: "
	[[ $output == *$'\nwhat would help\n'*$'\n  pids           export DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus\n'* ]] ||
		fail "$output"
	in_vm 'unset DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR; export DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus; llmsbx doctor'
}

@test "vm: units of cgroups, as root and as a user" {
	in_vm 't/unit/test-cgroup; t/unit/test-scope' --user root
	in_vm 't/unit/test-cgroup; t/unit/test-scope' --kernel backports
}

@test "vm: the limit of processes is told as met only where it was ours" {
	cat >fork.py <<-'END'
	import os, time
	for i in range(40):
	    try:
	        if os.fork() == 0: time.sleep(20); os._exit(0)
	    except OSError: pass
	END
	local kernel script='met() { jq -r "select(.type == \"limit\" and .name == \"pids\") | .value"; }
		llmsbx run --pids 16 fork.py 2>log | met
		echo outer
		echo 24 >/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/../pids.max
		llmsbx run --pids 100 fork.py 2>log | met'
	for kernel in stable backports; do
		in_vm "$(printf 'printf %%s %q >fork.py; ' "$(<fork.py)")$script" --user root --kernel "$kernel"
		[[ $output == $'16\nouter' ]] || fail "$kernel: $output"
	done
}

@test "vm: swap is not what memory overflows into" {
	in_vm 'dd if=/dev/zero of=/swap bs=1M count=256 status=none; chmod 600 /swap; mkswap -q /swap; swapon /swap
		llmsbx run -l python --memory 64m -c "x = b\"x\" * (150 << 20)" 2>log | jq -r "select(.type == \"end\") | .outcome"' --user root
	[[ $output == oom ]] || fail "$output"
}

@test "vm: some of what every backend must pass holds for a login" {
	in_vm 'export SBX_SRCDIR=$PWD SBX_BUILDDIR=$PWD LLMSBX=$PWD/llmsbx SBX_SHARE=$PWD/share BATS_TEST_TIMEOUT=200
		bats --tap -f "outcome: (exited$|signaled$|output$|cpu_timeout|lost|compile_failed|processes)" t/5010-outcomes.bats'
}

@test "vm: attacks by a login's programs" {
	in_vm "$(attacked FS SC RL0 RL12 ID PS NN)"
	in_vm "$(attacked RL0 RL12 ID PS)" --user nosub --kernel backports
}

@test "vm: attacks by root's programs" {
	in_vm "$(attacked RL0 RL12 SC FS)" --user root --kernel backports
}

@test "vm: where user namespaces are forbidden, an error says which switch it is" {
	in_vm 'llmsbx run -c 1 2>&1 >log || [[ $? == 125 ]]; cat log' --sysctl kernel.unprivileged_userns_clone=0
	[[ $output == *"cannot make namespaces: they are for root only (sysctl kernel.unprivileged_userns_clone is 0)"* ]]
	in_vm 'llmsbx run -c 1 2>&1 >log || [[ $? == 125 ]]; cat log' --sysctl user.max_user_namespaces=0
	[[ $output == *"cannot make namespaces: their number is used up (user.max_user_namespaces and its like)"* ]]
}

@test "vm: without Landlock it is degraded and the rest holds" {
	in_vm "llmsbx doctor || [[ \$? == 1 ]]; $(attacked FS ID)" --append lsm=lockdown,yama,apparmor,bpf
	receipt_is landlock degraded
	[[ $output == *$'\n  landlock       boot with lsm=landlock,'* ]] || fail "$output"
	[[ $(grep -cE '^  [a-z_]+ +(degraded|unsupported)' <<<"$output") == 1 ]]
}

@test "vm: hybrid cgroups: v1 for root, none and no scope for a user" {
	in_vm "llmsbx doctor; cp -r . /var/tmp/src; cd /var/tmp/src; su dev -s /bin/bash -c './llmsbx doctor || [[ \$? == 1 ]]'" \
		--user root --append systemd.unified_cgroup_hierarchy=0
	receipt_is memory "enforced     cgroup v1"
	receipt_is pids "degraded     RLIMIT_NPROC of the user namespace; no cgroup: "
	[[ $output == *$'\n  pids           boot with systemd.unified_cgroup_hierarchy=1\n'* ]] || fail "$output"
}
