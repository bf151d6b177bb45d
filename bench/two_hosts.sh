#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts on one machine: two network namespaces joined by a veth pair, ptlbench in both, raw libfabric beside it in the
# same run.  Both go when this ends, however it ends.  Needs root and iproute2.
#
#     bench/two_hosts.sh [--build DIR] [--transports "T T"] [--tests "T T"] [--congestion NAME] [ptlbench options]
#
# For example: bench/two_hosts.sh --congestion cubic --sizes 8:64K --raw-sleepable
set -eu
cd "$(dirname "$0")/.."

build=build
transports="ofi:tcp ofi:net"
tests="put-latency get-latency put-bandwidth"
congestion=
others=()
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$2 ;;
	--transports) transports=$2 ;;
	--tests) tests=$2 ;;
	--congestion) congestion=$2 ;;
	*)
		others+=("$1")
		shift
		continue
		;;
	esac
	shift 2
done
ptlbench=$build/bench/ptlbench
[ "$(id -u)" = 0 ] || { echo "two_hosts.sh: making network namespaces takes root" >&2; exit 1; }
[ -x "$ptlbench" ] || { echo "two_hosts.sh: no $ptlbench: build first, or say --build DIR" >&2; exit 1; }

near=ptlbench-near-$$
far=ptlbench-far-$$
listener=
pid=4242
address=192.168.171.2

# A namespace lives as long as a process in it.
clean_up() {
	[ -z "$listener" ] || kill "$listener" 2>/dev/null || true
	ip netns delete "$near" 2>/dev/null || true
	ip netns delete "$far" 2>/dev/null || true
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# Congestion control is set by the route: a namespace may not choose one that its host has not allowed.
make_host() { # namespace address
	ip -n "$1" link set lo up
	ip -n "$1" address add "$2/24" dev veth0
	ip -n "$1" link set veth0 up
	[ -z "$congestion" ] || ip -n "$1" route replace 192.168.171.0/24 dev veth0 src "$2" congctl "$congestion"
}
ip netns add "$near"
ip netns add "$far"
ip link add veth0 netns "$near" type veth peer name veth0 netns "$far"
make_host "$near" 192.168.171.1
make_host "$far" $address

# The one that listens says so when it does.
listen() { # transport
	exec 3< <(exec ip netns exec "$far" "$ptlbench" --listen=$pid --iface veth0 --transport "$1")
	listener=$!
	read -r _ <&3 || { echo "two_hosts.sh: nobody listens" >&2; exit 1; }
}

# Raw: messages as ours are on the wire; of a get, one read.
raw_kind() { case $1 in get-*) echo rma ;; *) echo msg ;; esac; }

echo "# two network namespaces joined by veth, congestion control" \
	"${congestion:-$(ip netns exec "$near" sysctl -n net.ipv4.tcp_congestion_control)}, load $(cut -d' ' -f1-3 /proc/loadavg)"
for transport in $transports; do
	for test in $tests; do
		listen "$transport"
		ip netns exec "$near" "$ptlbench" "$test" --connect $address:$pid --iface veth0 --transport "$transport" \
			--raw "$(raw_kind "$test")" "${others[@]}"
		wait "$listener" 2>/dev/null || true
		listener=
		exec 3<&-
	done
done
