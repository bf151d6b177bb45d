# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# One guest: processes that share a device.
# shellcheck source=tests/systems/rxe/checks.sh
. "${here:?}/checks.sh"

core
bench put-latency --raw msg --sizes 8:4K --iterations 200 --warmup 20
if [ "${nightly:?}" = yes ]; then
	bench get-latency --raw rma --sizes 8:64K --iterations 100 --warmup 20
	bench put-bandwidth --raw msg --sizes 64K:1M --iterations 4 --warmup 1 --window 4
fi
tests verbs --mode shared
tests conformance --mode shared --only c3_14_a_long
check "unit-ofi verbs a_deregistered" tests/unit-ofi verbs a_deregistered "$net" 192.0.2.1
bench recovery --quick
