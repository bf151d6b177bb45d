#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: same_output.sh MINIMPIRUN PROGRAM SOURCE
# Runs a program of examples/minimpi with 1 to 4 ranks over node and with 2 over ofi:tcp: it must print the same each time, and
# the same as SOURCE compiled by mpicc and started by mpirun, where these are installed.
set -u
minimpirun=$1 program=$2 source=$3
export PTL_IFACE=lo

expected=$(PTL_TRANSPORT=node "$minimpirun" -n 1 --fork "$program") || exit 1
echo "$expected"
compare() # WHAT OUTPUT: lines without the number of ranks
{
	[ "$2" = "$expected" ] && return 0
	echo "$1 printed: $2"
	exit 1
}
case $source in
*/ring.c) sizes=() ;; # its result is its number of ranks
*) sizes=(2 4) ;;
esac
for size in "${sizes[@]}"; do
	compare "node, $size ranks," "$(PTL_TRANSPORT=node "$minimpirun" -n "$size" --fork "$program")"
done
expected=$(PTL_TRANSPORT=node "$minimpirun" -n 2 --fork "$program") || exit 1
compare "ofi:tcp, 2 ranks," "$(PTL_TRANSPORT=ofi:tcp "$minimpirun" -n 2 --fork "$program")"

command -v mpicc >/dev/null && command -v mpirun >/dev/null || exit 0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mpicc -O2 -o "$work/program" "$source" -lm || exit 0 # an MPI that does not compile is no reference
other=$(timeout 60 mpirun --allow-run-as-root --oversubscribe -n 2 "$work/program" 2>/dev/null) || exit 0 # nor one that does not start
compare "another MPI, 2 ranks," "$other"
