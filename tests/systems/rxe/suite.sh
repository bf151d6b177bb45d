# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# One guest, at night: each test of ptlbench that makes sense over a network once, its target being another process of the guest.  Their
# figures are those of an emulated device on an emulated processor.
# shellcheck source=tests/systems/rxe/checks.sh
. "${here:?}/checks.sh"

# A row has the test's name, the transport, figures, and at its end that it is ok, or why not.
# The limit is the sum of those of all tests.
timeout 16500 bench/ptlbench all --quick --transport "$transport" --out /tmp/suite 2>&1 </dev/null |
	awk -v transport="$transport" '{ print "| " $0 }
		$2 == transport { rows++; print $NF == "ok" ? "ok   ptlbench " $1 : "FAIL ptlbench " $0; fflush() }
		END { if (!rows) print "FAIL ptlbench all: no row" }'
[ "${PIPESTATUS[0]}" -le 1 ] || echo "FAIL ptlbench all: did not come to its end" # 1: a test failed, which has a row
