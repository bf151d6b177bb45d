#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/portability/cmocka.sh DIRECTORY
# Fetches the source of cmocka, which the distribution has compiled for its own processor and C library only, and leaves it in
# DIRECTORY/source.  apt works on lists of its own: neither the machine's architectures nor its sources change.
set -eu
directory=$(realpath "${1:?usage: tests/systems/portability/cmocka.sh DIRECTORY}")
[ ! -f "$directory/source/src/cmocka.c" ] || exit 0
apt=$directory/apt
rm -rf "$apt" && mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"

# The machine's sources, asked for source packages instead of compiled ones.
for file in /etc/apt/sources.list.d/*.sources; do
	[ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt/parts/${file##*/}"
done
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
	[ ! -f "$file" ] || sed -n 's/^deb /deb-src /p' "$file" >"$apt/parts/$(basename "$file" .list).list"
done
own=(-o "Dir::State=$apt" -o "Dir::State::Lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache"
	-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" -o Acquire::Retries=3)
cd "$apt"
for pause in 5 10 0; do # a network may stumble
	apt-get "${own[@]}" -q update || echo "some of the machine's sources have no source packages"
	! apt-get "${own[@]}" -q source --download-only cmocka || break
	sleep $pause
done
tarball=$(find "$apt" -name 'cmocka_*.orig.tar.?z')
[ -n "$tarball" ] || { echo "the source package of cmocka cannot be had"; exit 1; }
mkdir -p "$directory/source"
tar xf "$tarball" -C "$directory/source" --strip-components=1
rm -rf "$apt"
