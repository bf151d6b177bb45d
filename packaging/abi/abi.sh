#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: packaging/abi/abi.sh check|symbols|renew BUILD
# The binary interface of the library in BUILD, compiled with debug information, against what is recorded beside this script:
# libportals3.abi, structures and functions (libabigail's abidw, x86-64), and libportals3.symbols, the exported names.
#   check     ends with 0 if programs compiled against the record can use the library, and nothing was added to it unrecorded
#   symbols   the same for the names alone, without libabigail
#   renew     writes both files: on purpose only, see docs/abi.md
set -eu
[ $# -eq 2 ] || { sed -n 's/^# usage/usage/p' "$0" >&2; exit 2; }
action=$1 build=$(realpath "$2")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
library=$build/libportals3.so

symbols() # as "NAME VERSION"
{
	nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { sub(/@+/, " ", $3); print $3 }' | LC_ALL=C sort
}

# Only what is installed counts as public: what those headers do not define, programs cannot rely on.
headers()
{
	meson install -C "$build" --no-rebuild --destdir "$work/root" >"$work/log" || { cat "$work/log"; return 1; }
	dirname "$(find "$work/root" -name portals3.h -not -path '*/portals/*' -print -quit)"
}

# What portals3.map exports, as a pattern for a line of symbols().
mapped()
{
	awk '/ \{$/ { version = $1 } /^local:/ { exit } / *;$/ { gsub(/[[:space:];]/, ""); gsub(/\*/, "[^ ]*"); print "^" $0 " " version "$" }' \
		../../portals/portals3.map
}

same_symbols()
{
	grep -v '^#' libportals3.symbols >"$work/recorded"
	if grep -vE -f <(mapped) "$work/recorded"; then
		echo "is recorded, and portals3.map does not export it"
		return 1
	fi
	symbols | diff -u --label recorded "$work/recorded" --label "of the library" -
}

case $action in
symbols)
	same_symbols
	;;
check)
	same_symbols
	abidiff --suppressions suppressions.abignore libportals3.abi "$library"
	;;
renew)
	{
		echo "# SPDX-License-Identifier: BSD-3-Clause"
		symbols
	} >libportals3.symbols
	abidw --headers-dir "$(headers)" --drop-private-types --exported-interfaces-only --no-corpus-path --no-comp-dir-path \
		--no-show-locs --type-id-style hash --out-file "$work/abi" "$library"
	# Where the sources lay beside the build is left out.
	sed -E -e '1a <!-- SPDX-License-Identifier: BSD-3-Clause -->' \
		-e "s,(path=')[^']*/(base|transports|offload|portals)/,\\1\\2/," "$work/abi" >libportals3.abi
	;;
*)
	echo "unknown action $action" >&2
	exit 2
	;;
esac
