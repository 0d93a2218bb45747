#!/usr/bin/env bats
# The receipt in `start`: every control of the run once, refused where it is asked for and not held, and true.
# shellcheck disable=SC2016,SC2086,SC2154 # programs in single quotes; lists in words; what sandbox of lib/conform sets
load lib/common
load lib/conform

# held: the controls of the last receipt, sorted, whichever way they are held
held() { printf '%s\n' $enforced $degraded $unsupported | sort | paste -sd' '; }
# said CONTROL: what the receipt says of it
said() { event 'select(.type == "start") | .enforced + .degraded + .unsupported | .["'"$1"'"]' -r | jq -r .; }
by_comma() { paste -sd, <<<"${*// /$'\n'}"; }

@test "receipt: every control that a run has, exactly once" {
	local always="capabilities devices landlock mounts namespaces network no_new_privs readonly_root seccomp user"
	sandbox -l bash -c true
	[[ $(held) == "$(printf '%s\n' $always cpu disk memory output pids wall_time | sort | paste -sd' ')" ]]
	# What is asked for comes, what is lifted goes.
	sandbox -l bash --cpu-time 10s --memory none --cpus none --pids none --max-output none --timeout none -c true
	[[ $(held) == "$(printf '%s\n' $always disk cpu_time | sort | paste -sd' ')" ]]
	sandbox -l bash --no-read-only -c true
	[[ " $(held) " != *" readonly_root "* && " $(held) " == *" mounts "* ]]
	# They stand in the same order everywhere.
	[[ $(printf '%s\n' $enforced | head -n 1) == namespaces ]]
	# It is the same in the one object of --format json.
	"$LLMSBX" run --format json -l bash -c true >out
	[[ $(jq '.start | .enforced + .degraded + .unsupported | length' out) == 16 ]]
}

