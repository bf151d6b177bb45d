#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: packaging/static_library.sh OBJECTS.a MAP OBJCOPY AR OUTPUT.a COMPILER...
# The static library as users link it: one object of all, in which only what MAP exports is global.  A program may
# have a function of the name of one of ours.
set -eu
objects=$1 map=$2 objcopy=$3 ar=$4 output=$5
shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -n '/^global:/,/^local:/s/^[[:space:]]*\(.*\);$/\1/p' "$map" >"$work/exported"
"$@" -r -nostdlib -Wl,--whole-archive "$objects" -Wl,--no-whole-archive -o "$work/portals3.o"
"$objcopy" --wildcard --keep-global-symbols="$work/exported" "$work/portals3.o"
rm -f "$output"
"$ar" rcs "$output" "$work/portals3.o"
