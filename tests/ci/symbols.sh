#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/ci/symbols.sh LIBRARY HEADER...
# A shared library exports Ptl*, ptl_*, p3_out and p3tcp_my_nid, and nothing else; every function the headers declare is
# among them.
set -eu
library=$1
shift
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
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
exit $status
