#!/usr/bin/env bats
# Every language that is there reads its input, takes an argument, writes a file, and ends with a status of its own; what does not
# compile, and what is not installed, is said.
# shellcheck disable=SC2016,SC2154 # programs in single quotes; what sandbox of lib/conform sets
load lib/common
load lib/conform

# speaks FILE CODE [OPTION...]: CODE, in FILE, reads a line of input, takes an argument, writes a file, ends with 7.
speaks() {
	local file=$1
	printf '%s' "$2" >"$file"
	shift 2
	sandbox -7 --timeout 50s "$@" -o out.txt --out-dir got "$file" 'an argument' <<<'wörld'
	is out $'hello wörld an argument\n' err $'to stderr\n' outcome exited exit_code 7 ran true
	[[ $order == "start output file end" || $order == "start progress output file end" ]]
	[[ $(<got/out.txt) == 'written 42' && $(event 'select(.type == "file") | .path') == '"out.txt"' ]]
	# What a compiler leaves is no output of the program.
	[[ $(event 'select(.type == "file")' | wc -l) == 1 ]]
}

# does_not_compile LANG CODE WORDS
does_not_compile() {
	local got=0
	"$LLMSBX" run --format jsonl --timeout 50s -l "$1" -c "$2" >events || got=$?
	judge events
	is outcome compile_failed ran false exit_code "$got" signal null order "start output end"
	[[ $got != 0 && $out$err == *"$3"* ]]
}

# is_wrong LANG CODE: an interpreter that refuses is a program that ended.
is_wrong() {
	local got=0
	"$LLMSBX" run --format jsonl --timeout 50s -l "$1" -c "$2" >events || got=$?
	judge events
	is outcome exited ran true exit_code "$got" out ""
	[[ $got != 0 && $err ]]
}

@test "language: python" {
	needs python3
	speaks prog.py 'import sys
name = input()
print("hello", name, sys.argv[1])
print("to stderr", file=sys.stderr)
open("out.txt", "w").write("written %d\n" % (6 * 7))
sys.exit(7)
'
	is_wrong python 'print('
	# Modules that are named like the code would be must not be hidden by it.
	sandbox -c 'import code, token, select; print("ok")'
	is out $'ok\n'
}

@test "language: javascript" {
	needs node
	speaks prog.js 'const fs = require("fs");
const name = fs.readFileSync(0, "utf8").trim();
console.log("hello", name, process.argv[2]);
console.error("to stderr");
fs.writeFileSync("out.txt", `written ${6 * 7}\n`);
process.exit(7);
'
	speaks prog.mjs 'import fs from "fs";
const name = fs.readFileSync(0, "utf8").trim();
console.log("hello", name, process.argv[2]);
console.error("to stderr");
fs.writeFileSync("out.txt", `written ${6 * 7}\n`);
process.exitCode = 7;
'
	is_wrong javascript 'console.log('
}

@test "language: typescript" {
	needs node
	[[ $("$LLMSBX" lang list) =~ typescript\ +ready ]] || skip_or_fail "no TypeScript compiler"
	speaks prog.ts 'import * as fs from "fs";
const name: string = fs.readFileSync(0, "utf8").trim();
interface Greeting { word: string }
const g: Greeting = { word: "hello" };
console.log(g.word, name, process.argv[2]);
console.error("to stderr");
fs.writeFileSync("out.txt", `written ${6 * 7}\n`);
process.exit(7);
'
	local got=0
	"$LLMSBX" run --format jsonl --timeout 50s -l typescript -c 'const x: = 1;' >events || got=$?
	judge events
	[[ $got != 0 && ( $outcome == compile_failed || $outcome == exited ) && $out$err ]]
}

@test "language: java" {
	needs javac java
	speaks Prog.java 'import java.nio.file.*;
import java.util.Scanner;

public class Prog {
	record Answer(int value) {}

	public static void main(String[] args) throws Exception {
		Scanner in = new Scanner(System.in, "UTF-8");
		System.out.println("hello " + in.nextLine() + " " + args[0]);
		System.err.println("to stderr");
		Files.writeString(Path.of("out.txt"), "written " + new Answer(6 * 7).value() + "\n");
		System.exit(7);
	}
}
'
	does_not_compile java 'public class Main { int x = "text"; }' 'incompatible types'
}

