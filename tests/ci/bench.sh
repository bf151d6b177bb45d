#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/ci/bench.sh PTLBENCH
# ptlbench info answers whatever is missing, and recovery sees a death on each transport.
set -eu
ptlbench=$1

# "not open after" some seconds says that others had the processors, whatever the status: five tries.
expect() # WHAT PATTERN COMMAND...
{
	local what=$1 pattern=$2 out tries
	shift 2
	for tries in 1 2 3 4 5; do
		if out=$("$@" 2>&1) && grep -qE -- "$pattern" <<<"$out"; then
			return
		fi
		grep -q 'not open after' <<<"$out" || break
	done
	printf '%s: no line like "%s" in\n%s\n(try %d)\n' "$what" "$pattern" "$out" "$tries" >&2
	exit 1
}

expect "info shows providers" '^# tcp;ofi_rxm +opens: short [0-9]+' "$ptlbench" info --iface lo
expect "info shows devices" '^# lo +127\.0\.0\.1, up' "$ptlbench" info
expect "info without interface" '^# does not open: .*nowhere' "$ptlbench" info --iface nowhere
expect "info without provider" '^# does not open: .*nothing: not available' "$ptlbench" info --iface lo --transport ofi:nothing
expect "info in JSON" '"libfabric providers": \[' "$ptlbench" info --format json
for transport in node ofi:tcp ofi:net; do
	expect "recovery" "\"$transport\",\"4 MiB put outstanding\",[0-9.]+,.*PTL_EVENT_SEND_END PTL_NI_PEER_DIED" \
		"$ptlbench" recovery --quick --format csv --transport "$transport"
done

# The tests of the interconnect suite, one short row each: what is a figure is one, and greater than 0.
figure='[0-9]*[1-9][0-9.]*|[0-9]*\.[0-9]*[1-9][0-9]*'
suite() # TRANSPORT TEST PATTERN OPTION...
{
	local transport=$1 test=$2 pattern=$3
	shift 3
	expect "$test over $transport" "$pattern" "$ptlbench" "$test" --quick --format csv --transport "$transport" "$@"
}
sized=(--row-time 20 --sizes 64:64)
for test in bidirectional-latency bidirectional-bandwidth host-overhead completion; do
	suite node $test "^64,($figure),($figure),($figure)" "${sized[@]}" --check
done
tuning=$(mktemp)
suite node crossover "^64,($figure),($figure)" "${sized[@]}" --repeat 1
crossover=(--quick --row-time 20 --sizes 64:65536 --repeat 1 --transport node --save "$tuning")
if out=$("$ptlbench" crossover "${crossover[@]}" 2>&1); then
	limit=$(sed -n 's/.*"short": {"node": \([0-9]*\)}.*/\1/p' "$tuning")
	if [ "${limit:?}" -lt 64 ] || [ "$limit" -ge 65536 ]; then
		echo "crossover: saved $limit, which is in none of its sizes" >&2
		exit 1
	fi
	PTL_TUNING_FILE=$tuning expect "the limit that crossover has saved is used" "transport node: .*\\(payload $limit: PTL_TUNING_FILE\\)" \
		"$ptlbench" info --transport node
	PTL_TUNING_FILE=$tuning PTL_SHORT_MAX=77 expect "unless the environment says another" "\\(payload 77: PTL_SHORT_MAX\\)" \
		"$ptlbench" info --transport node
	sed -i 's/"node": [0-9]*/"node": 0/' "$tuning"
	PTL_TUNING_FILE=$tuning suite node injection '^64,"chosen",[^,]*,[^,]*,[^,]*,64,0,0' "${sized[@]}" --repeat 1 --wire
elif ! grep -q 'no crossing in these sizes, nothing saved' <<<"$out" || [ -s "$tuning" ]; then # where others have the processors
	printf 'crossover --save:\n%s\n' "$out" >&2
	exit 1
fi
rm -f "$tuning"
suite node blocking "^64,\"sleeps\",\"sleeps\",1,($figure)" "${sized[@]}"
suite node initiator-timing "^64,\"Total\",($figure),($figure),($figure),($figure)" --sizes 64:64
suite node nic-timing "^64,10,\"target\",\"NIC\",\"match\",($figure),($figure),($figure),($figure),($figure),($figure),($figure),(-[0-9][.][0-9]|$figure),($figure)" \
	--sizes 64:64 --depths 10
suite node sequence '^"long put",[0-9.]+,,"initiator","(host|NIC)",[0-9]+,"SOURCE_FREE is there"'
suite node fragment "^4096,512,($figure),($figure),($figure),($figure),($figure)" --row-time 20 --sizes 4096:4096
suite node logp "^64,($figure),[^,]*,-?($figure),($figure),($figure),($figure)" "${sized[@]}" --check
suite node injection "^64,($figure),($figure),($figure)," "${sized[@]}" --repeat 1
suite node injection '^64,"exposed, staged",[^,]*,[^,]*,[^,]*,0,0,64' "${sized[@]}" --repeat 1 --wire --check
suite node message-rate "^64,64,($figure),($figure),($figure)" "${sized[@]}"
suite node unexpected-depth "^1000,($figure),($figure),($figure)" --row-time 20 --depths 0,1000
suite ofi:tcp operations "^\"deregister 4 KiB, raw\",($figure)" --raw msg
suite node availability "^64,($figure),($figure),($figure),($figure)" "${sized[@]}"
suite node buffer-reuse "^64,2,1024,50,($figure),($figure)" "${sized[@]}"
suite node am "^64,\"medium\",\"no credits\",($figure),[^,]*,[^,]*,($figure),($figure),($figure)" "${sized[@]}" --check
suite node splitc "^\"bulk store\",64,($figure),($figure),($figure),($figure)" "${sized[@]}" --check
suite node breakdown "^\"Active Messages\",\"base transport\",\"PtlPutRegion\",($figure),($figure),," --row-time 20 --check
suite node grim "^64,\"all\",8192,($figure),($figure),($figure),($figure),($figure)" "${sized[@]}" --check
suite node driver "^64,($figure),($figure),($figure),($figure),($figure)" "${sized[@]}" --check
suite node segments "^64,64,($figure),($figure),($figure)" "${sized[@]}" --check
for transport in node ofi:tcp; do
	suite $transport bidirectional-latency "^64,($figure)," "${sized[@]}" --check
	suite $transport bidirectional-bandwidth "^65536,($figure)," --row-time 20 --sizes 65536:65536 --check
	suite $transport hot-spot "^64,8,($figure),($figure)" "${sized[@]}" --check
	suite $transport peers "^64,16,($figure),($figure)" "${sized[@]}" --check
	suite $transport operations "^\"first contact, to its ACK\",($figure)" --check
done
