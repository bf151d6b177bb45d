#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: packaging/sources.sh FOLDER
# Copies the sources of this tree: what git knows, or, outside of a clone, everything but builds.
set -eu
mkdir -p "${1:?usage: packaging/sources.sh FOLDER}"
to=$(realpath "$1")
cd "$(dirname "$0")/.."
list=$(mktemp)
trap 'rm -f "$list"' EXIT
git ls-files -z --cached --others --exclude-standard >"$list" 2>/dev/null || find . -name 'build*' -prune -o -type f -print0 >"$list"
xargs -0 cp --parents -P -t "$to" <"$list"