@test "language: c" {
	needs gcc
	speaks prog.c '#include <math.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	char name[64];
	FILE *f = fopen("out.txt", "w");

	if (!f || argc < 2 || scanf("%63s", name) != 1)
		return 1;
	printf("hello %s %s\n", name, argv[1]);
	fputs("to stderr\n", stderr);
	fprintf(f, "written %.0f\n", sqrt(42 * 42));
	return fclose(f) ? 2 : 7;
}
'
	does_not_compile c 'int main(void) { return x; }' "undeclared"
}

@test "language: c++" {
	needs g++
	speaks prog.cpp '#include <fstream>
#include <iostream>
#include <string>

int main(int, char **argv)
{
	std::string name;
	std::getline(std::cin, name);
	std::cout << "hello " << name << " " << argv[1] << std::endl;
	std::cerr << "to stderr\n";
	std::ofstream("out.txt") << "written " << 6 * 7 << "\n";
	return 7;
}
'
	does_not_compile cpp 'int main() { return x; }' "not declared"
}

@test "language: go" {
	needs go
	speaks prog.go 'package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	fmt.Println("hello", in.Text(), os.Args[1])
	fmt.Fprintln(os.Stderr, "to stderr")
	os.WriteFile("out.txt", []byte(fmt.Sprintf("written %d\n", 6*7)), 0644)
	os.Exit(7)
}
' --memory 1g --cpus none
	# What go finds before it compiles its own library.
	does_not_compile go 'package main
func main( {' 'syntax error'
}

@test "language: r" {
	needs Rscript
	speaks prog.R 'args <- commandArgs(trailingOnly = TRUE)
name <- readLines(file("stdin"), n = 1)
cat("hello", name, args[1])
cat("\n")
message("to stderr")
cat("written", 6 * 7, "\n", file = "out.txt", sep = c(" ", ""))
quit(status = 7)
'
	is_wrong r 'print('
}

@test "language: ruby" {
	needs ruby
	speaks prog.rb 'name = $stdin.gets.chomp
puts "hello #{name} #{ARGV[0]}"
warn "to stderr"
File.write("out.txt", "written #{6 * 7}\n")
exit 7
'
	is_wrong ruby 'puts('
}

@test "language: bash" {
	speaks prog.sh 'read -r name
echo "hello $name $1"
echo "to stderr" >&2
echo "written $((6 * 7))" >out.txt
exit 7
'
	is_wrong bash 'echo ('
}

@test "language: the test of each language file passes" {
	local ready
	ready=$("$LLMSBX" lang list --format jsonl | jq -r 'select(.ready) | .name')
	[[ ${SBX_TEST_STRICT-} != 1 || $(wc -w <<<"$ready") -ge 10 ]] || fail "only these are ready: $ready"
	jq -c --arg ready "$ready" 'select(.name | IN($ready | split("\n")[])) |
		{id: .name, lang: .name, code: .selftest.code, stdin: .selftest.stdin, timeout: "50s", memory: "1g"}' \
		"$SBX_SHARE"/languages/*.json >jobs.jsonl
	run_jobs --jobs jobs.jsonl
	local name
	for name in $ready; do
		job "$name"
		is outcome exited exit_code 0 out "$(jq -r .selftest.stdout "$SBX_SHARE/languages/$name.json")"$'\n'
	done
}

@test "language: what is not installed is 127, and names the package" {
	local name package
	mkdir -p share/languages
	cp -r "$SBX_SHARE"/. share
	for name in "$SBX_SHARE"/languages/*.json; do
		jq '.variants[].needs[].program |= "missing-" + .' "$name" >"share/languages/${name##*/}"
	done
	export LLMSBX_SHARE=$PWD/share
	for name in "$SBX_SHARE"/languages/*.json; do
		package=$(jq -r '.variants[0].needs[0] | .debian // "missing-" + .program' "$name")
		name=${name##*/} name=${name%.json}
		sandbox -127 -l "$name" -c ''
		is order end outcome failed error not_found phase prepare ran false
		[[ $message == *"'missing-"* && $message == *"$package"* ]]
	done
}
