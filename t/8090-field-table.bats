#!/usr/bin/env bats
# data/field-cases.tsv says the truth: every fault of these classes is in it, and each test that it names is there and is run.
# shellcheck disable=SC2154 # what bats sets
load lib/common

# Nothing is started here that could be left.
teardown() { cd /; }

table() { grep -v '^#' "$SBX_SRCDIR/t/data/field-cases.tsv"; }

@test "field: the table has every id of its classes, in order, with its class" {
	local class first last
	while read -r class first last; do
		seq -f "FC-%03g $class" "$first" "$last"
	done >want <<-'END'
		A 1 10
		B 11 22
		C 23 28
		D 29 43
		E 44 47
		G 62 74
		I 81 86
		J 87 95
		K 96 107
		T 179 192
	END
	table | cut -f1,2 --output-delimiter=' ' | uniq >have
	diff want have
	[[ $(table | awk -F'\t' 'NF != 4 || $3 == "" || $4 == ""') == "" ]]
	[[ $(table | sort | uniq -d) == "" ]]
}

@test "field: the tests that the table names are there, and are run" {
	local file name
	while IFS=$'\t' read -r _ _ file name; do
		case $file in
		-) continue ;;
		unit/*) grep -qxF "TEST($name)" "$SBX_SRCDIR/t/$file" || fail "no test '$name' in t/$file" ;;
		*) grep -qxF "@test \"$name\" {" "$SBX_SRCDIR/t/$file" || fail "no test '$name' in t/$file" ;;
		esac
		grep -qF "t/${file%.c}" "$SBX_SRCDIR/Makefile.am" || fail "t/$file is not in Makefile.am"
	done < <(table)
}

@test "field: the tests that name an id are in the table under it" {
	local file name id
	while IFS=: read -r file name; do
		name=${name#*\"} && name=${name%\"*}
		while read -r id; do
			printf '%s\t%s\t%s\n' "$id" "${file##*/}" "$name"
		done < <(grep -o 'FC-[0-9]*' <<<"$name")
	done < <(grep -H '^@test ".*FC-' "$SBX_SRCDIR"/t/*.bats) | sort >named
	[[ $(comm -23 named <(table | cut -f1,3,4 | sort)) == "" ]]
}
