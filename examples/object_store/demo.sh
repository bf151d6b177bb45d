#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: examples/object_store/demo.sh [BUILD]     (after meson setup build && ninja -C build)
# A server, some objects, and a server that is killed and started again.  Leaves nothing behind.
set -eu
build=$(realpath "${1:-$(dirname "$0")/../../build}")/examples/object_store
work=$(mktemp -d)
server=""
export PTL_IFACE=${PTL_IFACE:-lo}

end()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	wait
	rm -rf "$work"
}
trap end EXIT

# Its first line is its address, written when clients may call.
start_server()
{
	mkfifo "$work/address"
	"$build/object_server" --pid $((5000 + $$ % 10000)) "$work/store" >"$work/address" &
	server=$!
	read -r OBJECT_STORE_SERVER <"$work/address"
	rm "$work/address"
	export OBJECT_STORE_SERVER
	echo "the server's address is $OBJECT_STORE_SERVER"
}

say()
{
	echo "\$ object_store $*"
	"$build/object_store" "$@"
}

[ -x "$build/object_server" ] || {
	echo "skip: examples/object_store is not built (Debian: libsqlite3-dev)"
	exit 77
}
start_server
head -c 20000000 /dev/urandom >"$work/large"
echo "a small object" >"$work/small"
say put "$work/large" "a large object"
say put "$work/small" "../names are/no paths"
say list
say stat "a large object" --json

echo "the server is killed, and another one takes its place"
kill -9 "$server"
wait "$server" 2>/dev/null || true
start_server
say get "a large object" "$work/copy"
cmp "$work/large" "$work/copy"
say get "../names are/no paths" -

id=00112233445566778899aabbccddeeff
echo "a change that is repeated is applied once"
say rm "a large object" --id $id
say rm "a large object" --id $id
say list --json
say get "a large object" - || echo "(as it should be)"
