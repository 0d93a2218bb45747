#!/usr/bin/env bats
# Files on their way in (--file, --mount) and out (--out): names and bytes are exact, and nothing from inside is followed or made.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

# files: the file events of the last run, a line each: path change size saved_as skipped
files() { event 'select(.type == "file") | "\(.path) \(.change) \(.size) \(.saved_as) \(.skipped)"' -r | jq -r .; }

@test "files: --file puts a file by its name, another name, into folders" {
	printf 'a\0b\377' >data.bin
	echo two >'with space'
	echo three >'colon:name'
	mkdir dir && echo four >dir/inner
	sandbox -l bash --file data.bin --file 'with space:sub/dir/renamed' --file 'colon:name:other' --file dir/inner \
		--file dir/inner:into/ --file data.bin:./x/./y -c '
		od -An -tx1 data.bin; cat sub/dir/renamed other inner into/inner; cmp data.bin x/y && find . -type f | sort'
	is out $' 61 00 62 ff\ntwo\nthree\nfour\nfour\n./data.bin\n./inner\n./into/inner\n./main.sh\n./other\n./sub/dir/renamed\n./x/y\n'
}

@test "files: --file keeps permission bits, and the program may change what is its own" {
	echo script >run.sh && chmod 755 run.sh
	echo plain >plain && chmod 640 plain
	echo mine >fixed && chmod 444 fixed
	sandbox -l bash --file run.sh --file plain --file fixed -c '
		stat -c "%n %a" run.sh plain fixed; echo more >>plain; cat plain; rm fixed && echo removed; [ -O plain ] && echo own'
	is out $'run.sh 755\nplain 640\nfixed 444\nplain\nmore\nremoved\nown\n'
	[[ $(<plain) == plain && -e fixed ]]
}

@test "files: --file refuses what is no file, leads out, or would replace the code" {
	mkfifo pipe
	mkdir folder
	echo x >ok
	usage_error "'nofile'" run -l bash --file nofile -c true
	usage_error "'folder'" run -l bash --file folder -c true
	usage_error "--file" run -l bash --file ok:../out -c true
	usage_error "--file" run -l bash --file ok:/etc/passwd -c true
	usage_error "--file" run -l bash --file ok:a/../../b -c true
	usage_error "--file" run -l bash --file '' -c true
	sandbox -125 -l bash --file pipe -c true
	is order end outcome failed error usage
	sandbox -125 -l bash --file ok:main.sh -c true
	is order end outcome failed error usage
	[[ $message == *"'main.sh'"* ]]
	if [[ $EUID != 0 ]]; then
		: >secret && chmod 000 secret
		usage_error "'secret'" run -l bash --file secret -c true
	fi
}

