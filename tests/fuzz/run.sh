#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/fuzz/run.sh DIRECTORY SECONDS
# Builds the targets and their seeds in DIRECTORY, fuzzes each for so long, and leaves there the corpora and any input that
# broke something.
set -eu
directory=$1 seconds=$2
cd "$(dirname "$0")/../.."
mkdir -p "$directory/seeds" "$directory/corpus" "$directory/corpus_node"
rm -f "$directory"/seeds/* "$directory"/broke-*

flags=(-std=gnu11 -g -O1 -Wall -Wextra -Werror -I. -Iinclude "-fsanitize=address,undefined" -fno-sanitize-recover=all)
clang "${flags[@]}" -o "$directory/wire_seeds" tests/fuzz/wire_seeds.c offload/wire.c
clang "${flags[@]}" -fsanitize=fuzzer -o "$directory/fuzz_wire" tests/fuzz/fuzz_wire.c offload/wire.c
clang "${flags[@]}" -D_GNU_SOURCE -fsanitize=fuzzer -o "$directory/fuzz_node" tests/fuzz/fuzz_node.c transports/node.c \
	transports/node_{copy,copy_life,expose,pull,queue,split}.c

"$directory/wire_seeds" "$directory/seeds"
# 6300 bytes: a little more than the longest header with the most segments.
"$directory/fuzz_wire" -max_total_time="$seconds" -max_len=6300 -timeout=5 -print_final_stats=1 \
	-artifact_prefix="$directory/broke-" "$directory/corpus" "$directory/seeds"
# Some hundred steps of a few bytes each.
"$directory/fuzz_node" -max_total_time="$seconds" -max_len=3000 -timeout=5 -print_final_stats=1 \
	-artifact_prefix="$directory/broke-node-" "$directory/corpus_node"
