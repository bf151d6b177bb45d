#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/portability/run.sh DIRECTORY
# Builds library and tests in DIRECTORY with another compiler (clang; at night its warnings are errors), for another C library
# and for two other processors, and runs them: with an emulator of the processor where it is another.  Conformance on aarch64
# only with PORTALS_TEST_NIGHTLY=yes: qemu on x86 orders memory as x86 does, so what is new there is what the compiler makes of
# it.  Processes of different byte order exchange every kind of message.  Ends with the line "N passed, N failed, N skipped".
#
# What the emulator (qemu-user) cannot do, and which tests therefore are not run: it has no process_vm_readv (unit
# node_copy), gives recvmsg twice the room for descriptors that was asked for and loses what comes in it (node_meet), and breaks
# when a process with threads forks (one of conformance's c3_18) or limits its memory (one of c2_1).  musl's sendmsg refuses
# more than 1 KiB of descriptors, which one test of node_meet sends.
set -u
mkdir -p "${1:?usage: tests/systems/portability/run.sh DIRECTORY}" || exit 1
directory=$(realpath "$1")
cd "$(dirname "$0")/../../.." || exit 1
source=$PWD here=$PWD/tests/systems/portability
export PTL_IFACE=lo

units=(wire match handle event pool region descriptor strings settings interface timing contact)
stage=$directory/logs
mkdir -p "$stage" || exit 1
# shellcheck source=tests/ci/tally.sh
. tests/ci/tally.sh

# The sysroot, the build, its unit tests, the examples, and the sentences of Portals 3.3 that make the core.
configure() # NAME COMPILER
{
	local again=()
	[ ! -f "$directory/$1/build.ninja" ] || again=(--reconfigure)
	"$here/sysroot.sh" "$directory/sysroot-$1" "$2" "$directory/cmocka/source" &&
		meson setup "$directory/$1" "$source" --cross-file "$directory/sysroot-$1/sysroot.ini" \
			--cross-file "$here/$1.ini" -Dbuildtype=debugoptimized -Ddebug=false -Ddocs=disabled -Dwerror=true -Dbench=disabled -Dtests=enabled "${again[@]}"
}

configure_clang()
{
	local more=()
	[ "${PORTALS_TEST_NIGHTLY:-yes}" = no ] || more=(-Dwerror=true)
	[ ! -f "$directory/clang/build.ninja" ] || more+=(--reconfigure)
	CC=clang meson setup "$directory/clang" "$source" -Dbuildtype=debugoptimized -Ddebug=false -Ddocs=disabled -Dbench=disabled -Dtests=enabled "${more[@]}"
}

runs_conformance() # NAME
{
	[ "$1" != aarch64 ] || [ "${PORTALS_TEST_NIGHTLY:-yes}" = yes ]
}

compile() # NAME
{
	local more=()
	! runs_conformance "$1" || more=(tests/conformance)
	timeout 2700 ninja -C "$directory/$1" examples/hello_put examples/hello_get tests/wire-exchange "${units[@]/#/tests/unit-}" "${more[@]}"
}

run_all() # NAME [EMULATOR...]
{
	local name=$1 build=$directory/$1 unit transport
	shift
	for unit in "${units[@]}"; do
		check "$name: unit $unit" "$@" "$build/tests/unit-$unit"
	done
	for example in hello_put hello_get; do
		check "$name: $example over node" env PTL_TRANSPORT=node "$@" "$build/examples/$example"
	done
	runs_conformance "$name" || return 0
	for transport in self node; do
		check "$name: conformance, core, over $transport" \
			"$@" "$build/tests/conformance" --core --transport $transport --mode shared --slowness 4
	done
}

system() # NAME COMPILER [EMULATOR...]
{
	local name=$1 compiler=$2
	shift 2
	check "$name: configure" configure "$name" "$compiler" && check "$name: build" compile "$name" && run_all "$name" "$@"
}

exchange() # WRITER READER: each a command as one word
{
	local writer reader
	read -ra writer <<<"$1"
	read -ra reader <<<"$2"
	timeout 300 "${writer[@]}" write | timeout 300 "${reader[@]}" read
	[ "${PIPESTATUS[*]}" = "0 0" ]
}

check "clang: configure" configure_clang && check "clang: build" compile clang && run_all clang

mkdir -p "$directory/cmocka"
aarch64=(qemu-aarch64 -L /usr/aarch64-linux-gnu) s390x=(qemu-s390x -L /usr/s390x-linux-gnu)
if ! "$here/cmocka.sh" "$directory/cmocka" >"$directory/cmocka.txt" 2>&1 </dev/null; then
	tail -n 20 "$directory/cmocka.txt"
	skip "other processors" "the machine's package sources have no source of cmocka"
else
	system musl musl-gcc
	system aarch64 aarch64-linux-gnu-gcc "${aarch64[@]}"
	system s390x s390x-linux-gnu-gcc "${s390x[@]}"
	little="$directory/musl/tests/wire-exchange"
	big="${s390x[*]} $directory/s390x/tests/wire-exchange"
	weak="${aarch64[*]} $directory/aarch64/tests/wire-exchange"
	check "messages from little-endian to big-endian" exchange "$little" "$big"
	check "messages from big-endian to little-endian" exchange "$big" "$little"
	check "messages from big-endian to aarch64" exchange "$big" "$weak"
	check "messages recorded and big-endian" "${s390x[@]}" "$directory/s390x/tests/wire-exchange" recorded \
		"$here/wire_messages.txt"
fi
summary
