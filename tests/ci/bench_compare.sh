#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/ci/bench_compare.sh PTLBENCH
# ptlbench compare runs to its end with the candidates that are there and names those that are missing; its tables can be read by programs.
# No figure is judged here.
set -eu
ptlbench=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PTL_IFACE=lo TMPDIR=$work

complain()
{
	echo "$1" >&2
	cat "$work/out" "$work/err" >&2
	exit 1
}

run() # WHAT COMMAND...: standard output to $work/out
{
	local what=$1
	shift
	timeout 600 "$@" >"$work/out" 2>"$work/err" </dev/null || complain "$what failed"
}

has() # WHAT PATTERN
{
	grep -qE -- "$2" "$work/out" || complain "$1: no line like \"$2\""
}

# EXPRESSION over `it` must be true.  figures() are a column's values; turns during which the cores moved have none.
read_json() # EXPRESSION
{
	command -v python3 >/dev/null || { echo "skipped: no python3 to read JSON"; return 0; }
	python3 -c "
import json, sys
it = json.load(open(sys.argv[1]))
figures = lambda column: [row[column] for row in it['rows'] if row[column]]
sys.exit(not ($1))" "$work/out" || complain "not true of this JSON: $1"
}

# As short as it gets.
quick=(compare --quick --repeat 2 --row-time 20 --timeout 550)

run "compare without compilers" env PATH=/nonexistent "$ptlbench" "${quick[@]}" --rows rate --format csv
has "MPI is named as missing" '^# MPI: missing: cannot be built, mpicc .*no mpicc'
has "UCX is named as missing" '^# UCX: missing: cannot be built, .*libucx-dev.*no cc'
has "ours is measured" '^"rate",8,0,"[a-z]+",'
has "the binding is told" '^# pinning: of every candidate: initiator on CPU [0-9]+, target on CPU [0-9]+'
has "sleepers are watched" '^# bare: CPU time while others measured: [0-9.]+ %'

# Words that mpicc is not, and a compiler that finds no UCX: what a machine without the packages looks like.
mkdir "$work/bin"
printf '#!/bin/sh\necho "no such header: $*" >&2\nexit 1\n' >"$work/bin/cc"
chmod +x "$work/bin/cc"
run "compare with a compiler that refuses" env PATH="$work/bin:/usr/bin:/bin" "$ptlbench" "${quick[@]}" --rows rate --format json
read_json "it['test'] == 'compare' and 'no such header' in it['notes']['UCX']"
read_json "{row['bytes'] for row in it['rows']} == {8} and figures('ours') and figures('bare_lines')"
read_json "not figures('ucx')"

# mpicc may be there without mpi.h: the launch group installs no more than that.  Looked at before, as another group may install it meanwhile.
mpi=no
if echo 'int main(void) { return 0; }' | mpicc -include mpi.h -x c -o "$work/mpi" - >/dev/null 2>&1 && command -v mpirun >/dev/null; then
	mpi=yes
fi
run "compare with the candidates that are here, and another build" "$ptlbench" "${quick[@]}" --rows match-depth,unexpected \
	--against "$ptlbench" --format json
read_json "{row['test'] for row in it['rows']} == {'match-depth', 'unexpected'} and figures('other_build') and figures('to_other')"
if [ $mpi = yes ]; then
	read_json "figures('mpi') and figures('to_peer')"
	if [ -f /usr/include/ucp/api/ucp.h ]; then
		read_json "figures('ucx')"
	else
		echo "skipped: UCX as a candidate (no libucx-dev)"
	fi
else
	echo "skipped: MPI as a candidate (no mpicc, or no mpi.h)"
fi

run "match-depth has its mixes" "$ptlbench" match-depth --quick --row-time 20 --depths 0,50 --format csv
has "a column for each" '^entries_in_front,latency_us,.*wildcards_latency_us,.*prefixes_latency_us,.*different_masks_latency_us'
run "attach" "$ptlbench" attach --quick --depths 100 --format csv
has "a row for each place" '^100,"middle",[0-9.]+,'

[ -z "$(find "$work" -name 'ptlbench-*')" ] || complain "compare left its folder behind"
