#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A manual page in mdoc(7) of a program, from what it prints with --help.

usage: tool.py PROGRAM SUMMARY OUTPUT SOURCES
"""
import pathlib
import re
import subprocess
import sys

from man import date_of, escape, running

ENTRY = re.compile(r"^  (\S.*?)(?: {2,}(.*))?$")


def entries(lines):
    out = [".Bl -tag -width Ds"]
    for line in lines:
        found = ENTRY.match(line)
        if found:
            words = found[1].replace("-", "\\-").split(" ", 1)
            out += [f".It Cm {words[0]}" + (f" Ar {words[1]}" if len(words) > 1 else "")] + running(found[2] or "")
        else:
            out += running(line)
    return out + [".El"]


def sections(text):
    """(title, lines) of what stands below "Title:"; the first has no title."""
    title, lines = None, []
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][a-z]+:", line):
            yield title, lines
            title, lines = line[:-1], []
        elif line.strip():
            lines.append(line)
    yield title, lines


def page(name, summary, text, date):
    out = [f".Dd {date}", f".Dt {name.upper()} 1", ".Os", ".Sh NAME", f".Nm {name}", f".Nd {summary}", ".Sh SYNOPSIS", ".Nm"]
    for title, lines in sections(text):
        if title is None:
            usage = re.sub(rf"^usage: {name} ", "", lines[0])
            out += [f".Ar {escape(usage)}", ".Sh DESCRIPTION"] + running(" ".join(lines[1:]) or summary[0].upper() + summary[1:] + ".")
        elif title != "Environment":
            out += [f".Ss {title}"] + entries(lines)
    return "\n".join(out + [".Sh ENVIRONMENT", "The settings of the library:", ".Xr portals3 7 .",
                            ".Sh SEE ALSO", ".Xr portals3 7"]) + "\n"


def main(program, summary, output, sources):
    text = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    date = date_of([pathlib.Path(sources) / "include/portals3_nic.h"])
    pathlib.Path(output).write_text(page(pathlib.Path(program).name, summary, text, date), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
