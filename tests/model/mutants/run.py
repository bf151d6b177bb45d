#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Breaks the engine on purpose, one line at a time, and sees whether the tests notice.

    run.py SCRATCH [--only PART] [--record]
    run.py --fit

Builds a copy of the sources in SCRATCH; applies each mutant of mutants.txt alone, compiles, and runs the killers below
until one fails twice running.  A mutant that passes them all is a failure, and so is one that does not apply or does not
compile.  Prints a line for each and "N passed, N failed, N skipped".  --only tries those whose title contains PART.
--record writes what killed each to killed.txt, from which `conformance --list` takes its figures; all must have been
tried, and killed.  --fit only sees whether each of them still finds its line: sources change more often than mutants run.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
RECORD = HERE / "killed.txt"
RECORD_HEAD = "# SPDX-License-Identifier: BSD-3-Clause\n# Written by run.py --record: each mutant killed, and what killed it."
BUILD_SECONDS = 300
# The caller's settings of the library and of libfabric are not the tests'.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PTL_", "FI_"))}
ENVIRONMENT["PORTALS_TEST_NIGHTLY"] = "no"
# Programs of the build's tests/ that must fail, the quick ones first, and the seconds each may take.
KILLERS = (
    (("conformance", "--transport", "self", "--mode", "host", "--first-failure"), 300),
    (("conformance", "--transport", "self", "--mode", "shared", "--first-failure"), 300),
    (("conformance", "--transport", "node", "--mode", "host", "--first-failure"), 300),
    (("model", "--exact", "--seed", "1", "--operations", "15000000"), 300),
    (("conformance", "--transport", "ofi:net", "--mode", "host", "--first-failure"), 600),
    (("conformance", "--transport", "ofi:net", "--mode", "shared", "--first-failure"), 600),
)


class Mutant:
    def __init__(self, block):
        self.title, place, before, after = block.strip().split("\n")
        self.file, self.function = (place.split() + [""])[:2]
        if not before.startswith("- ") or not after.startswith("+ "):
            sys.exit(f"mutants.txt: '{self.title}' has no line to replace, or none to replace it with")
        self.before, self.after = before[2:].strip(), after[2:].strip()

    def apply(self, text):
        """The text with the fault, or None if the line is not there, or not the only one."""
        lines = text.split("\n")
        first, last = 0, len(lines)
        if self.function:
            definition = re.compile(r"^\S.*\b%s\(" % re.escape(self.function))
            first = next((i for i, line in enumerate(lines) if definition.match(line) and not line.endswith(";")), last)
            last = next((i for i in range(first, last) if lines[i] == "}"), last)
        found = [i for i in range(first, last) if lines[i].strip() == self.before]
        if len(found) != 1:
            return None
        lines[found[0]] = self.after
        return "\n".join(lines)


def read_mutants():
    text = "\n".join(line for line in (HERE / "mutants.txt").read_text().split("\n") if not line.startswith("#"))
    return [Mutant(block) for block in re.split(r"\n\n+", text.strip())]


def run(command, seconds):
    """Exit status and output; None instead of a status if the time was up."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              timeout=seconds, check=False, env=ENVIRONMENT)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace")


class Laboratory:
    def __init__(self, scratch):
        self.source, self.build = scratch / "source", scratch / "build"
        shutil.rmtree(self.source, ignore_errors=True)
        # Without the times of modification: a build that is already there must see every file as changed.
        shutil.copytree(SOURCE, self.source, copy_function=shutil.copy, ignore=lambda directory, names: [
            name for name in names
            if name == ".git" or name.startswith("build") or pathlib.Path(directory, name).resolve() == scratch])
        if not (self.build / "build.ninja").exists():
            status, output = run(["meson", "setup", self.build, self.source, "-Dbuildtype=debugoptimized",
                                  "-Dexamples=disabled", "-Dbench=disabled", "-Dtests=enabled"], BUILD_SECONDS)
            if status != 0:
                sys.exit(f"meson failed:\n{output}")

    def compile(self):
        return run(["ninja", "-C", self.build, "--quiet", *sorted({f"tests/{k[0][0]}" for k in KILLERS})],
                   BUILD_SECONDS)

    def complaint(self, arguments, seconds):
        """What this killer says is wrong: the failed test's name, or the command; None if it has nothing to say."""
        status, output = run([self.build / "tests" / arguments[0], *arguments[1:]], seconds)
        if status == 0:
            return None
        failed = re.search(r"^FAIL (\w+)", output, re.M)
        return failed.group(1) if failed else " ".join(arguments) + (" (time)" if status is None else "")

    def first_failure(self):
        """What noticed that something is wrong, and noticed it again; None if nothing did."""
        for arguments, seconds in KILLERS:
            if self.complaint(arguments, seconds) and (again := self.complaint(arguments, seconds)):
                return again
        return None

    def try_mutant(self, mutant):
        """(killed, what to say of it)"""
        path = self.source / mutant.file
        original = path.read_text()
        faulty = mutant.apply(original)
        if faulty is None:
            return False, "its line is not there, or more than once"
        path.write_text(faulty)
        try:
            status, output = self.compile()
            if status != 0:
                return False, "does not compile: " + "; ".join(re.findall(r"error: (.*)", output)[:2])
            killer = self.first_failure()
            return killer is not None, killer or "survives"
        finally:
            path.write_text(original)


def misfits():
    """How many mutants do not find their line; says which."""
    lost = [mutant for mutant in read_mutants() if mutant.apply((SOURCE / mutant.file).read_text()) is None]
    for mutant in lost:
        print(f"{mutant.title}: its line is not in {mutant.file} {mutant.function}, or more than once")
    return len(lost)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch", type=pathlib.Path, nargs="?")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if options.fit:
        return misfits() > 0
    if not options.scratch:
        parser.error("a directory to work in is needed")
    if options.record and options.only:
        parser.error("--record is of all mutants: leave --only out")
    options.scratch.mkdir(parents=True, exist_ok=True)
    laboratory = Laboratory(options.scratch.resolve())
    status, output = laboratory.compile()
    if status != 0:
        sys.exit(f"the sources do not compile:\n{output}")
    healthy = laboratory.first_failure()
    if healthy:
        sys.exit(f"nothing can be said of mutants: without a fault {healthy} fails")
    killed, survivors = [], 0
    for mutant in read_mutants():
        if options.only not in mutant.title:
            continue
        began = time.monotonic()
        dead, text = laboratory.try_mutant(mutant)
        print(f"ok   {mutant.title} (killed by {text}, {time.monotonic() - began:.0f} s)" if dead
              else f"FAIL {mutant.title}: {text}", flush=True)
        survivors += not dead
        if dead:
            killed.append(f"{mutant.title}: {text}")
    if options.record and survivors:
        print(f"{RECORD.name} stays as it was")
    elif options.record:
        RECORD.write_text("\n".join([RECORD_HEAD, *killed]) + "\n")
    print(f"{len(killed)} passed, {survivors} failed, 0 skipped")
    return survivors > 0


sys.exit(main())
