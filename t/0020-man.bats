#!/usr/bin/env bats
# The manual: equal to the options, complete as a contract, and its examples work.

load lib/common

pages() { find "$SBX_SRCDIR/man" -name '*.[1-8]' | sort; }

@test "each command's page has its options, in their order, and no other" {
	run -0 "$SBX_SRCDIR/scripts/check-man" "$LLMSBX"
	[[ -z $output ]]
}

@test "the pages are clean mdoc" {
	needs mandoc
	local page
	for page in $(pages); do
		run mandoc -T lint -W warning "$page"
		[[ -z $output ]] || fail "$output"
	done
}

# The names of rows like SBX_OUTCOME(SYM, "name").
names_of() { sed -n 's/^SBX_[A-Z]*([A-Z_]*, "\([a-z_]*\)".*/\1/p' "$SBX_SRCDIR/$1"; }

@test "llmsbx-events(5) has every outcome, control and error code" {
	local name page=$SBX_SRCDIR/man/llmsbx-events.5
	for name in $(names_of lib/event/outcome.def) $(names_of lib/event/control.def); do
		grep -q "^\.It Cm $name$" "$page" || fail "$name is not in llmsbx-events.5"
	done
	for name in $(names_of lib/base/errcode.def); do
		[[ $name == ok ]] || grep -q "^\.It Cm $name$" "$page" || fail "no code $name"
	done
}

@test "llmsbx-events(5) has every event and every field of a run" {
	local page=$SBX_SRCDIR/man/llmsbx-events.5 word
	run -0 --separate-stderr llmsbx run -l bash -c 'echo 1; echo 2 >&2; touch f' --out f
	run -0 --separate-stderr llmsbx run -l bash --out f -c 'echo 1; echo 2 >&2; touch f'
	for word in $(events .type | sort -u); do
		grep -q "^\.Ss.* *$word,*\( \|$\)\|^\.Ss $word" "$page" || fail "no event $word"
	done
	for word in $(events '[paths | map(strings)[-1]] | .[] | strings' | sort -u); do
		grep -qw "$word" "$page" || fail "$word is not in llmsbx-events.5"
	done
}

@test "llmsbx-config(5) has every setting" {
	local name page=$SBX_SRCDIR/man/llmsbx-config.5
	while read -r name; do
		echo "{\"${name//-/_}\": {}}" >config.json
		grep -q "^\.Cm ${name//-/_}$" "$page" && expected=yes || expected=no
		echo "{\"${name//-/_}\": \"\"}" >config.json
		run llmsbx check --config config.json
		[[ $output == *"there is no setting"* ]] && is=no || is=yes
		[[ $is == "$expected" ]] || fail "$name: a setting: $is, in llmsbx-config.5: $expected"
	done < <("$LLMSBX" help --dump | awk -F'\t' '$1 == "run" && $2 { sub(/^--/, "", $2);
		sub(/,.*/, "", $2); print $2 }')
}

# Lines behind "$ " up to the end of the block or the next one, as mandoc shows them.
examples_of() {
	awk '/^\.Sh/ { on = $2 == "EXAMPLES" } /^\.Bd/ { block = 1; next } /^\.Ed/ { block = 0 }
		on && block' "$1" | sed 's/\\e/\\/g' |
		awk '/^\$ / { if (text) print text; text = substr($0, 3); next }
			text { text = text " " $0 } END { if (text) print text }'
}

@test "the examples work" {
	needs python3 jq
	local page line n=0
	mkdir bin
	ln -s "$LLMSBX" bin/llmsbx
	export LLMSBX_SHARE=$SBX_SHARE
	for page in $(pages); do
		while read -r line; do
			PATH=$PWD/bin:$PATH run -0 bash -o pipefail -c "$line" </dev/null
			n=$((n + 1))
		done < <(examples_of "$page")
	done
	((n > 20)) || fail "only $n examples were found"
}
