#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/install/packages.sh
# Builds the Debian packages, installs them on this machine, builds and runs the README's first program with them, and
# removes them again.  Ends with the line "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/../../.." || exit 1
out=$(mktemp -d) || exit 1
stage=$out
trap 'rm -rf "$out"' EXIT

# shellcheck source=tests/ci/tally.sh
. tests/ci/tally.sh

names="libportals3-0 libportals3-dev libportals3-compat-dev portals3-tools"

# shellcheck disable=SC2046,SC2086 # names
install_packages()
{
	dpkg -i $(for name in $names; do printf '%s\n' "$out/${name}"_*.deb; done)
}

first_program()
{
	# shellcheck disable=SC2016 # a fence, no command
	sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' >"$out/first.c"
	# shellcheck disable=SC2046 # flags
	cc "$out/first.c" -o "$out/first" $(pkg-config --cflags --libs portals3) &&
		PTL_TRANSPORT=self "$out/first" | grep -F 'PTL_EVENT_PUT_END: "portals"'
}

completion()
{
	bash -c '. /usr/share/bash-completion/completions/ptlbench
		COMP_WORDS=(ptlbench put-l) COMP_CWORD=1; _ptlbench; [ "${COMPREPLY[*]}" = put-latency ] || exit 1
		COMP_WORDS=(ptlbench put-latency --siz) COMP_CWORD=2; _ptlbench; [ "${COMPREPLY[*]}" = --sizes ] || exit 1
		. /usr/share/bash-completion/completions/ptlstat
		COMP_WORDS=(ptlstat --q) COMP_CWORD=1; _ptlstat; [ "${COMPREPLY[*]}" = --queues ]'
}

nothing_left()
{
	local left
	# shellcheck disable=SC2086
	left=$(for name in $names; do dpkg-deb -c "$out/${name}"_*.deb; done | awk '$1 ~ /^[-l]/ { print substr($6, 2) }' |
		while read -r file; do [ ! -e "$file" ] || echo "$file"; done)
	[ -z "$left" ] || { echo "$left"; return 1; }
}

check "packages build, and lintian finds nothing" packaging/deb.sh "$out"
[ "$failed" -eq 0 ] || { summary; exit 1; }
if [ "$(id -u)" -ne 0 ]; then
	skip "packages install" "needs root"
elif dpkg -s libportals3-0 >/dev/null 2>&1; then
	skip "packages install" "libportals3-0 is installed on this machine already"
else
	check "packages install" install_packages
	check "the first program builds and runs with them" first_program
	check "an old program's headers are there" sh -c 'echo "#include <portals/p30.h>" | cc -fsyntax-only -xc -'
	check "ptlbench and its manual page are there" sh -c 'ptlbench --version && test -s /usr/share/man/man1/ptlbench.1.gz'
	check "bash completes tests and options of ptlbench and ptlstat" completion
	# shellcheck disable=SC2086
	check "packages are purged" dpkg -P $names
	check "nothing of them is left" nothing_left
fi
summary
[ "$failed" -eq 0 ]
