#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The folders are layers: base, transports, offload, portals, from the bottom.

    layers.py ARCHIVE    made of the library's objects, without link-time optimisation

A file includes only from its own layer, from those below it and from include/; an object takes symbols only from its own
layer and from those below it (calls through operation tables leave no symbol); nothing that is installed includes from
tests, bench or examples; what depends on the processor is in base/arch.h alone; only portals/ returns codes of Portals.  Files of a folder that take symbols from
each other in a cycle are counted, and no cycle may grow.  External names begin as their file does.
"""
import collections
import fnmatch
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ["base", "transports", "offload", "portals"]
OUTSIDE = ["bench", "tests", "examples"]
# Sizes of the cycles, the greatest first.  They may only shrink, and then shrink here too.
CYCLES = {"base": [], "transports": [], "offload": [], "portals": []}

# Names that all files of a layer may have: the engine's, which is in several files, and the tables of operations.
SHARED = {"offload": "nic", "transports": "transport"}
# External names that do not begin as their file does.  They may only become fewer.
NAMED_OTHERWISE = set()

# <sys/sdt.h> puts this into every object that has a probe (base/probe.h).
MARKS_OF_PROBES = "_.stapsdt."

PROCESSOR = re.compile(r"\b(__x86_64__|__i386__|__aarch64__|__arm__|__s390x?__|__riscv|__powerpc(64)?__|__BYTE_ORDER(__)?)\b"
                       r"|\b(__)?asm(__)?\b|intrin\.h|__builtin_ia32|\b_mm_")
# The codes that calls return; below portals/ they are refusals (offload/refusal.h).
CODE = re.compile(r"\b(return|report_(error|kept|nothing)\()\s*PTL_(?!NI_(OK|FAIL|UNREACHABLE|PEER_DIED|SHUTDOWN|PROTOCOL)\b|STAGE_|EVENT_|LIBRARY_)")
INCLUDE = re.compile(r"^\s*#\s*include\s*([<\"])(?:\.\./)*(\w+)/")


def forbidden_folders(folder):
    if folder in LAYERS:
        return LAYERS[LAYERS.index(folder) + 1:] + OUTSIDE
    return {"include": LAYERS + OUTSIDE, "examples": LAYERS + ["bench", "tests"], "bench": ["tests"]}[folder]


def bad_lines(path, text):
    """What is wrong with the lines of a file, read alone."""
    folder = path.split("/")[0]
    for number, line in enumerate(text.split("\n"), 1):
        included = INCLUDE.match(line)
        # <portals/...> in include/ are the installed compatibility headers.
        if included and included[2] in forbidden_folders(folder) and (folder, included[1], included[2]) != ("include", "<", "portals"):
            yield f"{path}:{number}: includes from {included[2]}/"
        if folder in LAYERS + ["include"] and path != "base/arch.h" and PROCESSOR.search(line):
            yield f"{path}:{number}: depends on the processor; that belongs to base/arch.h"
        if folder in LAYERS[:-1] and CODE.search(line):
            yield f"{path}:{number}: returns a code of Portals; that belongs to portals/"


class Links:
    """Which file takes which symbol from which other, as nm tells it."""

    def __init__(self, listing, paths):
        objects = {path.replace("/", "_") + ".o": path for path in paths}
        defined, wanted = {}, []
        for line in listing.split("\n"):
            found = re.match(r".*?([\w.]+\.o):\s*(?:[0-9a-f]+)?\s+(\w) (\S+)$", line)
            if not found or found[1] not in objects or found[3].startswith(MARKS_OF_PROBES):
                continue
            path, kind, symbol = objects[found[1]], found[2], found[3]
            if kind in "Uwv":
                wanted.append((path, symbol))
            elif kind.isupper():
                defined[symbol] = path
        self.files = {path for path, _ in wanted} | set(defined.values())
        self.taken = sorted((path, symbol, defined[symbol]) for path, symbol in wanted if symbol in defined)

        self.defined = defined

    def upward(self):
        def height(path):
            return LAYERS.index(path.split("/")[0])
        return [taken for taken in self.taken if height(taken[2]) > height(taken[0])]

    def cycles(self, folder):
        """The strongly connected components of more than one file, the greatest first."""
        needs = collections.defaultdict(set)
        for path, _, owner in self.taken:
            if path.split("/")[0] == owner.split("/")[0] == folder:
                needs[path].add(owner)

        def reached(start):
            seen, left = set(), [start]
            while left:
                for owner in needs[left.pop()] - seen:
                    seen.add(owner)
                    left.append(owner)
            return seen
        reach = {path: reached(path) for path in list(needs)}
        cycles = {tuple(sorted(other for other in reach[path] if path in reach.get(other, ()))) for path in reach}
        return sorted((cycle for cycle in cycles if len(cycle) > 1), key=lambda cycle: (-len(cycle), cycle))


def misnamed(links, public):
    """External names that neither begin with the first word of their file's name (or its plural) nor are the program's to call."""
    for symbol, path in sorted(links.defined.items()):
        word = pathlib.Path(path).stem.split("_")[0]
        if symbol.split("_")[0] not in {word, word + "s", SHARED.get(path.split("/")[0])} and symbol not in NAMED_OTHERWISE \
                and not any(fnmatch.fnmatchcase(symbol, pattern) for pattern in public):
            yield f"{path} defines {symbol}, whose name does not begin with {word}_"


def bad_links(links, recorded):
    for path, symbol, owner in links.upward():
        yield f"{path} takes {symbol} from {owner}, a higher layer"
    for folder in LAYERS:
        cycles = links.cycles(folder)
        sizes = [len(cycle) for cycle in cycles]
        if sizes != recorded[folder]:
            yield f"cycles of {folder}/ have {sizes} files, CYCLES says {recorded[folder]}: " + \
                ("write down that they shrank" if sizes < recorded[folder] else "break the new one")
            for cycle in cycles:
                yield f"  {' '.join(cycle)}"


def finds_what_it_should():
    """Made-up sources: what each of the checks must find, and nothing else."""
    assert len(list(bad_lines("transports/a.c", '#include "offload/nic.h"\n#include "base/arch.h"'))) == 1
    assert len(list(bad_lines("offload/b.h", "# include <portals/init.h>\n#include <portals3.h>"))) == 1
    assert len(list(bad_lines("portals/c.c", '#include "../tests/support/harness.h"\n#include "offload/nic.h"'))) == 1
    assert len(list(bad_lines("include/d.h", '#include "base/arch.h"\n#include <portals/p30.h>'))) == 1
    assert len(list(bad_lines("offload/e.c", '#ifdef __aarch64__\n__asm__ volatile("pause");'))) == 2
    assert len(list(bad_lines("offload/e.c", "return PTL_OK;\nreturn report_error(PTL_MD_INVALID, text);\nreturn PTL_NI_OK;"))) == 2
    paths = ["base/a.c", "offload/b.c", "offload/c.c", "offload/d_e.c", "portals/f.c"]
    links = Links("\n".join(("x.a:base_a.c.o:                 U above", "x.a:portals_f.c.o:0000000000000000 T above",
                             "x.a:p/offload_b.c.o:0000000000000010 T b", "x.a:p/offload_b.c.o:                 U c",
                             "x.a:p/offload_c.c.o:0000000000000010 T c", "x.a:p/offload_c.c.o:                 U b",
                             "x.a:p/offload_d_e.c.o:0000000000000010 D d", "x.a:p/offload_d_e.c.o:                 U c",
                             "x.a:p/offload_d_e.c.o:0000000000000000 V _.stapsdt.base",
                             "x.a:p/offload_d_e.c.o:                 U malloc", "x.a:portals_f.c.o:                 U d")), paths)
    none, two = {folder: [] for folder in LAYERS}, {**{folder: [] for folder in LAYERS}, "offload": [2]}
    assert links.upward() == [("base/a.c", "above", "portals/f.c")]
    assert links.cycles("offload") == [("offload/b.c", "offload/c.c")]
    assert len(list(bad_links(links, two))) == 1
    assert len(list(bad_links(links, none))) == 3 # and which cycle it is
    assert len(list(bad_links(links, {**two, "portals": [2]}))) == 2
    assert [line.split()[2] for line in misnamed(links, ["ab*"])] == []
    assert [line.split()[2] for line in misnamed(links, [])] == ["above,"]


def main(archive):
    finds_what_it_should()
    wrong = []
    for folder in ["include"] + LAYERS + ["examples", "bench"]:
        for path in sorted((SOURCE / folder).rglob("*.[ch]")):
            wrong += bad_lines(str(path.relative_to(SOURCE)), path.read_text())
    paths = [str(path.relative_to(SOURCE)) for folder in LAYERS for path in (SOURCE / folder).rglob("*.c")]
    links = Links(subprocess.run(["nm", "-A", archive], stdout=subprocess.PIPE, text=True, check=True).stdout, paths)
    missing = set(paths) - links.files - {"portals/cnos/cnos.c"}
    if missing:
        wrong.append("no object of " + ", ".join(sorted(missing)))
    wrong += bad_links(links, CYCLES)
    wrong += misnamed(links, re.findall(r"[\w*]+(?=;)", (SOURCE / "portals/portals3.map").read_text().split("local:")[0]))
    for folder in LAYERS:
        print(f"cycles: {folder} " + (", ".join(f"{len(cycle)} files" for cycle in links.cycles(folder)) or "none"))
    if wrong:
        sys.exit("\n".join(wrong))


main(sys.argv[1])
