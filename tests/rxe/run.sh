#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/rxe/run.sh [BUILD [SCRATCH]]
# RDMA without hardware: the library of a compiled BUILD over ofi:verbs on soft-RoCE devices, in QEMU guests: two
# processes in one guest, and two guests on a virtual wire.  SCRATCH keeps the kernel for the next time; a temporary
# directory if none is given.  Without BUILD the group rxe of tests/run.sh, which makes one.  Ends with the line "N passed, N failed, N skipped".
set -u
[ $# -gt 0 ] || exec "$(dirname "$0")/../run.sh" --only rxe
build=$(realpath "$1")
scratch=${2:-}
[ -n "$scratch" ] || { scratch=$(mktemp -d) && temporary=$scratch; } || exit 1
mkdir -p "$scratch" || exit 1
scratch=$(realpath "$scratch")
cd "$(dirname "$0")" || exit 1
here=$PWD
share=$scratch/share
# shellcheck source=tests/rxe/guest.sh
. ./guest.sh
trap 'end_guests; rm -rf "${temporary:-}" "${wire:-}"' EXIT
trap 'exit 1' INT TERM

summary()
{
	echo "$(count 'ok  ') passed, $(count FAIL) failed, $(count skip) skipped"
	[ "$(count FAIL)" -eq 0 ]
}

count() # WORD
{
	cat "$share"/*.log "$scratch/own" | grep -c "^$1 "
}

tell() # RESULT NAME [REASON]
{
	printf '%-4s %s\n' "$1" "$2${3:+: $3}" | tee -a "$scratch/own"
}

# The script of a guest, with what it has to know from outside.
script() # FILE NAME=VALUE...
{
	local file=$1
	shift
	printf '%s\n' "build='$build' here='$here'" "$@"
	cat "$file" || tell FAIL "$file" "is not there" >&2
}

show() # NUMBER
{
	cat "$share/guest$1.log" 2>/dev/null
	if [ -f "$share/guest$1.status" ]; then
		grep -Eq '^(ok|FAIL) ' "$share/guest$1.log" || tell FAIL "guest $1" "did nothing"
		return
	fi
	tail -n 20 "$share/console$1.txt"
	tell FAIL "guest $1" "did not come to its end"
}

rm -rf "$share"
mkdir -p "$share" || exit 1
: >"$scratch/own"
for tool in qemu-system-x86_64 busybox cpio modprobe depmod rdma tc dpkg-deb; do
	command -v $tool >/dev/null && continue
	tell skip "soft-RoCE guest" "no $tool on this machine"
	summary
	exit 0
done
if ! { fetch_kernel && make_initramfs; } >"$scratch/kernel.txt" 2>&1; then
	cat "$scratch/kernel.txt"
	tell skip "soft-RoCE guest" "the distribution's kernel cannot be had"
	summary
	exit 0
fi

# All at the same time, for all of them wait half of the time.
script alone.sh >"$scratch/alone"
boot 1 "$scratch/alone"

# The second connects to the first's end of the wire, which has to be there.
wire=$(mktemp -d) # short: a path in a socket's address ends at 107 bytes
card()
{
	printf '%s\n' -netdev "stream,id=wire,addr.type=unix,addr.path=$wire/end,server=$1" \
		-device "virtio-net-pci,netdev=wire,mac=52:54:00:00:00:0$2"
}
script pair.sh >"$scratch/pair"
mapfile -t first < <(card on 1)
mapfile -t second < <(card off 2)
boot 2 "$scratch/pair" "${first[@]}"
for ((tries = 0; tries < 600; tries++)); do
	[ ! -S "$wire/end" ] || break
	sleep 0.1
done
boot 3 "$scratch/pair" "${second[@]}"
for number in 1 2 3; do
	await_guest $number
	show $number
done
summary
