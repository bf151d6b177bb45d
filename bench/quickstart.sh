#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# From a fresh clone on Debian to the first figures: installs what is missing, builds, measures two processes here.
set -eu
cd "$(dirname "$0")/.."

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Packages whose command, or pkg-config module, is not there.
missing=()
need_command() { command -v "$1" >/dev/null || missing+=("$2"); }
need_command cc build-essential
need_command meson meson
need_command ninja ninja-build
need_command pkg-config pkg-config
pkg-config --exists 'libfabric >= 1.17' 2>/dev/null || missing+=(libfabric-dev)
pkg-config --exists sqlite3 2>/dev/null || missing+=(libsqlite3-dev) # for examples/object_store

if [ ${#missing[@]} -gt 0 ]; then
	echo "installing: ${missing[*]}"
	command -v apt-get >/dev/null || { echo "no apt-get here: install the above yourself" >&2; exit 1; }
	as_root apt-get -qq update
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "${missing[@]}" >/dev/null
fi

if [ ! -f build/build.ninja ]; then
	log=$(meson setup build --buildtype release) || { echo "$log" >&2; exit 1; }
fi
ninja -C build --quiet

run() {
	echo
	echo "\$ build/bench/ptlbench $*"
	build/bench/ptlbench "$@"
}
run put-latency --quick --nic-timing
run get-latency --quick
run put-bandwidth --quick
run get-bandwidth --quick

cat <<'END'

More: build/bench/ptlbench info (what this machine offers), put-latency --transport ofi:tcp --raw msg (the network,
beside raw libfabric), recovery (peers that die), goals; bench/two_hosts.sh (between two network namespaces, as root).
END
