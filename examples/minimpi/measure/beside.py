#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""beside.py BUILD [--quick] [--turns N] [--least]

Compiles measure.c with minimpicc of a build directory and with mpicc, runs both in turn, on two CPUs and with both ranks on
one, and prints the medians over the turns beside each other; --least prints the least of the turns, which a busy machine
disturbs less.  `put` is half a round trip of PtlPut, by ptlbench of the same build, in the same turns.  Where
another MPI is missing or does not work the program says so, measures the rest and exits with status 77.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CPUS = {2: "two CPUs", 1: "one CPU"}


def run(command, settings=None, patience=600):
    """In a session of its own: what hangs ends with all that it has started."""
    name = pathlib.Path(command[0]).name
    with subprocess.Popen(command, env={**os.environ, **(settings or {})}, text=True, start_new_session=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            output, errors = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired as late:
            raise RuntimeError(f"{name}: not done after {patience} s") from late
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        lines = (errors + output).strip().splitlines()
        raise RuntimeError(f"{name}: status {process.returncode}: {lines[-1] if lines else ''}")
    return output


def compile_with(compiler, program):
    if not shutil.which(compiler):
        raise RuntimeError(f"no {compiler}")
    run([compiler, "-O2", "-o", str(program), str(HERE / "measure.c")])


def rows_of(text):
    """What measure printed, by (name, size)."""
    return {(name, int(size)): float(value) for name, size, value in (line.split() for line in text.splitlines())}


class Minimpi:
    name = "minimpi"

    def __init__(self, build, work):
        self.command = [str(build / "examples/minimpi/minimpirun"), "-n", "2", "--fork", str(work / "minimpi")]
        compile_with(str(build / "examples/minimpi/minimpicc"), work / "minimpi")

    def measure(self, cpus, options):
        return rows_of(run(self.command + options, {"PTL_TRANSPORT": "node"}))


class Other:
    name = "other MPI"

    def __init__(self, _build, work):
        if not shutil.which("mpirun"):
            raise RuntimeError("no mpirun")
        self.program = str(work / "other")
        compile_with("mpicc", self.program)

    def measure(self, cpus, options):
        # On one CPU its ranks have to give way to each other: as a job that fits its CPUs it would not.
        settings = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                    "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                    "OMPI_MCA_mpi_yield_when_idle": "1" if cpus == 1 else "0"}
        return rows_of(run(["mpirun", "-n", "2", self.program] + options, settings, 60 if "--quick" in options else 600))


class Put:
    name = "put"

    def __init__(self, build, _work):
        self.program = str(build / "bench/ptlbench")
        if not os.access(self.program, os.X_OK):
            raise RuntimeError("no ptlbench")

    def measure(self, cpus, options):
        if cpus == 1:
            return {}
        rows = {}
        for sizes in ["8:8"] if "--quick" in options else ["8:8", "64:4M"]:
            text = run([self.program, "put-latency", "--transport", "node", "--sizes", sizes, "--repeat", "2", "--row-time",
                        "20" if "--quick" in options else "100", "--format", "json"])
            rows.update({("posted", row["bytes"]): row["latency_us"] for row in json.loads(text)["rows"]
                         if row["latency_us"]})
        return rows


def show(results, columns, cpus, of_turns):
    """A table of the latencies, and of the other rows."""
    medians = {column: {key: of_turns([turn[key] for turn in turns]) for key in turns[0] if all(key in turn for turn in turns)}
               for column, turns in results.items() if turns and turns[0]}
    columns = [column for column in columns if column in medians]
    head = " | ".join(columns)
    print(f"\n{CPUS[cpus]}, us | bytes | {head}\n|---|---:|" + "---:|" * len(columns))
    for name, size in medians["minimpi"]:
        cells = [f"{medians[column][name, size]:.3g}" if (name, size) in medians[column] else "" for column in columns]
        print(f"| {name} | {size} | {' | '.join(cells)} |")
    cells = []
    for column in columns:
        rows = medians[column]
        cells.append(f"{rows['many-in-front', 8] / rows['none-in-front', 8]:.2f}" if ("many-in-front", 8) in rows else "")
    print(f"| many in front, ratio | 8 | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--turns", type=int)
    parser.add_argument("--least", action="store_true")
    options = parser.parse_args()
    turns = options.turns or (1 if options.quick else 5)
    passed = ["--quick", "--longest", "8192"] if options.quick else []
    skipped = None
    candidates = []
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        candidates.append(Minimpi(options.build.resolve(), work))
        for kind in (Other, Put):
            try:
                candidates.append(kind(options.build.resolve(), work))
            except RuntimeError as error:
                print(f"skip {kind.name}: {error}")
                skipped = skipped or (kind is Other)
        print(f"load {os.getloadavg()[0]:.1f}, {'least' if options.least else 'medians'} of {turns} turns")
        for cpus in CPUS:
            results = {candidate.name: [] for candidate in candidates}
            for _ in range(turns):
                for candidate in list(candidates):
                    try:
                        results[candidate.name].append(candidate.measure(cpus, passed + ["--one-cpu"] * (cpus == 1)))
                    except RuntimeError as error:
                        if candidate.name == "minimpi":
                            raise
                        print(f"skip {candidate.name}: {error}")
                        skipped = skipped or (candidate.name == Other.name)
                        candidates.remove(candidate)
            show(results, [kind.name for kind in (Minimpi, Other, Put)], cpus, min if options.least else statistics.median)
    print(f"\n1 passed, 0 failed, {int(bool(skipped))} skipped")
    return 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
