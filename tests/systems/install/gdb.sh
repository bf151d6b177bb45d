#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/install/gdb.sh BUILD
# packaging/gdb/portals3.py prints queues, match lists and peers of a process and of its core file.  BUILD is a folder to
# compile the library with debug information in.  Ends with the line "N passed, N failed, N skipped".
set -u
mkdir -p "${1:?usage: tests/systems/install/gdb.sh BUILD}"
build=$(realpath "$1")
cd "$(dirname "$0")/../../.." || exit 1
stage=$(mktemp -d) || exit 1
process='' requests=''
finish()
{
	[ -z "$requests" ] || exec {requests}>&-
	[ -z "$process" ] || wait "$process"
	rm -rf "$stage"
}
trap finish EXIT
export PTL_IFACE=lo PTL_TRANSPORT=node LD_LIBRARY_PATH=$build
commands=(-ex 'set pagination off' -ex 'source packaging/gdb/portals3.py')

# shellcheck source=tests/ci/tally.sh
. tests/ci/tally.sh
# shellcheck source=tests/systems/install/debug_build.sh
. tests/systems/install/debug_build.sh

compile()
{
	debug_build "$build" &&
		cc -g -Iinclude tests/systems/install/inspected.c -o "$stage/inspected" "-L$build" -lportals3
}

begin() # the process to look at: $process, which ends with what is written to $requests
{
	mkfifo "$stage/input" "$stage/output"
	"$stage/inspected" <"$stage/input" >"$stage/output" 2>"$stage/errors" &
	process=$!
	exec {requests}>"$stage/input"
	read -r pid <"$stage/output"
	[ "$pid" = "$process" ] || { cat "$stage/errors"; return 1; }
}

of_process() # COMMAND
{
	timeout 120 gdb -batch -nx -p "$process" "${commands[@]}" -ex "$1" 2>&1
}

of_core() # COMMAND
{
	timeout 120 gdb -batch -nx "$stage/inspected" "$stage/core" "${commands[@]}" -ex "$1" 2>&1
}

dump()
{
	timeout 120 gdb -batch -nx -p "$process" -ex "generate-core-file $stage/core" && [ -s "$stage/core" ]
}

prints() # of_process|of_core COMMAND PATTERN
{
	local text
	text=$("$1" "$2")
	echo "$text"
	grep -qE "$3" <<<"$text"
}

if ! check "the library compiles with debug information" compile; then
	summary
	exit 1
fi
if ! check "a process waits to be looked at" begin; then
	summary
	exit 1
fi
if ! of_process "info threads" | grep -q Thread; then
	skip "gdb commands" "this machine does not let gdb attach to a process"
	summary
	exit
fi
check "gdb writes a core file" dump
for source in of_process of_core; do
	check "$source: interfaces" prints $source "portals interfaces" '^interface 0: 127\.0\.0\.1:[0-9]+ on lo, mode shared'
	check "$source: an unread event" prints $source "portals queues" \
		'PTL_EVENT_PUT_END from 127\.0\.0\.1:[0-9]+, index 7, bits 0x5150, 5 bytes at 0,'
	check "$source: a match entry" prints $source "portals lists" \
		'match bits 0x0000000000005150, ignore bits 0x000000000000000f, from any:any'
	check "$source: its descriptor" prints $source "portals lists 0" 'md 0x[0-9a-f]{8}: 4096 bytes at .*, active, eq 0x'
	check "$source: a peer" prints $source "portals peers" '127\.0\.0\.1:[0-9]+: ready over node, 0 unanswered'
	check "$source: an interface that is not there" prints $source "portals peers 3" '^no such interface'
	check "$source: wrong usage" prints $source "portals nonsense" '^usage: portals'
done
summary
