#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# usage: docs/figures.py [--check]
# Tables of figures in the documents are made from what ptlbench has printed as JSON, in bench/results/: what stands between
# "<!-- figures KIND FILE -->" and "<!-- end of figures -->".  Writes them, or, with --check, says which differ.
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^(<!-- figures (\w+) (\S+) -->\n)(.*?)^(<!-- end of figures -->)$", re.M | re.S)

# Rows of the README's table: what it is called, test and bytes (or depth) of ptlbench compare.
FIGURES = [
    ("put, 8 bytes, half a round trip", "put-latency", 8, 0),
    ("put, 1 KiB", "put-latency", 1024, 0),
    ("put, 64 KiB", "put-latency", 65536, 0),
    ("put, 1 MiB", "put-latency", 1048576, 0),
    ("put, 64 KiB, written anew before each", "rewritten", 65536, 0),
    ("put, 1 MiB, written anew before each", "rewritten", 1048576, 0),
    ("8 bytes while a process computes on each core", "loaded", 8, 0),
    ("8 bytes behind 10 000 other receives", "match-depth", 8, 10000),
    ("8 bytes with 10 000 unexpected messages", "unexpected", 8, 10000),
    ("1 MiB into a process that computes for 20 ms", "overlap", 1048576, 0),
    ("8-byte messages in a row", "rate", 8, 0),
    ("bandwidth of 16 KiB", "put-bandwidth", 16384, 0),
    ("bandwidth of 256 KiB", "put-bandwidth", 262144, 0),
    ("bandwidth of 1 MiB", "put-bandwidth", 1048576, 0),
]


OUTCOME = "ver" "dict"  # a key in files of ptlbench, kept from before there was a glossary


def number(value):
    return "" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def goals(rows):
    yield "| # | what | goal | measured | beside it | |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        if not row["limit"] and row["absolute"] is None:
            continue  # what a ratio is made of
        measured = f"{row['median']:.3g} {row['unit']}"
        if row["least"] is not None:
            measured += f" ({row['least']:.3g}-{row['greatest']:.3g})"
        beside = f"{row['absolute']:.3g} {row['absolute_unit']}" if row["absolute"] is not None else ""
        outcome = {"missed": "**missed**", "-": ""}.get(row[OUTCOME], row[OUTCOME])
        yield f"| {row['goal']} | {row['what']} | {row['limit']} | {measured} | {beside} | {outcome} |"


def compare(rows):
    yield "| | portals3 | Open MPI | UCX | libfabric shm | |"
    yield "|---|---|---|---|---|---|"
    for what, test, size, depth in FIGURES:
        row = next(row for row in rows if (row["test"], row["bytes"], row["depth"]) == (test, size, depth))
        figures = " | ".join(number(row[name]) for name in ("ours", "mpi", "ucx", "libfabric"))
        yield f"| {what} | {figures} | {row['unit']} |"


KINDS = {"goals": goals, "compare": compare}


def table(match):
    rows = json.loads((ROOT / match[3]).read_text())["rows"]
    return match[1] + "".join(line + "\n" for line in KINDS[match[2]](rows)) + match[5]


def main():
    check = "--check" in sys.argv
    status = 0
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = document.read_text()
        if text.count("<!-- figures ") != len(BLOCK.findall(text)):
            print(f"{document}: figures do not end")
            status = 1
        new = BLOCK.sub(table, text)
        if new != text and check:
            print(f"{document}: not as in bench/results, run docs/figures.py")
            status = 1
        elif new != text:
            document.write_text(new)
    return status


sys.exit(main())
