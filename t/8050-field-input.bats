#!/usr/bin/env bats
# Faults that people reported of tools of this kind: standard input (class J of data/field-cases.tsv).
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

@test "field: FC-087 FC-089: input ends where ours ends" {
	needs python3
	printf 'import sys\nprint(input()); print(repr(sys.stdin.read()))\n' >read.py
	sandbox --stdin - read.py < <(echo OK)
	is out $'OK\n\'\'\n'
	sandbox read.py < <(printf 'OK\nmore')
	is out $'OK\n\'more\'\n'
}

@test "field: FC-090: what is printed long after the end of the input is there" {
	sandbox -l bash -c 'cat >/dev/null; read -t 0.5 <> <(:); echo done; exec <&-; read -t 0.2 <> <(:); echo again' < <(printf 12345)
	is out $'done\nagain\n'
}

@test "field: FC-091: a program that asks where nobody answers" {
	needs python3
	sandbox -1 <<<'input("? ")'
	is outcome exited exit_code 1 out "? "
	[[ $err == *"EOFError: EOF when reading a line"* ]]
	printf 'input("? ")\n' >ask.py
	sandbox -1 ask.py </dev/null
	[[ $err == *EOFError* ]]
}

@test "field: FC-092: closed descriptors are nobody's" {
	local closed
	echo kept >data
	for closed in '0<&-' '2>&-' '0<&- 2>&-'; do
		bash -c '"$LLMSBX" run --format jsonl --file data -o copy --out-dir got -l bash -c "cat data >copy; cat | wc -c
			readlink /proc/self/fd/{0,1,2} | tr -d 0-9; echo err >&2" '"$closed" >events
		judge events
		is outcome exited out $'0\npipe:[]\npipe:[]\npipe:[]\n' err $'err\n'
		[[ $(<got/copy) == kept && $(<data) == kept ]]
	done
	# Code comes from nowhere: that is an empty program.
	bash -c '"$LLMSBX" run --format jsonl -l bash 0<&-' >events
	judge events
	is outcome exited order "start end"
	# Who closes standard output wants none of it; no other file gets what was for it.
	for closed in '1>&-' '0<&- 1>&- 2>&-'; do
		rm -r got
		run -0 --separate-stderr bash -c '"$LLMSBX" run --file data -o copy --out-dir got -l bash -c "cat data >copy; echo out; echo err >&2" '"$closed"
		[[ $output == "" && $stderr == "" && $(<got/copy) == kept && $(<data) == kept ]]
		[[ $(ls -I 'separate-stderr-*') == $'data\nevents\ngot\nhome' ]]
	done
}

@test "field: FC-095: a program that asks on a terminal is interrupted there" {
	needs python3
	cat >terminal.py <<-'END'
		import os, pty, select, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(os.environ["LLMSBX"], ["llmsbx", "run"] + sys.argv[1:])
		seen = b""
		while True:
		    # Again and again: an interpreter may be between its prompt and its read.
		    try:
		        if not select.select([fd], [], [], 0.2)[0] and b"? " in seen:
		            os.write(fd, b"\x03")
		            continue
		        data = os.read(fd, 4096)
		    except OSError:
		        break
		    if not data:
		        break
		    seen += data
		status = os.waitpid(pid, 0)[1]
		print(seen.decode(), os.waitstatus_to_exitcode(status))
	END
	cat >ask.py <<-'END'
		import signal
		try:
		    input("? ")
		except KeyboardInterrupt:
		    signal.signal(signal.SIGINT, signal.SIG_IGN)
		    print("interrupted")
		    raise SystemExit(7)
	END
	run -0 python3 terminal.py --tty ask.py
	[[ $output == *interrupted*$'\n'" 7" ]]
	# Without a terminal of its own it is cancelled, as all that runs in the foreground.
	printf 'import sys\nprint("? ", end="", flush=True)\nsys.stdin.read()\n' >ask.py
	run -0 python3 terminal.py ask.py
	[[ $output == *" -2" && $output != *Traceback* ]]
}
