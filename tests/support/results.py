#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sums the results of `meson test`, or of one program, and names what failed and what was skipped and why.

    results.py BUILD LOGFILE.json              the log of `meson test --logbase LOGFILE`
    results.py LOGFILE.txt STATUS SECONDS      the output of one program, its exit status and time

Counts what the programs count: the closing line `N passed, N failed, N skipped` of ours, the summary of cmocka; a
program that prints neither is one test.  The last line of the output is `N N N`: passed, failed, skipped.
"""
import json
import re
import subprocess
import sys

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
CMOCKA = {word: re.compile(r"^\[ *%s *\] +(\d+) test" % word, re.M) for word in ("PASSED", "FAILED", "SKIPPED")}
# What names a test that failed or was skipped: cmocka's report, and "FAIL name: why" or "skip name: why" of ours.
FAILED_TEST = re.compile(r"^(?:\[ *FAILED *\] +(?!\d+ test)(\S.*)|FAIL +(.*))$", re.M)
SKIPPED_TEST = re.compile(r"^(?:\[ *SKIPPED *\] +(?!\d+ test)(\S.*)|skip +(.*))$", re.M)
TAIL = 40  # lines of a failed program's output
ADDRESS = re.compile(r"\((/[^()+]+)\+(0x[0-9a-f]+)\)")  # in a sanitizer's stack: FILE+OFFSET


def names(pattern, output):
    return list(dict.fromkeys(a or b for a, b in pattern.findall(output)))


def count(output, status):
    """Passed, failed, skipped of one program."""
    closing = CLOSING.findall(output)
    if closing:
        passed, failed, skipped = map(int, closing[-1])
    elif CMOCKA["PASSED"].search(output):
        passed, failed, skipped = (sum(map(int, p.findall(output))) for p in CMOCKA.values())
    else:
        passed, failed, skipped = int(status == 0), 0, int(status == 77)
    if status not in (0, 77) and failed == 0:
        failed = 1  # died, was killed by the time limit, or a sanitizer found something at exit
    if passed + failed + skipped == 0:
        failed = 1  # a program that tests nothing proves nothing
    return passed, failed, skipped


def ending(status):
    if status == "TIMEOUT":
        return "by its time limit"
    if isinstance(status, int) and status < 0:
        return f"by signal {-status}"
    return f"with status {status}"


def resolve(frame):
    """The function and line of an address: reports that are not read need not be symbolized (ten times as fast)."""
    command = ["addr2line", "-Cfpse", frame[1], frame[2]]
    line = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return f"({line})" if line and "?" not in line else frame[0]


def report(name, output, status, seconds, path):
    passed, failed, skipped = count(output, status)
    print(f"  {name}: {passed} passed, {failed} failed, {skipped} skipped ({seconds:.1f} s)")
    for test in names(SKIPPED_TEST, output) if skipped else []:
        print(f"  skip {name}: {test}")
    if failed:
        for test in names(FAILED_TEST, output):
            print(f"  FAIL {name}: {test}")
        print(f"  FAIL {name} ended {ending(status)}; the last lines of {path}:")
        for line in output.rstrip().splitlines()[-TAIL:]:
            print(f"    | {ADDRESS.sub(resolve, line)}")
    return passed, failed, skipped


def meson_tests(build, path):
    with open(path, errors="replace") as log:
        for test in map(json.loads, log):
            output = test.get("stdout", "") + "\n" + test.get("stderr", "")
            status = test.get("returncode", 1)
            if test["result"] == "TIMEOUT" or test["result"] not in ("OK", "SKIP") and status in (0, 77):
                status = test["result"]
            name = test["name"].rsplit(" / ", 1)[-1]
            yield f"{build}: {name}", output, status, test["duration"], path.removesuffix(".json") + ".txt"


def program(path, status, seconds):
    name = path.rsplit("/", 1)[-1].removesuffix(".txt")
    with open(path, errors="replace") as log:
        yield name, log.read(), int(status), float(seconds), path


def main(arguments):
    results = meson_tests(*arguments) if len(arguments) == 2 else program(*arguments)
    totals = [0, 0, 0]
    for result in results:
        totals = [a + b for a, b in zip(totals, report(*result))]
    print(*totals)


main(sys.argv[1:])
