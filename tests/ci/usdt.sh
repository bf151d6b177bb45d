#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/ci/usdt.sh LIBRARY COMPILED
# The static probes that the library has.  COMPILED is false where <sys/sdt.h> was not there.
set -eu
library=$1 compiled=$2
if [ "$compiled" != true ]; then
	echo "skip usdt: no <sys/sdt.h> (Debian: systemtap-sdt-dev), or built with -Dusdt=disabled"
	exit 77
fi
notes=$(readelf -n "$library")
for probe in message_begin stage message_end message_dismissed; do
	grep -A1 'Provider: portals3' <<<"$notes" | grep -qx " *Name: $probe" || { echo "no probe portals3:$probe in $library"; exit 1; }
done
