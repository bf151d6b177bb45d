#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/portability/newer_libfabric.sh DIRECTORY
# Builds library and tests with the compiler and the libfabric of Debian's next release (backports have none) and runs there the
# unit tests, conformance over self, node and tcp and its core over the other providers, behaviour over node and tcp; then the
# Debian packages are built, installed, used and purged.  That release is unpacked in DIRECTORY, 1 GB, and used by chroot; mounts and network are those of a namespace that ends
# with the command.  Needs root, mmdebstrap and iproute2.  Ends with the line "N passed, N failed, N skipped".
set -u
suite=trixie
packages=build-essential,meson,pkg-config,libfabric-dev,libpmix-dev,libcmocka-dev,python3,debhelper,lintian,doxygen,git
mkdir -p "${1:?usage: tests/systems/portability/newer_libfabric.sh DIRECTORY}" || exit 1
directory=$(realpath "$1")
cd "$(dirname "$0")/../../.." || exit 1
source=$PWD
root=$directory/$suite

stage=$directory/logs
mkdir -p "$stage" || exit 1
# shellcheck source=tests/ci/tally.sh
. tests/ci/tally.sh

unable() # REASON
{
	skip "newer libfabric" "$1"
	summary
	exit 77
}

unpack()
{
	local mirror
	# shellcheck disable=SC2016 # a template of apt's
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
	rm -rf "$root" &&
		mmdebstrap --quiet --mode=root --variant=apt --include="$packages" "$suite" "$root" "$mirror" &&
		mkdir -p "$root/source" "$root/build" && echo "$packages" >"$root/unpacked"
}

# Runs a command in the newer system, with the sources in /source and the build in /build, and with a loopback of its own:
# process ids are too, so the ports that follow from them could be taken outside.
inside() # SECONDS COMMAND...
{
	local limit=$1
	shift
	# shellcheck disable=SC2016 # expands inside
	timeout --foreground --kill-after=10 "$limit" unshare --mount --propagation private --net --pid --kill-child bash -c '
		mount --bind -o ro "$1" "$2/source" && mount -t proc proc "$2/proc" &&
			mount --rbind /dev "$2/dev" && mount --rbind /sys "$2/sys" && ip link set lo up || exit 1
		root=$2
		shift 2
		exec chroot "$root" /usr/bin/env -i PATH=/usr/bin:/usr/sbin HOME=/root PTL_IFACE=lo "$@"
	' - "$source" "$root" "$@"
}

configure()
{
	local again=()
	[ ! -f "$root/build/build.ninja" ] || again=(--reconfigure)
	inside 120 meson setup /build /source -Dbuildtype=release -Dwerror=true -Dtests=enabled "${again[@]}"
}

opens_as() # TRANSPORT WHAT-IT-SAYS
{
	inside 60 /build/bench/ptlbench info --transport "$1" | grep -F "$2"
}

unshare --mount --net --pid true 2>/dev/null || unable "needs root and namespaces"
command -v mmdebstrap >/dev/null || unable "no mmdebstrap"
command -v ip >/dev/null || unable "no ip (iproute2)"
[ "$(cat "$root/unpacked" 2>/dev/null)" = "$packages" ] || unpack >"$directory/unpack.txt" 2>&1 || unable "cannot be unpacked, see $directory/unpack.txt"
here=$(pkg-config --modversion libfabric) there=$(inside 10 pkg-config --modversion libfabric)
[ -n "$there" ] || unable "the unpacked system does not run"
[ "$here" != "$there" ] || unable "that of $suite is no newer than ours, $here"
echo "libfabric $there of $suite; here $here"

if check "configure" configure && check "build" inside 900 ninja -C /build; then
	check "net is libfabric's own tcp" opens_as ofi:net "tcp (libfabric ${there%.*})"
	check "tcp is rxm over it" opens_as ofi:tcp "tcp;ofi_rxm (libfabric ${there%.*})"
	check "unit tests" inside 2400 meson test -C /build --no-rebuild --num-processes 1 --suite unit --timeout-multiplier 4
	for mode in shared dedicated host; do
		for transport in self node ofi:tcp; do
			check "conformance over $transport, $mode" inside 900 /build/tests/conformance --transport $transport --mode $mode
		done
		for transport in ofi:net ofi:udp; do
			check "conformance, core, over $transport, $mode" inside 900 \
				/build/tests/conformance --core --transport $transport --mode $mode
		done
		for transport in node ofi:tcp; do
			check "behaviour over $transport, $mode" inside 1800 /build/tests/behaviour --transport $transport --mode $mode
		done
	done
	check "packages build, install, are used and purged" inside 1800 /source/tests/systems/install/packages.sh
fi
summary
