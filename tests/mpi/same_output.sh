#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: same_output.sh MINIMPIRUN PROGRAM SOURCE
# Runs a program of examples/minimpi with 1, 2 and 4 ranks over node and with 2 and 4 over ofi:tcp: it must succeed and print the same
# each time, and the same as SOURCE compiled by mpicc and started by mpirun with 2 and 4 ranks.  Where these are not installed
# or do not work the comparison with them is skipped (exit status 77), after all others.
set -u
minimpirun=$1 program=$2 source=$3
export PTL_IFACE=lo

run() # TRANSPORT RANKS
{
	PTL_TRANSPORT=$1 "$minimpirun" -n "$2" --fork "$program" && return 0
	echo "$1, $2 ranks: exit status $?" >&2
	return 1
}

compare() # WHAT OUTPUT EXPECTED
{
	[ "$2" = "$3" ] && return 0
	echo "$1 printed: $2"
	echo "expected: $3"
	exit 1
}

skip() # REASON
{
	echo "skip comparison with another MPI: $1"
	echo "1 passed, 0 failed, 1 skipped"
	exit 77
}

one=$(run node 1) || exit 1
two=$(run node 2) || exit 1
four=$(run node 4) || exit 1
two_tcp=$(run ofi:tcp 2) || exit 1
four_tcp=$(run ofi:tcp 4) || exit 1
echo "$two"
compare "ofi:tcp, 2 ranks," "$two_tcp" "$two"
compare "ofi:tcp, 4 ranks," "$four_tcp" "$four"
case $source in
*/ring.c) ;; # its result is its number of ranks
*)
	compare "node, 2 ranks," "$two" "$one"
	compare "node, 4 ranks," "$four" "$one"
	;;
esac

if ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; then skip "no mpicc or no mpirun"; fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mpicc -O2 -o "$work/program" "$source" -lm || skip "mpicc does not compile" # it may be there without mpi.h
for ranks in 2 4; do
	other=$(timeout 60 mpirun --allow-run-as-root --oversubscribe -n $ranks "$work/program" 2>"$work/errors") ||
		skip "mpirun does not start $ranks ranks: $(tail -n 1 "$work/errors")"
	if [ $ranks -eq 2 ]; then expected=$two; else expected=$four; fi
	compare "another MPI, $ranks ranks," "$other" "$expected"
done
echo "2 passed, 0 failed, 0 skipped"
