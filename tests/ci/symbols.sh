#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/ci/symbols.sh LIBRARY BUILD HEADER...
# A shared library exports Ptl*, ptl_*, p3_out and p3tcp_my_nid, and nothing else; every function the headers declare is
# among them.  No program and no layer of bench/ and examples/ in BUILD defines an external name that the library exports, which
# would take the library's place in it, or one of that form, which the library may export some day.
set -eu
library=$1 build=$2
shift 2
names() # NM-ARGUMENT...: NAME and what defines it
{
	nm -A --defined-only "$@" 2>/dev/null | awk '$2 != "A" { sub(/@.*/, "", $3); sub(/:[0-9a-f]*$/, "", $1); print $3, $1 }'
}
exported=$(names -D "$library" | cut -d ' ' -f 1 | sort -u)
declared=$(grep -hv '^#define' "$@" | grep -oE '\bPtl[A-Z][A-Za-z]*\(' | tr -d '(' | sort -u)
if [ -z "$exported" ] || [ -z "$declared" ]; then
	echo "nothing to compare in $library and $*"
	exit 1
fi

status=0
for name in $exported; do
	case $name in
	Ptl* | ptl_* | p3_out | p3tcp_my_nid) ;;
	*) echo "$library exports $name"; status=1 ;;
	esac
done
for name in $declared; do
	grep -qx "$name" <<<"$exported" || { echo "$library does not export $name"; status=1; }
done

objects=()
for folder in bench examples; do
	[ ! -d "$build/$folder" ] || mapfile -t -O ${#objects[@]} objects < <(find "$build/$folder" -name '*.o')
done
while read -r name object; do
	case $name in
	Ptl* | ptl_* | p3_out | p3tcp_my_nid) ;;
	*) continue ;;
	esac
	echo "$object defines $name, a name of the library"
	status=1
done < <([ ${#objects[@]} -eq 0 ] || names -g "${objects[@]}")
exit $status
