#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/rxe/run.sh [BUILD [SCRATCH [rdma|suite|numa]]]
# The library of a compiled BUILD on machines that this one is not, in QEMU guests.  rdma: RDMA without hardware, over
# ofi:verbs on soft-RoCE devices, two processes in one guest, and two guests on a virtual wire.  suite: every test of
# ptlbench in such a guest, or those that PORTALS_RXE_TESTS names, and how its figures are marked.  numa: conformance over
# node on eight processors in two NUMA nodes.  SCRATCH keeps the kernel for the next time; a temporary directory if none is
# given.  Without BUILD the group rxe of tests/run.sh, which makes one.  Ends with the line "N passed, N failed, N skipped".
set -u
[ $# -gt 0 ] || exec "$(dirname "$0")/../../run.sh" --only rxe
build=$(realpath "$1")
scratch=${2:-}
[ -n "$scratch" ] || { scratch=$(mktemp -d) && temporary=$scratch; } || exit 1
mkdir -p "$scratch" || exit 1
scratch=$(realpath "$scratch")
cd "$(dirname "$0")" || exit 1
here=$PWD
share=$scratch/share
# shellcheck source=tests/systems/rxe/guest.sh
. ./guest.sh
trap 'end_guests; rm -rf "${temporary:-}" "${wire:-}"' EXIT
trap 'exit 1' INT TERM

card()
{
	printf '%s\n' -netdev "stream,id=wire,addr.type=unix,addr.path=$wire/end,server=$1" \
		-device "virtio-net-pci,netdev=wire,mac=52:54:00:00:00:0$2"
}

rdma_guests()
{
	local first second tries number
	prepare_guests "soft-RoCE guest" rdma tc
	# All at the same time, for all of them wait half of the time.
	script alone.sh >"$scratch/alone"
	boot 1 "$scratch/alone"

	# The second connects to the first's end of the wire, which has to be there.
	wire=$(mktemp -d) # short: a path in a socket's address ends at 107 bytes
	script pair.sh >"$scratch/pair"
	mapfile -t first < <(card on 1)
	mapfile -t second < <(card off 2)
	boot 2 "$scratch/pair" "${first[@]}"
	for ((tries = 0; tries < 600; tries++)); do
		[ ! -S "$wire/end" ] || break
		sleep 0.1
	done
	boot 3 "$scratch/pair" "${second[@]}"
	for number in 1 2 3; do
		await_guest $number
		show $number
	done
}

suite_guests()
{
	BOOT_SECONDS=17000
	shape=(-smp 2 -m 3G) # libfabric pins 90 MB of each process, and peers has 17
	prepare_guests "soft-RoCE guest" rdma
	script suite.sh suite="'${PORTALS_RXE_TESTS:-}'" >"$scratch/suite"
	boot 1 "$scratch/suite"
	await_guest 1
	show 1
}

numa_guests()
{
	local device=no
	shape=(-smp "8,sockets=2,cores=4" -m 2G
		-object "memory-backend-ram,id=low,size=1G" -numa "node,nodeid=0,cpus=0-3,memdev=low"
		-object "memory-backend-ram,id=high,size=1G" -numa "node,nodeid=1,cpus=4-7,memdev=high")
	BOOT_SECONDS=5400
	prepare_guests "NUMA guest"
	script numa.sh transport=node >"$scratch/numa"
	boot 1 "$scratch/numa"
	await_guest 1
	show 1
}

"${3:-rdma}"_guests
summary
