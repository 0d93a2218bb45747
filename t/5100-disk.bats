#!/usr/bin/env bats
# A work directory on disk, for --disk above half of --memory; and what is said of a scratch folder that is full.
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

teardown() {
	umount -l "$BATS_TEST_TMPDIR/small" 2>/dev/null || :
	conform_teardown
}

cache() { echo "$HOME/.cache/llmsbx"; }
needs_disk() { [[ $(stat -f -c %T .) != tmpfs ]] || skip "needs a disk, and this folder is memory"; }
nothing_is_kept() { [[ $(ls -A "$(cache)") == "" ]]; }
kept() { compgen -G "$(cache)/llmsbx-*" >/dev/null; }

@test "disk: more than half of the memory is on disk, and not memory" {
	needs_disk
	sandbox --memory 64m --disk 100m -l bash --out 'small' --out-dir got -c 'stat -c %u:%g:%a .; head -c 80M /dev/zero >big && mkdir a && echo saved >small && stat -c %s big'
	is outcome exited limits "" out $'65532:65532:700\n83886080\n'
	[[ " $degraded " == *" disk "* && $(<got/small) == saved ]]
	nothing_is_kept
	sandbox --memory 64m --disk 32m -l bash -c 'true'
	[[ " $enforced " == *" disk "* ]]
	sandbox -125 --memory 64m --disk 100m --require-enforced=disk -l bash -c 'true'
	is outcome failed ran false
	nothing_is_kept
}

@test "disk: neither set-id nor devices are of use, and other folders are as before" {
	sandbox --memory 64m --disk 100m --workdir /tmp/deep/work -l bash -c 'grep " $PWD " /proc/self/mounts; : >/tmp/x && : >/dev/shm/x && echo writable'
	[[ $out == *"nosuid,nodev"*$'\nwritable\n' ]]
	mkdir data
	echo of the host >data/file
	sandbox --memory 64m --disk 100m --mount "$PWD/data:/sandbox/in/data" -l bash -c 'cat in/data/file; mkdir in/more && echo made'
	is outcome exited out $'of the host\nmade\n'
	nothing_is_kept
	[[ $(<data/file) == "of the host" ]]
}

@test "disk: too much on disk ends the program; what takes no room does not count" {
	needs_disk
	sandbox -137 --memory 32m --disk 20m -l bash -c 'echo begun; head -c 60M /dev/zero >big; sleep 1000'
	is outcome disk limits disk=20971520 signal SIGKILL out $'begun\n'
	nothing_is_kept
	sandbox -137 --memory 32m --disk 20m -l bash -c 'for ((i = 0; i < 9000; i++)); do : >"$i"; done; sleep 1000'
	is outcome disk limits disk=20971520
	sandbox --memory 32m --disk 20m -l bash -c 'truncate -s 1G sparse; head -c 12M /dev/zero >a; for i in 1 2 3; do ln a "b$i"; done; sleep 0.3; echo fits'
	is outcome exited limits "" out $'fits\n'
	# Whether it is found while a file goes in or when the program runs is a matter of time.
	local got=0
	head -c 40M /dev/zero >large
	"$LLMSBX" run --format jsonl --memory 32m --disk 20m --file large -l bash -c 'sleep 1000' >events || got=$?
	judge events
	[[ "$outcome $got" == "disk 137" || ("$outcome $got" == "failed 125" && $message == *"raise --disk") ]]
	nothing_is_kept
}

@test "disk: whatever tree is left is removed, and nothing beside it" {
	needs python3
	mkdir outside
	echo kept >outside/file
	sandbox --memory 256m --disk 1g --timeout 50s --mount "$PWD/outside:/outside:rw" - <<-'PYTHON'
		import os, socket
		for i in range(2000):
		    open(f"file {i}\n\x01", "w").close()
		os.symlink("/outside", "link")
		os.symlink("../../../../..", "up")
		os.mkfifo("pipe")
		socket.socket(socket.AF_UNIX).bind("socket")
		os.link("file 1\n\x01", "hard")
		for name in "0", "1", "2", "-rf", "\n":
		    os.makedirs(name + "/a/b/c")
		    open(name + "/a/b/c/file", "w").close()
		    for below in name + "/a/b/c", name + "/a/b", name + "/a", name:
		        os.chmod(below, 0)
		here = os.open(".", os.O_RDONLY)
		for i in range(1500):
		    os.mkdir("d")
		    os.mkdir("e")
		    open("e/file", "w").close()
		    os.chdir("d")
		os.fchdir(here)
		print("done")
	PYTHON
	is outcome exited out $'done\n'
	nothing_is_kept
	[[ $(<outside/file) == kept ]]
}

