#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: two_namespaces.sh [--like MINIMPIRUN] PROGRAM...
# Runs each program of MPI as two ranks over ofi:tcp, each rank in a network namespace of its own; with --like it must print what
# it prints as two ranks that MINIMPIRUN starts here, over node.  Namespaces need root and ip: otherwise it is skipped (exit status
# 77).
set -eu
minimpirun=""
if [ "$1" = --like ]; then
	minimpirun=$2
	shift 2
fi

skip() # REASON
{
	echo "skip: $1"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "network namespaces, which only root can make"
command -v ip >/dev/null || skip "no ip to make network namespaces with"

name=mpi$$
remove()
{
	ip netns delete "$name-0" 2>/dev/null || :
	ip netns delete "$name-1" 2>/dev/null || :
}
trap remove EXIT
ip netns add "$name-0" || skip "no network namespaces here"
ip netns add "$name-1"
ip link add "$name" netns "$name-0" type veth peer name "$name" netns "$name-1" || skip "no pair of devices here"
for rank in 0 1; do
	ip -n "$name-$rank" address add 10.77.0.$((rank + 1))/24 dev "$name"
	ip -n "$name-$rank" link set lo up
	ip -n "$name-$rank" link set "$name" up
done

# nids are IPv4 addresses as numbers; pids are free in namespaces that were made just now.
nids=$(((10 << 24) + (77 << 16) + 1)):$(((10 << 24) + (77 << 16) + 2))
start() # RANK PROGRAM
{
	exec ip netns exec "$name-$1" env PTL_TRANSPORT=ofi:tcp PTL_IFACE="$name" PTL_MY_RID="$1" PTL_NIDMAP="$nids" PTL_PIDMAP=4301:4302 "$2"
}
run() # PROGRAM
{
	local other status=0
	(start 1 "$1") &
	other=$!
	(start 0 "$1") || status=$?
	[ $status -eq 0 ] || kill $other 2>/dev/null || :
	wait $other || status=$?
	[ $status -eq 0 ] || echo "$1: status $status"
	return $status
}

for program; do
	if [ -z "$minimpirun" ]; then
		run "$program"
		continue
	fi
	printed=$(run "$program") || { echo "$printed"; exit 1; }
	expected=$(PTL_TRANSPORT=node "$minimpirun" -n 2 --fork "$program")
	[ "$printed" = "$expected" ] || { echo "$program printed: $printed"; echo "expected: $expected"; exit 1; }
done
