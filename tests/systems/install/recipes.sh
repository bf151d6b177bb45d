#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/install/recipes.sh BUILD [--nightly]
# What packaging/ says to other systems: CMake, meson subprojects, Spack, a container; with --nightly the RPM packages are
# built, and the container's steps run.  BUILD is a compiled meson folder.  Ends with "N passed, N failed, N skipped".
set -u
build=$(realpath "${1:?usage: tests/systems/install/recipes.sh BUILD [--nightly]}")
nightly=${2:-}
cd "$(dirname "$0")/../../.." || exit 1
stage=$(mktemp -d) || exit 1
trap 'rm -rf "$stage"' EXIT
export PTL_TRANSPORT=self

# shellcheck source=tests/ci/tally.sh
. tests/ci/tally.sh

with_cmake()
{
	local prefix description
	meson install -C "$build" --no-rebuild --destdir "$stage/root" >/dev/null || return
	description=$(find "$stage/root" -name portals3.pc -print -quit)
	prefix=$(sed -n 's/^prefix=//p' "$description")
	# Installed below $stage, it believes to be in $prefix: pkg-config puts the one before the other.
	PKG_CONFIG_SYSROOT_DIR=$stage/root PKG_CONFIG_PATH=${description%/*} cmake -S examples/cmake -B "$stage/cmake" &&
		cmake --build "$stage/cmake" &&
		LD_LIBRARY_PATH=$(dirname "$(find "$stage/root$prefix" -name libportals3.so -print -quit)") "$stage/cmake/program"
}

# As a wrap brings it, but from this tree.
as_subproject()
{
	mkdir -p "$stage/user/subprojects/portals3"
	packaging/sources.sh "$stage/user/subprojects/portals3" && cp examples/cmake/program.c "$stage/user/" &&
		cat >"$stage/user/meson.build" <<-'MESON' &&
			project('user', 'c')
			portals3 = dependency('portals3', default_options: ['tests=disabled', 'bench=disabled', 'examples=disabled', 'docs=disabled'])
			executable('program', 'program.c', dependencies: portals3)
		MESON
		sed '/^url/,/^depth/d; s/\[wrap-git\]/[wrap-file]\ndirectory = portals3/' packaging/wrap/portals3.wrap >"$stage/user/subprojects/portals3.wrap" &&
		meson setup "$stage/user/b" "$stage/user" --force-fallback-for=portals3 && ninja -C "$stage/user/b" program &&
		"$stage/user/b/program"
}

installed_by() # STAGE: the packages of a FROM in the Containerfile, the first or the second
{
	awk -v stage="$1" '/^FROM/ { at++ } at == stage { print }' packaging/container/Containerfile | tr -d '\\\n' |
		grep -oE 'no-install-recommends[^&/]*' | grep -oE '[a-z][a-z0-9.+-]+' | grep -vxE 'no-install-recommends|src'
}

# What it installs, debian/control builds with, or depends on; a compiler and ninja are there without being named.
container_packages()
{
	local name count=0
	while read -r name; do
		count=$((count + 1))
		grep -qE "^(Build-Depends|Depends|Recommends):.*\b$name\b" packaging/debian/control || { echo "$name"; return 1; }
	done < <(installed_by 1 | grep -vxE 'gcc|libc6-dev|ninja-build'; installed_by 2)
	[ $count -ge 6 ]
}

rpm_packages()
{
	timeout 1200 packaging/rpm.sh "$stage/rpm" --nodeps
}

container_steps()
{
	timeout 1800 tests/systems/install/container_steps.py packaging/container/Containerfile "$stage/container"
}

if command -v cmake >/dev/null; then
	check "a program of CMake finds the library through pkg-config" with_cmake
else
	skip "a program of CMake finds the library through pkg-config" "no cmake on this machine"
fi
check "a meson project has it as a subproject" as_subproject
check "Spack's recipe loads, and its options are meson's" tests/systems/install/spack_stub.py packaging/spack/package.py
check "the container installs what the Debian packages need" container_packages
if [ "$nightly" = --nightly ]; then
	if command -v rpmbuild >/dev/null; then
		check "RPM packages build" rpm_packages
	else
		skip "RPM packages build" "no rpmbuild on this machine"
	fi
	if command -v mmdebstrap >/dev/null && [ "$(id -u)" -eq 0 ]; then
		check "the container's steps run" container_steps
	else
		skip "the container's steps run" "no mmdebstrap, or not root"
	fi
fi
summary
