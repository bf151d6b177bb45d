#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/floors.sh
# Four floors: portals, offload, transports, include, from the top.  A file includes only from its own floor, from those
# below and from include/; nothing that is installed includes from tests, bench or examples.
set -eu
cd "$(dirname "$0")/.."

# Prints every include directive under $1/FOLDER that names one of the folders after it.
forbidden() # ROOT FOLDER FORBIDDEN...
{
	local root=$1 folder=$2
	shift 2
	[ -d "$root/$folder" ] || return 0
	grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"](\.\./)*($(IFS='|'; echo "$*"))/" "$root/$folder" \
		--include='*.[ch]' || true
}

violations() # ROOT
{
	forbidden "$1" include transports offload portals bench tests examples | grep -v '<portals/' || true
	forbidden "$1" transports offload portals bench tests examples
	forbidden "$1" offload portals bench tests examples
	forbidden "$1" portals bench tests examples
	forbidden "$1" examples transports offload portals bench tests base
	forbidden "$1" bench tests examples
}

# The check itself must be able to find something.
sample=$(mktemp -d)
trap 'rm -rf "$sample"' EXIT
mkdir "$sample/transports" "$sample/offload" "$sample/portals"
echo '#include "offload/nic.h"' >"$sample/transports/a.c"
echo '# include <portals/init.h>' >"$sample/offload/b.h"
echo '#include "../tests/harness.h"' >"$sample/portals/c.c"
echo '#include "transports/transport.h"' >"$sample/offload/d.c"
[ "$(violations "$sample" | wc -l)" -eq 3 ] || { echo "floors.sh overlooks what it should find"; exit 1; }

found=$(violations .)
[ -z "$found" ] || { echo "$found"; exit 1; }