@test "files: --out brings new and changed files, no others" {
	echo old >changed
	echo same >kept
	printf '{}' >data.json
	sandbox -l bash --file changed --file kept --file data.json:deep/er/data.json -o '**' --out-dir got -c '
		echo more >>changed; touch -d 2001-01-01 changed; cat kept >/dev/null; mkdir -p new/folder; printf "\0\1\2" >new/folder/blob
		echo "{ }" >deep/er/data.json; : >empty; echo "#!" >exec.sh; chmod 755 exec.sh'
	[[ $(files) == 'changed modified 9 got/changed null
deep/er/data.json modified 4 got/deep/er/data.json null
empty added 0 got/empty null
exec.sh added 3 got/exec.sh null
new/folder/blob added 3 got/new/folder/blob null' ]]
	is order "start file end"
	[[ $(event 'select(.type == "file") | [.mime, .sha256[0:8]]') == '["text/plain","'"$(sha256sum got/changed | head -c 8)"'"]
["application/json","'"$(sha256sum got/deep/er/data.json | head -c 8)"'"]
["text/plain","e3b0c442"]
["text/plain","'"$(sha256sum got/exec.sh | head -c 8)"'"]
["application/octet-stream","ae4b3280"]' ]]
	[[ $(cat got/changed) == $'old\nmore' && ! -e got/kept && ! -e got/main.sh && -x got/exec.sh && ! -x got/empty ]]
	[[ $(od -An -tx1 got/new/folder/blob) == " 00 01 02" && -O got/new/folder ]]
	[[ $(find got -name '.*' -o -name '*llmsbx*') == "" ]]
}

@test "files: the patterns of --out" {
	local make='mkdir -p a/b .h; for f in x.txt y.txt yy.txt z.csv .hid.txt a/x.txt a/b/x.txt a/.h.txt .h/x.txt "[l]" ; do echo 1 >"$f"; done'
	list() {
		sandbox -l bash "$@" --out-dir "got$((++n))" -c "$make"
		event 'select(.type == "file") | .path' -r | jq -r . | paste -sd' '
	}
	local n=0
	[[ $(list -o '*.txt') == "x.txt y.txt yy.txt" ]]
	[[ $(list -o '?.txt' -o '*.csv') == "x.txt y.txt z.csv" ]]
	[[ $(list -o '[xz].*') == "x.txt z.csv" ]]
	[[ $(list -o '**/x.txt') == "a/b/x.txt a/x.txt x.txt" ]]
	[[ $(list -o 'a/*') == "a/x.txt" ]]
	[[ $(list -o '.*') == ".hid.txt" ]]
	[[ $(list -o '**/.*' -o '.h/*') == ".h/x.txt .hid.txt a/.h.txt" ]]
	[[ $(list -o '[[]l]') == "[l]" ]]
	[[ $(list -o 'nothing*') == "" ]]
	usage_error "--out" run -l bash -o '../*' -c true
	usage_error "--out" run -l bash -o '/etc/*' -c true
	usage_error "--out" run -l bash -o '' -c true
	usage_error "--out" run -l bash -o '[x' -c true
}

@test "files: very many patterns" {
	local i
	local -a options=()
	for i in {1..64}; do options+=(-o "f$i"); done
	sandbox -l bash "${options[@]}" --out-dir got -c ': >f1; : >f64'
	[[ $(files) == 'f1 added 0 got/f1 null
f64 added 0 got/f64 null' ]]
	usage_error "--out" run -l bash "${options[@]}" -o one-more -c true
}

@test "files: links, pipes, sockets are reported and never made" {
	needs python3
	echo host-secret >secret
	sandbox -o '**' --out-dir got - <<-END
		import os, socket
		os.symlink("$PWD/secret", "link-out"); os.symlink("/etc/passwd", "passwd"); os.symlink("plain", "link-in")
		os.symlink(".", "loop"); os.symlink("/", "root"); os.mkfifo("pipe"); open("plain", "w").write("p")
		socket.socket(socket.AF_UNIX).bind("sock")
		open("shut", "w").close(); os.chmod("shut", 0)
	END
	[[ $(files | sort) == 'link-in added 5 null symlink
link-out added '"$(printf %s "$PWD/secret" | wc -c)"' null symlink
loop added 1 null symlink
passwd added 11 null symlink
pipe added 0 null pipe
plain added 1 got/plain null
root added 1 null symlink
shut added 0 '* ]]
	[[ $(event 'select(.path == "sock") | .skipped') == '"socket"' ]]
	[[ $(find got -type f | sort) == got/plain || $(find got -type f | sort) == $'got/plain\ngot/shut' ]]
	[[ ! -e got/link-in && ! -L got/link-out && ! -p got/pipe ]]
}

@test "files: a folder that cannot be searched is told of" {
	[[ $("$LLMSBX" run -n -c '') != *"the caller's own id"* ]] || skip "with one id the guest reads all that the program hides"
	sandbox -l bash -o '*/*.txt' --out-dir got -c 'mkdir a b; : >a/1.txt >b/2.txt; chmod 0 a'
	[[ $(files | cut -d" " -f1,2,4,5) == $'a added null unreadable\nb/2.txt added got/b/2.txt null' ]]
	run -0 --separate-stderr llmsbx run -r -l bash -o '*/*.txt' --out-dir got -c 'mkdir a b; : >a/1.txt >b/2.txt; chmod 0 a'
	[[ $stderr == *"llmsbx: did not save 'a': unreadable"* ]]
	sandbox -l bash -o '*.txt' --out-dir got -c 'mkdir a; : >a/1.txt; chmod 0 a'
	[[ -z $(files) ]]
}

@test "files: that nothing matches --out is said" {
	echo old >old.txt
	sandbox -l bash --file old.txt -o '*.txt' --out-dir got -c 'cat old.txt'
	[[ -z $(files) && $(event 'select(.type == "warn") | .code') == '"no_files"' && -z $(find got -type f) ]]
	run -3 --separate-stderr llmsbx run -r -l bash -o '*.txt' --out-dir got -c 'exit 3'
	# Before it may stand what this machine does not hold.
	[[ ${stderr##*$'\n'} == "llmsbx: warning: no new or changed file of the work directory matches --out" ]]
	run -0 --separate-stderr llmsbx run -r -l bash -o '*.txt' --out-dir got -c ': >new.txt'
	[[ $stderr != *--out* ]]
}

@test "files: names of any bytes come out exactly" {
	needs python3
	sandbox -o '**' --out-dir got - <<-'END'
		import os
		for name in [b"\xff\xfe", b"\xff\xfd", b"\\xff\\xfe", b"new\nline", b"-rf", b"--help", b" lead", "日本 ü".encode(), b"$(touch pwn);x",
		             b"quote'\"`", b"tab\t\x01\x7f", b"a" * 255, b"*", b"..."]:
		    with open(name, "wb") as f:
		        f.write(b"<" + name + b">")
		os.makedirs(b"d\xff/d\xfe")
		open(b"d\xff/d\xfe/f", "wb").write(b"<d\xff/d\xfe/f>")
	END
	# Every one has a file of its very name with that name in it, and an event that says it exactly.
	python3 - <<-'END'
		import base64, json, os, hashlib
		seen = set()
		for e in map(json.loads, open("events")):
		    if e["type"] != "file":
		        continue
		    name = base64.b64decode(e["path_base64"]) if "path_base64" in e else e["path"].encode()
		    saved = base64.b64decode(e["saved_as_base64"]) if "saved_as_base64" in e else e["saved_as"].encode()
		    assert saved == b"got/" + name, saved
		    data = open(saved, "rb").read()
		    assert data == b"<" + name + b">", data
		    assert hashlib.sha256(data).hexdigest() == e["sha256"]
		    assert all(c.isprintable() for c in e["path"]) or "path_base64" not in e, e["path"]
		    seen.add(name)
		on_disk = {os.path.relpath(os.path.join(d, f), b"got") for d, _, fs in os.walk(b"got") for f in fs}
		assert seen == on_disk and len(seen) == 14, (seen, on_disk)
	END
	[[ ! -e pwn && ! -e got/pwn ]]
}

@test "files: names of any bytes go in exactly" {
	local name
	local -a options=() names=($'\xff\xfe' $'new\nline' '-n' '--help' '$(touch pwn);x' ' lead' '日本' $'q\'"`\\' '*' '.hidden')
	for name in "${names[@]}"; do
		printf '<%s>' "$name" >"./$name"
		options+=(--file "./$name")
	done
	sandbox -l bash "${options[@]}" -c 'for f in * .hidden; do [ "$f" = main.sh ] || [ "$(cat "./$f")" = "<$f>" ] && echo ok; done; ls -A | wc -l'
	is out "$(printf 'ok\n%.0s' "${names[@]}" main.sh; echo 12)"$'\n'
	[[ ! -e pwn ]]
}

@test "files: 100 MiB in and out, byte for byte, in little memory" {
	flat 100 head -c 104857600 /dev/urandom >big
	cp big big.want
	sandbox --memory 1g --disk 300m -l bash --file big -o 'copy' --out-dir got -c 'sha256sum <big; cp big copy'
	is out "$(sha256sum <big)"$'\n'
	cmp got/copy big
	[[ $(event 'select(.type == "file") | [.size, .sha256]') == '[104857600,"'"$(sha256sum <big | cut -c -64)"'"]' ]]
	(little_memory 64 && "$LLMSBX" run --memory 1g --disk 300m -l bash --file big -o copy --out-dir got2 -c 'mv big copy' >/dev/null)
	cmp got2/copy big
}

@test "files: 1000 in and 1000 out" {
	local i
	local -a options=()
	mkdir in
	for i in {1..1000}; do
		echo "$i" >"in/$i"
		options+=(--file "in/$i")
	done
	sandbox -l bash "${options[@]}" -o 'out/*' --out-dir got -c 'mkdir out; for i in {1..1000}; do read -r x <$i; echo $((x * 2)) >out/$i; done'
	[[ $(event 'select(.type == "file")' | wc -l) == 1000 ]]
	[[ $(cat got/out/* | sort -n | paste -sd+ | bc 2>/dev/null || cat got/out/* | awk '{ s += $1 } END { print s }') == 1001000 ]]
}

@test "files: more than may be brought back is said" {
	sandbox -l bash --disk 128m --timeout 30s -o '**' --out-dir got -c 'mkdir -p $(printf "d/%.0s" {1..40}); : >$(printf "d/%.0s" {1..40})deep; : >top
		for ((i = 0; i < 10010; i++)); do : >$i; done'
	[[ " $warnings " == *" files_left "* && " $warnings " == *" files_too_deep "* ]]
	[[ $(event 'select(.type == "file")' | wc -l) == 10000 && $(find got -type f | wc -l) == 10000 ]]
	is outcome exited
}

@test "files: nothing on the host is followed or overwritten through a link" {
	mkdir -p got elsewhere
	echo untouched >target
	ln -s ../elsewhere got/dir
	ln -s ../target got/file
	echo before >got/plain
	sandbox -l bash -o '**' --out-dir got -c 'mkdir dir; echo x >dir/f; echo new >file; echo after >plain; echo rest >rest'
	is outcome exited
	[[ $(ls elsewhere) == "" && $(<target) == untouched && ! -L got/file && $(<got/file) == new && $(<got/plain) == after ]]
	[[ $(<got/rest) == rest && " $warnings " == *" file_not_saved "* ]]
	[[ $(event 'select(.path == "dir/f") | [.skipped, .saved_as, .sha256]') == '["not_written",null,null]' ]]
}

@test "files: a run that ends badly brings back what it wrote" {
	sandbox -3 -l bash -o '*.txt' --out-dir got -c 'echo part >part.txt; exit 3'
	[[ $(files) == "part.txt added 5 got/part.txt null" ]]
	sandbox -124 -l bash -o '*.txt' --out-dir got2 --timeout 300ms -c 'echo part >part.txt; while :; do :; done'
	is order "start file limit end" outcome timeout
	[[ $(<got2/part.txt) == part ]]
	# What a process in the background still writes does not count: it is gone before files are looked at.
	sandbox -l bash -o '*.txt' --out-dir got3 -c '(while :; do echo x >>grow.txt; done) & until [ -s grow.txt ]; do :; done'
	[[ $(event 'select(.type == "file") | .size') == "$(stat -c %s got3/grow.txt)" ]]
}

@test "files: an --out-dir that cannot be is known before anything runs" {
	: >plain
	sandbox -125 -l bash -o '*' --out-dir plain/below -c 'echo ran'
	is order end outcome failed ran false
	[[ $message == *--out-dir* ]]
	sandbox -l bash -o '*' --out-dir made/on/the/way -c 'echo x >f'
	[[ $(<made/on/the/way/f) == x ]]
	(cd made && sandbox -l bash -o '*' -c 'echo x >here')
	[[ $(<made/here) == x ]]
}

@test "files: nothing half brought back stays when llmsbx is killed" {
	mkdir saved
	start_sandbox -l bash --out big --out-dir saved --memory 1g --disk 400m -c 'head -c 300m /dev/zero >big'
	wait_for 10 bringing_back
	kill -KILL "$pid"
	wait "$pid" || pid=
	[[ $(ls -A saved) == "" ]]
	"$LLMSBX" gc # empty cgroups wait for the next llmsbx
}
bringing_back() { [[ $(ls -l "/proc/$pid/fd") == *"$PWD/saved/"* ]]; }

@test "files: --mount below the work directory" {
	mkdir -m 700 shared
	sandbox -l bash --mount shared:/sandbox/a/data:rw -c 'echo new >a/data/f; cat a/data/f'
	is outcome exited out $'new\n'
	[[ $(<shared/f) == new ]]
}

@test "files: --mount, read-only and for writing" {
	mkdir -m 755 shared
	chmod 755 . ..
	echo data >shared/f && chmod 644 shared/f
	sandbox -l bash --mount "$PWD/shared:/data" --mount shared/f:/one/file:ro -c '
		cat /data/f /one/file; echo x >/data/f || echo "refused"; touch /data/new || echo refused' 2>/dev/null
	is out $'data\ndata\nrefused\nrefused\n'
	[[ $(<shared/f) == data && $(ls shared) == f ]]
	sandbox -l bash --mount shared:/data:rw -c 'echo changed >/data/f; mkdir /data/d; echo new >/data/d/n; ls -ld /data/d | cut -c1; id -u'
	[[ $(<shared/f) == changed && $(<shared/d/n) == new && -O shared/d/n && $out == d$'\n'* ]]
	# A program whose files are the caller's is the caller, unless the mount maps their ids.
	[[ $EUID == 0 || " $degraded " == *" user "* ]]
}

@test "files: --mount refuses what cannot be" {
	needs python3
	mkdir d
	usage_error "/no/such" run -l bash --mount /no/such:/x -c true
	usage_error "--mount" run -l bash --mount d -c true
	usage_error "--mount" run -l bash --mount d:relative -c true
	usage_error "--mount" run -l bash --mount d:/ -c true
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
	sandbox -125 -l bash --mount sock:/x -c true
	is order end outcome failed error usage ran false
	[[ $message == *sock* ]]
	rm sock
	usage_error "'/proc'" run -l bash --mount d:/proc/x -c true
	usage_error "'..'" run -l bash --mount d:/mnt/../etc -c true
	usage_error "'..'" run -l bash --mount d:/mnt/.. -c true
	[[ $(find d) == d ]]
}
