#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/fuzz/run.sh DIRECTORY SECONDS [TARGET...]
# Builds the targets in DIRECTORY, fuzzes each for so long, as many at a time as there are processors, and leaves there
# the corpora, the logs and any input that broke something.  Ends with the line "N passed, N failed, N skipped".
set -eu
directory=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- wire node control shm settings tuning engine
cd "$(dirname "$0")/../.."
mkdir -p "$directory"
rm -f "$directory"/broke-*

flags=(-std=gnu11 -D_GNU_SOURCE '-DPORTALS_VERSION="fuzz"' -g1 -O1 -Wall -Wextra -Werror -I. -Iinclude -Iinclude/compat "-fsanitize=address,undefined" -fno-sanitize-recover=all)

# What a target is linked with besides tests/fuzz/fuzz_TARGET.c, and the length of its longest input.
sources_of() # TARGET
{
	case $1 in
	wire) echo offload/wire.c ;;
	node) echo base/{private_file,robust}.c transports/memory.c transports/node/node.c transports/tuning{,_cpu,_limit,_text}.c transports/node/node_{choice,copy,copy_life,expose,list,memory,number,peers,place,process,pull,queue,read,renew,split,tuning,voucher}.c ;;
	control) echo transports/control.c transports/node/node_{memory,name,number,segment,voucher}.c ;;
	shm) echo transports/control.c transports/ofi/ofi_{address,forget,shm_page,table}.c ;;
	settings) echo base/{report,settings}.c ;;
	tuning) echo base/{private_file,report}.c transports/tuning{,_cpu,_limit,_text}.c ;;
	engine) echo base/*.c portals/*.c portals/runtime/*.c offload/*.c offload/peer/*.c transports/*.c transports/*/*.c tests/support/scripted.c -ldl -lpthread \
		-Wl,--wrap=transport_ofi,--wrap=transport_self,--wrap=clock_gettime,--wrap=getrandom ;;
	esac
}

longest_of() # TARGET
{
	case $1 in
	wire) echo 6300 ;; # a little more than the longest header with the most segments
	node) echo 3000 ;; # some hundred steps of a few bytes each
	control | shm) echo 1000 ;;
	settings) echo 600 ;;
	tuning) echo 2000 ;; # a row of each class, and as much again
	engine) echo 4000 ;;
	esac
}

build() # TARGET
{
	local sources
	read -ra sources <<<"$(sources_of "$1")"
	clang "${flags[@]}" -fsanitize=fuzzer -o "$directory/fuzz_$1" "tests/fuzz/fuzz_$1.c" "${sources[@]}"
}

run() # TARGET
{
	local log=$directory/fuzz_$1.txt corpora=("$directory/corpus_$1") words=()
	mkdir -p "$directory/corpus_$1"
	if [ "$1" = wire ]; then
		mkdir -p "$directory/seeds"
		rm -f "$directory"/seeds/*
		clang "${flags[@]}" -o "$directory/wire_seeds" tests/fuzz/wire_seeds.c offload/wire.c
		"$directory/wire_seeds" "$directory/seeds"
		corpora+=("$directory/seeds")
	fi
	[ ! -f "tests/fuzz/$1.dict" ] || words=("-dict=tests/fuzz/$1.dict")
	if "$directory/fuzz_$1" "${words[@]}" -max_total_time="$seconds" -max_len="$(longest_of "$1")" -timeout=25 -rss_limit_mb=4096 \
		-print_final_stats=1 -artifact_prefix="$directory/broke-$1-" "${corpora[@]}" >"$log" 2>&1; then
		echo "ok   fuzz $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s"
	else
		tail -n 60 "$log"
		echo "FAIL fuzz $1: see $log"
	fi
}

for target in "$@"; do
	build "$target"
done
: >"$directory/results.txt"
for target in "$@"; do
	[ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n
	run "$target" >>"$directory/results.txt" &
done
wait
cat "$directory/results.txt"
passed=$(grep -c '^ok ' "$directory/results.txt" || true)
echo "$passed passed, $(($# - passed)) failed, 0 skipped"
[ "$passed" -eq $# ]
