#!/usr/bin/env bats
# Faults that people reported of tools of this kind: names of files and paths (class K of data/field-cases.tsv).
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

@test "field: FC-097: quotes and commands in the names of folders and files" {
	echo x >f
	local name="a'b; id >$PWD/pwn; '/\$(touch $PWD/pwn)/\`touch pwn\`&&\"|"
	sandbox -l bash --file "f:${name//:/}" -o '**' --out-dir "o'ut; \$(id)" -c 'f=$(find . -name "*touch pwn*" -type f); cat "$f"; echo more >>"$f"'
	is out $'x\n'
	[[ $(<"o'ut; \$(id)/$name") == $'x\nmore' && ! -e pwn ]]
	sandbox -l bash --workdir "/w'o; \$(touch pwn)/\"d" -c 'pwd; ls'
	is out "/w'o; \$(touch pwn)/\"d"$'\nmain.sh\n'
	cp f "f'; \$(touch pwn).sh" && echo 'echo "$0"' >"f'; \$(touch pwn).sh"
	sandbox "f'; \$(touch pwn).sh"
	is out "f'; \$(touch pwn).sh"$'\n'
	[[ ! -e pwn ]]
}

@test "field: FC-098 FC-099: names beyond ASCII, whatever the caller's locale" {
	local locale name='café 日本.txt'
	echo content >"$name"
	for locale in C POSIX de_DE@euro en_US.ISO-8859-1 ja_JP.eucJP; do
		rm -rf got
		(export LC_ALL=$locale LANG=$locale LANGUAGE=$locale && exec "$LLMSBX" run --format jsonl --file "$name" -o 'caf*.txt' \
			-o 'neu*' --out-dir got -l bash -c 'cat caf*; echo more >>"café 日本.txt"; echo ü >"neu ü"' >events 2>diagnostics)
		[[ $(<diagnostics) == "" ]]
		judge events
		is outcome exited out $'content\n' warnings ""
		[[ $(event 'select(.type == "file") | "\(.path)=\(.saved_as)"' -r | jq -r .) == $'café 日本.txt=got/café 日本.txt\nneu ü=got/neu ü' ]]
		[[ $(<"got/$name") == $'content\nmore' && $(<"got/neu ü") == ü ]]
	done
}

@test "field: FC-100: the name of the code's file hides no module" {
	needs python3
	sandbox <<<$'import code, token, select, string, types, io, runpy, site\nprint("ok")'
	is out $'ok\n'
	sandbox -c 'import code, token, select; print("ok")'
	is out $'ok\n'
	printf 'import code, token, select\nprint("ok")\n' >script.txt
	sandbox -l python script.txt
	is out $'ok\n'
}

@test "field: FC-101: the work directory, however it is written" {
	local folder
	echo in >f
	for folder in /sandbox/ /sandbox/./a/.. //sandbox/. /work/x/../y/ /work/../sandbox; do
		rm -rf got
		sandbox -l bash --workdir "$folder" --file f:d/f -o 'd/*' --out-dir got -c 'cat d/f; echo out >>d/f; ls; [ "$PWD" = "$HOME" ] && [ -f "$PWD/$0" ] && pwd'
		is out $'in\nd\nmain.sh\n'"$(realpath -m "$folder")"$'\n'
		[[ $(<got/d/f) == $'in\nout' ]]
	done
}

@test "field: FC-102: a slash behind a file, a file that is not there" {
	echo x >f
	usage_error "'f/'" run -l bash --file f/ -c true
	usage_error "'f/g'" run -l bash --file f/g -c true
	usage_error "'nope'" run -l bash --file nope:x -c true
	sandbox -127 nope/f.sh
	is order end outcome failed error not_found
	usage_error "f/" run -l bash --mount f/:/x -c true
	sandbox -125 f/
	is order end outcome failed ran false
}

@test "field: FC-106: names of ours are checked before anything is made of them" {
	local name
	for name in '../x y' /etc/passwd 'python/../python' '' 'a b' $'a\nb'; do
		printf '{"lang":%s,"code":"echo ran"}\n' "$(jq -Rs . < <(printf %s "$name"))" >job
		run -125 --separate-stderr "$LLMSBX" run --jobs job
		[[ $(the_end .outcome) == failed && $(the_end .ran) == false ]]
		[[ $name == "" ]] || sandbox -127 -l "$name" -c 'echo ran'
		[[ $name == "" ]] || is order end outcome failed error not_found
	done
	# An id is the caller's, and nothing but an id.
	for name in '../x y' "$PWD/x" '$(touch pwn)' -n $'a\nb'; do
		jq -cn --arg id "$name" '{id: $id, lang: "bash", code: "echo ran"}' >job
		sandbox --jobs job
		is out $'ran\n'
		[[ $(event .id | sort -u) == "$(jq -c .id job)" ]]
	done
	[[ $(ls -I 'separate-stderr-*') == $'diagnostics\nevents\nhome\njob' && ! -e '../x y' ]]
}
