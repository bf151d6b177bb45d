# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Two guests on a wire: guest 3 is the target, guest 2 the initiator.  They meet in the shared folder.
# shellcheck source=tests/systems/rxe/checks.sh
. "${here:?}/checks.sh"

number=0
await() # FILE SECONDS
{
	local tries
	for ((tries = 0; tries < $2 * 10; tries++)); do
		[ ! -e "$1" ] || return 0
		sleep 0.1
	done
	return 1
}

listen() # COMMAND...: its first line is printed once it listens
{
	"$@" </dev/null 2>&1 | while read -r line; do
		case $line in listening:*) : >"/mnt/listening$number" ;; esac
		echo "| $line"
	done
}

between() # TEST OPTION...
{
	local port=$((4242 + ++number))
	if [ "${guest:?}" -eq 3 ]; then
		listen timeout 130 bench/ptlbench --listen=$port --transport ofi:verbs --iface "$net" --timeout 120
	elif await "/mnt/listening$number" 150; then
		limit=130 bench "$@" --connect 192.0.2.3:$port --timeout 120
	else
		echo "FAIL ptlbench $*: the other guest does not listen"
	fi
}

all() # ITERATIONS LARGEST
{
	between put-latency --check --quick --sizes 8:64K --iterations "$1" --warmup 2
	between get-latency --check --quick --sizes 8:64K --iterations "$1" --warmup 2
	between put-bandwidth --check --quick --sizes "64K:$2" --iterations 2 --warmup 1 --window 4
}

# The other one may boot much later on a busy machine; from now on both wait for each other's work only.
: >"/mnt/here${guest:?}"
await "/mnt/here$((5 - guest))" 400 || { echo "FAIL the other guest does not come"; exit 1; }
echo "ok   the other guest has come"
all 50 1M
[ "${nightly:?}" = yes ] || exit 0
# What is lost is sent again after half a second, and with it all that went behind it: 16 puts of 1 MiB would take minutes.
check "one packet of a hundred is lost from now on" tc qdisc add dev "$net" root netem loss 1%
all 10 256K
check "packets were lost" bash -c "tc -s qdisc show dev $net | grep 'dropped [1-9]'"
