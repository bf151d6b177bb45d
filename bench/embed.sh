#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: bench/embed.sh FILE...
# Prints C: an array of all the files, as { "name", "text" }.
set -eu
for file; do
	printf '{"%s",\n' "$(basename "$file")"
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' "$file"
	printf '},\n'
done
