#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: packaging/deb.sh OUT
# Builds the Debian packages of this source tree into the folder OUT, and has lintian look at them.  Needs what
# packaging/debian/control builds with, dpkg-dev, debhelper and lintian.
set -eu
out=${1:?usage: packaging/deb.sh OUT}
mkdir -p "$out"
out=$(realpath "$out")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
date=$(date -R -r meson.build)

packaging/sources.sh "$work/portals3"
cp -r packaging/debian "$work/portals3/debian"
cd "$work/portals3"
mkdir -p debian/source
echo '3.0 (native)' >debian/source/format
cat >debian/changelog <<TEXT
portals3 ($version) unstable; urgency=medium

  * See CHANGELOG.md.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $date
TEXT
dpkg-buildpackage -us -uc -b
cd ..
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ./*.changes
mv ./*.deb ./*.changes ./*.buildinfo "$out/"
