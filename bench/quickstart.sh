#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# From a fresh clone on Debian to the first figures: installs what is missing, builds, measures two processes here.
set -euo pipefail
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

figures=$(mktemp -d)
trap 'rm -rf "$figures"' EXIT
for test in put-latency get-latency put-bandwidth get-bandwidth; do
	echo "\$ build/bench/ptlbench $test --quick"
	build/bench/ptlbench "$test" --quick --format csv >"$figures/$test"
done
echo
grep -E '^# (cpu|kernel|libfabric|pinning|mode):' "$figures/put-latency"
cat <<'END'
# put: half a round trip, a receive attached for each; get: request and reply; windows of 64 messages, 16 from 64 KiB on
   bytes   put (us)   get (us)  puts (MB/s)  gets (MB/s)
END
(cd "$figures" && awk -F, '
	/^#/ || /^bytes/ { next }
	{ figure[FILENAME, $1] = $2 }
	FILENAME == "put-latency" { sizes[++count] = $1 }
	END {
		for (i = 1; i <= count; i++) {
			bytes = sizes[i]
			printf "%8d %10.2f %10.2f %12.0f %12.0f\n", bytes, figure["put-latency", bytes], figure["get-latency", bytes],
				figure["put-bandwidth", bytes], figure["get-bandwidth", bytes]
		}
	}' put-latency get-latency put-bandwidth get-bandwidth)

echo
echo "Where the NIC's time went, 8 bytes:"
echo "\$ build/bench/ptlbench put-latency --quick --nic-timing --sizes 8:8"
build/bench/ptlbench put-latency --quick --nic-timing --sizes 8:8 >"$figures/timing"
sed -n '/driven by/,$p' "$figures/timing"

cat <<'END'

What to look at next:
  build/bench/ptlbench put-latency --help        what the clock includes, options, settings
  build/bench/ptlbench bypass                    messages into a process that computes
  build/bench/ptlbench compare                   beside MPI, UCX, libfabric and the bare limits of this machine, minutes
  build/bench/ptlbench put-latency --transport ofi:tcp --raw msg
                                                 the network, beside raw libfabric
  build/examples/hello_put                       a program of a page; more in examples/, docs/tutorial.md
  ninja -C build install                         as root; pkg-config --cflags --libs portals3
END