@test "receipt: --require-enforced refuses what is not held exactly, and nothing else" {
	sandbox -l bash --cpu-time 10s -c true
	local exact=$enforced weak="$degraded $unsupported" name
	sandbox -l bash --cpu-time 10s --require-enforced "$(by_comma "$exact")" -c 'echo ran'
	is out $'ran\n'
	for name in $weak; do
		sandbox -125 -l bash --cpu-time 10s --require-enforced "$name" -c 'echo ran'
		is order "start end" outcome failed error unsupported ran false exit_code null
		[[ $message == *"$name"* && $message == *"$(said "$name")"* ]]
	done
	if [[ ${weak// /} ]]; then
		sandbox -125 -l bash --cpu-time 10s --require-enforced all -c 'echo ran'
		is order "start end" outcome failed error unsupported ran false
		for name in $weak; do [[ $message == *"$name"* ]]; done
		for name in $exact; do [[ " $message " != *" $name is "* ]]; done
	else
		sandbox -l bash --cpu-time 10s --require-enforced all -c 'echo ran'
		is out $'ran\n'
	fi
	# What is named must be held, also when the run would do without.
	sandbox -125 -l bash --pids none --memory none --require-enforced seccomp --require-enforced pids,memory -c 'echo ran'
	is order "start end" outcome failed error unsupported ran false
	[[ $message == *memory*pids* ]]
}

@test "receipt: names that no control has are wrong usage" {
	usage_error "'nosuch'" run -l bash --require-enforced nosuch -c true
	usage_error "'nosuch'" run -l bash --require-enforced seccomp,nosuch -c true
	usage_error "'nosuch'" run -l bash --accept-missing nosuch -c true
	usage_error "--require-enforced" run -l bash --require-enforced '' -c true
	usage_error "--require-enforced" run -l bash --require-enforced ',' -c true
}

@test "receipt: what is missing is refused unless it is accepted, and is said either way" {
	# A network is not there for every backend; where it is, nothing is missing.
	local got=0
	"$LLMSBX" run --format jsonl --network full -l bash -c 'echo ran' >events 2>diagnostics || got=$?
	judge events
	if [[ $got == 0 ]]; then
		is out $'ran\n'
		[[ " $unsupported " != *" network "* ]]
		return
	fi
	[[ $got == 125 ]]
	is outcome failed error unsupported ran false unsupported network
	[[ $message == *network*--accept-missing=network* ]]
	sandbox -l bash --network full --accept-missing network -c 'echo ran'
	is out $'ran\n' unsupported network
	sandbox -125 -l bash --network full --accept-missing seccomp,landlock -c 'echo ran'
	is outcome failed error unsupported unsupported network
	# What must be held is not accepted as missing.
	sandbox -125 -l bash --network full --accept-missing network --require-enforced network -c 'echo ran'
	is outcome failed error unsupported ran false
}

@test "receipt: identity, capabilities, privileges are what the program finds" {
	sandbox -l bash --user 1234:4321 -c 'cat /proc/self/status'
	field() { awk -v name="$1:" '$1 == name { $1 = ""; print substr($0, 2) }' <<<"$out"; }
	[[ " $enforced " != *" user "* || $(field Uid) == "1234 1234 1234 1234" ]]
	[[ " $enforced " != *" user "* || $(field Gid) == "4321 4321 4321 4321" ]]
	[[ " $enforced " != *" user "* || $(field Groups) == "" ]]
	[[ " $enforced " != *" capabilities "* || $(field CapInh)$(field CapPrm)$(field CapEff)$(field CapBnd)$(field CapAmb) =~ ^0+$ ]]
	[[ " $enforced " != *" no_new_privs "* || $(field NoNewPrivs) == 1 ]]
	[[ " $enforced " != *" seccomp "* || $(field Seccomp) == 2 ]]
	[[ $(field Umask) == 0077 && $(field SigIgn)$(field SigBlk) =~ ^0+$ && $(field TracerPid) == 0 ]]
}

@test "receipt: namespaces are not the host's" {
	sandbox -l bash -c 'for ns in user mnt pid ipc uts net cgroup; do echo "$(readlink /proc/self/ns/$ns)"; done'
	[[ " $enforced " == *" namespaces "* ]] || skip "none are claimed"
	local ns
	for ns in user mnt pid ipc uts net cgroup; do
		[[ " $(said namespaces) " != *" ${ns/mnt/mount} "* ]] || [[ $out != *"$(readlink "/proc/self/ns/$ns")"* ]]
	done
	# Nobody else is to be seen, but for the guest where it cannot have an id of its own.
	sandbox -l bash -c 'cd /proc; for p in [0-9]*; do [ "$p" = $$ ] || echo "$p"; done'
	[[ $out == "" || $out == $'1\n' && " $enforced " != *" user "* ]]
	sandbox -l bash -c 'cat /proc/sys/kernel/hostname 2>/dev/null || hostname'
	[[ $out != "$(hostname)"$'\n' ]]
}

@test "receipt: nothing but the scratches can be written, no device made, no set-id honoured" {
	needs python3
	sandbox - <<-'END'
		import os, stat
		flags = {}
		for line in open("/proc/self/mountinfo"):
		    before, after = line.rstrip("\n").split(" - ")
		    f = before.split(" ")
		    flags[f[4]] = (f[5].split(","), after.split(" ")[0])
		writable = sorted(p for p, (f, fs) in flags.items() if "rw" in f and fs != "proc" and fs != "devpts")
		print("writable", *writable)
		print("suid", *(p for p, (f, fs) in flags.items() if "nosuid" not in f))
		print("dev", *(p for p, (f, fs) in flags.items() if "nodev" not in f and not p.startswith("/dev")))
		for where in ["/x", "/usr/x", "/etc/x", "/dev/x", "/proc/x", "/proc/sys/kernel/hostname", "/usr/bin/env", "/.llmsbx/x"]:
		    try:
		        os.close(os.open(where, os.O_WRONLY | os.O_CREAT))
		        print("wrote", where)
		    except OSError:
		        pass
		for kind in (stat.S_IFCHR, stat.S_IFBLK):
		    try:
		        os.mknod("node", kind | 0o666, os.makedev(1, 3))
		        print("made a device")
		    except OSError:
		        pass
		for call in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.chroot("/tmp"), lambda: os.setgroups([0]), lambda: os.nice(-1)):
		    try:
		        call()
		        print("allowed", call)
		    except OSError:
		        pass
	END
	is err "" outcome exited exit_code 0
	[[ " $enforced " != *" mounts "* ]] || [[ $out == *$'\nsuid\ndev\n' ]]
	[[ " $enforced " != *" readonly_root "* ]] || [[ $out == $'writable /dev/shm /sandbox /tmp\n'* ]]
	[[ $out != *wrote* && $out != *"made a device"* && $out != *allowed* ]]
}

@test "receipt: no network but loopback" {
	needs python3
	sandbox --timeout 20s - <<-'END'
		import errno, socket
		print(*(name for _, name in socket.if_nameindex()))
		for where in [("1.1.1.1", 53), ("169.254.169.254", 80), ("10.0.0.1", 80)]:
		    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
		        try:
		            s = socket.socket(socket.AF_INET, kind)
		            s.connect(where)
		            print("reached", where)
		        except OSError as e:
		            if e.errno != errno.ENETUNREACH:
		                print(where, e)
		try:
		    socket.getaddrinfo("example.com", 80)
		    print("resolved")
		except OSError:
		    pass
		# Its own loopback works.
		server = socket.create_server(("127.0.0.1", 0))
		client = socket.create_connection(server.getsockname())
		print("loopback")
		for family in (socket.AF_PACKET, socket.AF_NETLINK, 38, 40):
		    try:
		        socket.socket(family, socket.SOCK_RAW, 0)
		        print("family", family)
		    except OSError:
		        pass
	END
	[[ " $enforced " == *" network "* ]] || skip "none is claimed"
	[[ $err == "" && $out == $'lo\nloopback\n'* && $out != *reached* && $out != *resolved* ]]
	[[ $out != *"family 17"* && $out != *"family 38"* && $out != *"family 40"* ]]
}

@test "receipt: abstract sockets of the host are out of reach, and the sandbox's out of ours" {
	needs python3
	python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("\0llmsbx-test"); s.listen(); print("up", flush=True); time.sleep(50)' >server 3>&- &
	background+=($!)
	wait_for 10 saw up server
	sandbox - <<-'END'
		import socket
		try:
		    socket.socket(socket.AF_UNIX).connect("\0llmsbx-test")
		    print("reached")
		except OSError:
		    print("refused")
	END
	is out $'refused\n'
}

@test "receipt: limits that are enforced are those that were asked for" {
	needs python3
	sandbox --memory 200m --pids 33 --cpus 0.5 --disk 10m - <<-'END'
		import os, resource, time
		st = os.statvfs(".")
		print("disk", st.f_blocks * st.f_frsize)
		print("nofile", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
		print("core", *resource.getrlimit(resource.RLIMIT_CORE))
		n = 1
		try:
		    while n < 200:
		        if os.fork() == 0:
		            time.sleep(1000)
		        n += 1
		except BlockingIOError:
		    pass
		print("pids", n)
	END
	is err ""
	[[ $out == *"disk 10485760"* && $out == *"core "[01]" "[01]* && $out == *"nofile 1024"* ]]
	[[ " $enforced $degraded " != *" pids "* || $out == *$'pids 33\n' ]]
	# Half a processor is half of one.  Several want it, so that they would have more on a busy machine too.
	sandbox --cpus 0.5 -l bash --timeout 20s -c '
		end=$((${EPOCHREALTIME/./} + 600000))
		for i in 1 2 3 4 5 6; do (while ((${EPOCHREALTIME/./} < end)); do :; done) & done
		wait'
	if [[ " $enforced " == *" cpu "* ]]; then
		[[ $(event 'select(.type == "limit" and .name == "cpu") | .value') == 500 ]]
		[[ $(event 'select(.type == "end") | (.usage.cpu_user_ns + .usage.cpu_sys_ns) < 480000000') == true ]]
	fi
}

@test "receipt: compiling does not change it, and is held as well" {
	needs gcc
	sandbox -l c -c '
		#include <stdio.h>
		int main(void) { return !fopen("/proc/self/status", "r"); }'
	is order "start end" outcome exited
	local compiled="$enforced/$degraded/$unsupported"
	sandbox -l bash -c true
	[[ $compiled == "$enforced/$degraded/$unsupported" ]]
}
