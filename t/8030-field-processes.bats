#!/usr/bin/env bats
# Faults that people reported of tools of this kind: zombies and process 1 (class E of data/field-cases.tsv).
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

@test "field: FC-044: 500 orphans are reaped" {
	needs python3
	sandbox --pids 16 - <<-'END'
		import glob, os
		def fork():
		    while True:
		        try:
		            return os.fork()
		        except BlockingIOError:
		            os.sched_yield()  # the last ones are still being reaped
		def zombies():
		    n = 0
		    for path in glob.glob("/proc/[0-9]*/stat"):
		        try:
		            with open(path) as f:
		                n += f.read().rpartition(")")[2].split()[0] == "Z"
		        except OSError:
		            pass
		    return n
		# One of our own is seen.
		pid = os.fork()
		if pid == 0:
		    os._exit(0)
		os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
		print("own", zombies())
		os.waitpid(pid, 0)
		for i in range(500):
		    pid = fork()
		    if pid == 0:
		        fork()
		        os._exit(0)
		    os.waitpid(pid, 0)
		while zombies():
		    os.sched_yield()
		print("none")
	END
	is outcome exited exit_code 0 out $'own 1\nnone\n'
}

@test "field: FC-047: 100 runs at once" {
	local i
	for i in {1..100}; do
		printf '{"id":"%d","lang":"bash","code":"echo %d"}\n' "$i" "$i"
	done >"jobs"
	run -0 --separate-stderr "$LLMSBX" run --jobs jobs -j 100
	[[ $stderr == "" ]]
	[[ $(events 'select(.type == "stdout") | .id + " " + .data' -j | sort -n) == "$(seq 100 | awk '{ print $1, $1 }')" ]]
	[[ $(events 'select(.type == "end") | .outcome' | uniq -c | tr -s ' ') == " 100 exited" ]]
}
