#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/floors.sh
# Four layers: portals, offload, transports, base, from the top.  A file includes only from its own layer, from those
# below and from include/; nothing that is installed includes from tests, bench or examples.  What depends on the processor
# is in base/arch.h and nowhere else.
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
	forbidden "$1" include base transports offload portals bench tests examples | grep -v '<portals/' || true
	forbidden "$1" base transports offload portals bench tests examples
	forbidden "$1" transports offload portals bench tests examples
	forbidden "$1" offload portals bench tests examples
	forbidden "$1" portals bench tests examples
	forbidden "$1" examples transports offload portals bench tests base
	forbidden "$1" bench tests examples
}

# Prints every line that asks for the processor or speaks its language.
processor_dependent() # ROOT
{
	local folders=()
	for folder in include base transports offload portals; do
		[ ! -d "$1/$folder" ] || folders+=("$1/$folder")
	done
	grep -rnE '\b(__x86_64__|__i386__|__aarch64__|__arm__|__s390x?__|__riscv|__powerpc(64)?__|__BYTE_ORDER(__)?)\b|\b(__)?asm(__)?\b|intrin\.h|__builtin_ia32|\b_mm_' \
		"${folders[@]}" --include='*.[ch]' | grep -v '/base/arch\.h:' || true
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

echo '#ifdef __aarch64__' >"$sample/offload/e.c"
echo '__asm__ volatile("pause");' >"$sample/portals/f.c"
[ "$(processor_dependent "$sample" | wc -l)" -eq 2 ] || { echo "floors.sh overlooks what it should find"; exit 1; }

found=$(violations .; processor_dependent .)
[ -z "$found" ] || { echo "$found"; exit 1; }