@test "disk: what a killed llmsbx left is removed by the next, and by gc" {
	local i
	for i in gc run; do
		start_sandbox --memory 64m --disk 100m -l bash -c 'mkdir -p a/b; : >a/b/c; chmod 0 a; echo begun; sleep 1000'
		wait_for 10 saw begun
		kept
		# It is not taken from one that lives.
		"$LLMSBX" gc >removed
		[[ $(<removed) != *folder* ]]
		kept
		kill -KILL "$pid"
		wait "$pid" || :
		wait_for 10 nobody_is_left
		kept
		if [[ $i == gc ]]; then
			"$LLMSBX" gc >removed
			[[ $(<removed) == *"removed folder $(cache)/llmsbx-"* ]]
		else
			sandbox -l bash -c 'true'
		fi
		nothing_is_kept
		wait_for 10 swept
	done
}
swept() { "$LLMSBX" gc >/dev/null && nothing_left; }
nobody_is_left() { [[ $(orphans) == "" ]]; }

@test "disk: a folder that is held is not removed, whatever its name says" {
	needs flock
	local name=llmsbx-000000000000-1-1-0
	mkdir -p "$(cache)/$name"
	exec 5<"$(cache)/$name"
	flock -n 5
	"$LLMSBX" gc >removed
	[[ -d $(cache)/$name && $(<removed) != *folder* ]]
	exec 5<&-
	"$LLMSBX" gc >removed
	[[ $(<removed) == *"removed folder $(cache)/$name" ]]
	nothing_is_kept
}

@test "disk: a cache folder that cannot be it is refused" {
	local refused=(sandbox -125 --memory 64m --disk 100m -l bash -c 'true')
	mkdir -p elsewhere "$HOME/.cache"
	ln -s "$PWD/elsewhere" "$(cache)"
	"${refused[@]}"
	is outcome failed ran false error denied
	[[ $message == *"'$(cache)'"*"no link"* ]]
	rm "$(cache)"
	mkdir -m 777 "$(cache)"
	chmod 777 "$(cache)"
	"${refused[@]}"
	is error denied
	[[ $message == *"must be yours"*XDG_CACHE_HOME ]]
	[[ $(find elsewhere "$(cache)" -mindepth 1) == "" ]]
	XDG_CACHE_HOME=/proc/none "${refused[@]}"
	[[ $message == *"'/proc/none/llmsbx'"* ]]
	chmod 755 "$(cache)"
	sandbox --memory 64m --disk 100m -l bash -c 'true'
}

@test "disk: a host without room is told of, and is no limit" {
	needs root
	mkdir -p small "$HOME"
	mount -t tmpfs -o size=8m,mode=755 none small
	XDG_CACHE_HOME=$PWD/small sandbox -3 --memory 64m --disk 100m -l bash -c 'head -c 20M /dev/zero >big || exit 3'
	is outcome exited limits "" warnings host_disk_full
	[[ $err == *"No space left"* && $(ls -A small/llmsbx) == "" ]]
	# Files that no name leads to are not let to fill it.
	mount -o remount,size=48m small
	XDG_CACHE_HOME=$PWD/small sandbox -137 --memory 80m --disk 41m -l bash -c 'exec 5>x; rm x; head -c 60M /dev/zero >&5; sleep 1000'
	is outcome disk limits disk=42991616
	umount -l small
	mount -t tmpfs -o size=8m,mode=755,nr_inodes=2 none small
	XDG_CACHE_HOME=$PWD/small sandbox -125 --memory 64m --disk 100m -l bash -c 'true'
	is outcome failed ran false
	[[ $message == *"cannot make the work directory"*"No space left"* && $(ls -A small/llmsbx) == "" ]]
}

@test "disk: a scratch folder that is full is told with its own size" {
	sandbox --memory 64m -l bash -c 'head -c 20M /dev/zero >/tmp/x || :'
	is outcome exited limits disk=8388608
	sandbox --memory 64m -l bash -c 'head -c 20M /dev/zero >/dev/shm/x || :'
	is outcome exited limits disk=8388608
	sandbox --memory 64m --disk 100m -l bash -c 'head -c 20M /dev/zero >/tmp/x || :'
	is outcome exited limits disk=8388608
	sandbox --memory 64m -l bash -c 'head -c 20M /dev/zero >x || :'
	is outcome exited limits disk=16777216
}
