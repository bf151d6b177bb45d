#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: packaging/rpm.sh OUT [RPMBUILD-OPTION...]
# Builds the RPM packages of this source tree into the folder OUT.  On a machine whose packages rpm does not know, such as a
# Debian one, it needs the option --nodeps.
set -eu
out=${1:?usage: packaging/rpm.sh OUT [RPMBUILD-OPTION...]}
shift
mkdir -p "$out"
out=$(realpath "$out")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)

mkdir "$work/SOURCES"
packaging/sources.sh "$work/portals3-$version"
tar -C "$work" -czf "$work/SOURCES/portals3-$version.tar.gz" "portals3-$version"
rpmbuild -bb --define "_topdir $work" --define "portals3_version $version" "$@" packaging/rpm/portals3.spec
find "$work/RPMS" -name '*.rpm' -exec mv {} "$out/" \;
