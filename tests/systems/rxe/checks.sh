# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What scripts in a guest share.  Lines that begin with ok, FAIL or skip count; run.sh adds them up.
# From outside: $build, the compiled library; $net, the network interface of the device; $transport, if not ofi:verbs; $nightly, yes or no.
cd "${build:?}" || exit 1
export PTL_IFACE=${net:?}
transport=${transport:-ofi:verbs}

check() # NAME COMMAND...
{
	local name=$1 status
	shift
	timeout "${limit:-240}" "$@" >/tmp/log 2>&1 </dev/null
	status=$?
	sed 's/^/| /' /tmp/log
	[ $status -eq 0 ] && echo "ok   $name" || echo "FAIL $name: status $status"
}

# The table is kept: the figures of docs/performance.md come from it.
bench() # TEST OPTION...
{
	check "ptlbench $*" bench/ptlbench "$@" --transport "$transport" --iface "$net"
}

# Root may pin what it likes with this capability only.
as=(setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock)

# A program that says for itself what passed.  Its peers are forked, and devices opened before would not work in them.
tests() # PROGRAM OPTION...
{
	local name=$1 status log
	shift
	log=$(mktemp)
	timeout "${limit:-400}" "${as[@]}" "tests/$name" "$@" --transport "$transport" --iface "$net" --cold --slowness 4 \
		2>&1 </dev/null | grep --line-buffered -Ev '^(n/a |[0-9]+ passed,|transport )' | tee "$log"
	status=${PIPESTATUS[0]}
	[ "$status" -eq 0 ] || grep -q ^FAIL "$log" || echo "FAIL $name $*: ended with status $status"
}

# The sections of the specification in which a transport shows; two tests at a time, for half of each is waiting.
core()
{
	local part
	for part in 1 2; do
		limit=600 tests conformance --core --mode shared --part $part/2 &
	done
	wait
}
