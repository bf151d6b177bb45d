#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts on one machine: two network namespaces joined by a veth pair, ptlbench in both, raw libfabric beside it in the
# same run.  Both go when this ends, however it ends.  Needs root and iproute2.
#
# --help says more.  For example: bench/two_hosts.sh --congestion cubic --sizes 8:64K --raw-sleepable
set -eu
cd "$(dirname "$0")/.."

usage()
{
	cat <<-END
		usage: bench/two_hosts.sh [--build DIR] [--transports "T T"] [--tests "T T"] [--congestion NAME] [ptlbench options]
		Two network namespaces of this machine, joined by a veth pair, as two hosts: ptlbench in both, raw libfabric beside
		it in the same run.  Needs root and iproute2; leaves nothing behind.

		  --build DIR          where ptlbench was built ($build)
		  --transports "T T"   over what ($transports)
		  --tests "T T"        tests of two processes ($tests)
		  --congestion NAME    TCP congestion control of both hosts (the kernel's)
		Whatever else is given goes to ptlbench, which lists its options by ptlbench TEST --help.
	END
}

refuse()
{
	echo "two_hosts.sh: $*" >&2
	exit 2
}

build=build
transports="ofi:tcp ofi:net"
tests="put-latency get-latency put-bandwidth"
congestion=
others=()
while [ $# -gt 0 ]; do
	case $1 in
	--build | --transports | --tests | --congestion) [ $# -gt 1 ] || refuse "$1 needs an argument; --help says which" ;;
	esac
	case $1 in
	-h | --help) usage && exit ;;
	--listen* | --connect* | --iface* | --transport | --transport=*) refuse "$1 is what this script says itself; see --help" ;;
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
address=192.168.171.2
pid=4242

# Raw: messages as ours are on the wire; of a get, one read.
raw_kind() { case $1 in get-*) echo rma ;; *) echo msg ;; esac; }

measure() # TRANSPORT TEST COMMAND...: the initiator
{
	local transport=$1 test=$2
	shift 2
	"$@" "$ptlbench" "$test" --connect $address:$pid --iface veth0 --transport "$transport" --raw "$(raw_kind "$test")" \
		"${others[@]}"
}

# What is wrong is said before anything is made.
[ -x "$ptlbench" ] || refuse "no $ptlbench: build first, or say --build DIR"
[ -n "${transports// /}" ] || refuse "--transports names one at least"
[ -n "${tests// /}" ] || refuse "--tests names one at least"
if [ -n "$congestion" ]; then
	known=$(sysctl -n net.ipv4.tcp_available_congestion_control)
	[[ " $known " == *" $congestion "* ]] || refuse "--congestion $congestion: this kernel has $known"
fi
others+=(--dry-run)
for transport in $transports; do
	for test in $tests; do
		measure "$transport" "$test" || exit 2
	done
done
unset 'others[-1]'
[ "$(id -u)" = 0 ] || refuse "making network namespaces takes root"
command -v ip >/dev/null || refuse "making network namespaces takes ip, of the package iproute2"

near=ptlbench-near-$$
far=ptlbench-far-$$
listener=

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
	read -r _ <&3 || { echo "two_hosts.sh: no process listens" >&2; exit 1; }
}

echo "# two network namespaces joined by veth, congestion control" \
	"${congestion:-$(ip netns exec "$near" sysctl -n net.ipv4.tcp_congestion_control)}, load $(cut -d' ' -f1-3 /proc/loadavg)"
for transport in $transports; do
	for test in $tests; do
		listen "$transport"
		measure "$transport" "$test" ip netns exec "$near"
		wait "$listener" 2>/dev/null || true
		listener=
		exec 3<&-
	done
done
