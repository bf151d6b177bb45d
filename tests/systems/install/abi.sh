#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/install/abi.sh BUILD
# The binary interface is the recorded one (packaging/abi).  BUILD is a folder to compile the library with debug
# information in.  Ends with the line "N passed, N failed, N skipped".
set -u
mkdir -p "${1:?usage: tests/systems/install/abi.sh BUILD}"
build=$(realpath "$1")
cd "$(dirname "$0")/../../.." || exit 1
stage=$(mktemp -d) || exit 1
trap 'rm -rf "$stage"' EXIT

# shellcheck source=tests/ci/tally.sh
. tests/ci/tally.sh
# shellcheck source=tests/systems/install/debug_build.sh
. tests/systems/install/debug_build.sh

# The comparison must be able to find something: with a symbol less, and with a structure of another size, in the record.
finds() # FILE EXPRESSION ACTION
{
	mkdir -p "$stage/sources/packaging" "$stage/sources/portals"
	cp -r packaging/abi "$stage/sources/packaging/"
	cp portals/portals3.map "$stage/sources/portals/"
	sed -i "$2" "$stage/sources/packaging/abi/$1"
	! cmp -s "packaging/abi/$1" "$stage/sources/packaging/abi/$1" && ! "$stage/sources/packaging/abi/abi.sh" "$3" "$build"
}

if ! check "the library compiles with debug information" debug_build "$build"; then
	summary
	exit 1
fi
check "exported names are the recorded ones, and portals3.map has them" packaging/abi/abi.sh symbols "$build"
check "a name that is not recorded is found" finds libportals3.symbols '/^PtlPut /d' symbols
if ! command -v abidiff >/dev/null; then
	skip "functions and structures" "no abidiff on this machine"
elif [ "$(uname -m)" != x86_64 ]; then
	skip "functions and structures" "the record is of x86-64"
else
	check "functions and structures are the recorded ones" packaging/abi/abi.sh check "$build"
	check "a structure of another size is found" finds libportals3.abi \
		"/class-decl name='ptl_event_t'/s/size-in-bits='[0-9]*'/size-in-bits='64'/" check
fi
summary
