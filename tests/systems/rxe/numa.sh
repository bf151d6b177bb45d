# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# One guest with several NUMA nodes: processes of a node, whose NIC threads have processors of their own.
# shellcheck source=tests/systems/rxe/checks.sh
. "${here:?}/checks.sh"

check "two NUMA nodes, eight processors" test -d /sys/devices/system/node/node1 -a "$(nproc)" -eq 8
tests threads --mode shared --only numa
tests threads --mode shared --only cpu
limit=300 check "scale" tests/scale --processes 16
limit=3000 tests conformance --mode shared
export PTL_NIC_CPUS=1,5,3,7
limit=1800 tests conformance --core --mode dedicated
