#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where the table of PTL_NIC_TIMING goes when an interface ends, and stage times as data: ptlbench --nic-timing.

    nic_timing.py PTLBENCH
"""
import csv
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

COUNT = 100


def run(ptlbench, folder, value):
    environment = dict(os.environ, PTL_NIC_TIMING=value, PTL_IFACE="lo", PTL_TRANSPORT="self")
    done = subprocess.run([ptlbench, "self-latency", "--sizes", "8", "--iterations", str(COUNT), "--repeat", "1", "--quick"], cwd=folder,
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, text=True)
    return done.stderr


def check_file(path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and not path.is_symlink(), f"{path} is not ours alone"
    table = json.loads(path.read_text())
    stages = {stage["stage"]: stage for stage in table["stages"]}
    assert path.name.endswith(f".{table['nid']}.{table['pid']}.json"), f"{path} is of {table}"
    assert table["messages"] >= COUNT and stages["message total"]["count"] == table["messages"], table
    nic = sum(stage["total_ns"] for stage in stages.values() if stage["who"] == "NIC")
    assert abs(nic - stages["message total"]["total_ns"]) <= 0.05 * nic, table


NIC = ("take_ownership", "inspect_header", "access_check", "match", "housekeeping", "copy", "write_event", "unlink", "ack", "release_ownership")
SUMS = (("self", "self-latency"), ("node", "put-latency"), ("node", "get-latency"), ("ofi:tcp", "put-latency"), ("ofi:net", "get-latency"))


# Tests that are no size table: a row of each has the stages of both sides.
ROWS = (("match-depth", "--depths", "10", "--row-time", "20"), ("bypass", "--sizes", "64", "--iterations", "1"),
        ("completion", "--sizes", "64", "--row-time", "20"), ("blocking", "--sizes", "64", "--row-time", "20", "--repeat", "1"),
        ("crossover", "--sizes", "64", "--row-time", "20", "--repeat", "1"), ("hot-spot", "--sizes", "64", "--row-time", "20"),
        ("peers", "--sizes", "64", "--row-time", "20"), ("pairs", "--repeat", "1"))
# Tests in which this row has stages, as the one of gets, and others have none.
SOME = (("initiator-timing", "Total", "operation", "--sizes", "8", "--iterations", "10"),
        ("operations", "PtlPut", "operation", "--iterations", "10"))


def check_rows(ptlbench):
    for test in ROWS:
        command = [ptlbench, *test, "--transport", "node", "--iface", "lo", "--quick", "--nic-timing", "--format", "json"]
        for row in json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)["rows"]:
            if row.get("arrangement", "").startswith(("bare", "MPI")): # pairs shows other ways beside ours
                assert row["target"]["messages"] is None, row
            else:
                check_side(row["target"], long=test[0] == "crossover")
    for test, wanted, key, *options in SOME:
        command = [ptlbench, test, *options, "--transport", "node", "--iface", "lo", "--quick", "--nic-timing", "--format", "json"]
        rows = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)["rows"]
        assert all((row["target"]["messages"] is None) == (row[key] not in (wanted, "PtlGet")) for row in rows), rows
        for row in rows:
            if row[key] == wanted:
                check_side(row["target"])


def check_sums(ptlbench):
    """Of each side, over each transport, of short and of long messages."""
    for transport, test in SUMS:
        command = [ptlbench, test, "--transport", transport, "--iface", "lo", "--sizes", "64:256K", "--iterations", "10", "--repeat", "1", "--warmup", "3",
                   "--quick", "--nic-timing", "--format", "json"]
        rows = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)["rows"]
        assert rows[0]["bytes"] == 64 and rows[-1]["bytes"] == 256 << 10, rows
        for row in rows:
            for side in row["initiator"], row["target"]:
                if side["messages"]: # there is no target over self
                    total = side["message_total"]["total_ns"]
                    laps = sum(side[stage]["total_ns"] or 0 for stage in NIC)
                    assert total > 0 and abs(laps - total) <= 0.05 * total, f"{test} over {transport}: {laps} of {total} ns in {side}"


def measure(ptlbench, output):
    command = [ptlbench, "put-latency", "--transport", "node", "--iface", "lo", "--sizes", "8:64", "--iterations", "10", "--repeat", "1", "--quick",
               "--nic-timing", "--format", output]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def check_side(side, long=False):
    stages = {name: stage for name, stage in side.items() if name != "messages"}
    assert side["messages"] == stages["message_total"]["count"] > 0, side
    assert set(stages["match"]) == {"count", "mean_ns", "trimmed_mean_ns", "p50_ns", "p99_ns", "total_ns", "clock_ns"}, side
    assert stages["match"]["count"] > 0 and stages["match"]["mean_ns"] > 0, side
    assert long or stages["RDMA"]["count"] == 0 and stages["RDMA"]["mean_ns"] is None, side # of short messages


def check_data(ptlbench):
    document = json.loads(measure(ptlbench, "json"))
    assert [row["bytes"] for row in document["rows"]] == [8, 32, 64], document["rows"]
    for row in document["rows"]:
        check_side(row["initiator"])
        check_side(row["target"])
        assert row["target_cpu_us"] > 0, row # what comes before is no part of an object
    rows = list(csv.DictReader(line for line in measure(ptlbench, "csv").splitlines() if not line.startswith("#")))
    assert len(rows) == 3 and None not in rows[0], rows
    for row in rows:
        assert float(row["target.match.mean_ns"]) > 0 and row["target.RDMA.mean_ns"] == "", row
    assert measure(ptlbench, "text").count("message total") == 6, "a table for each side and size"


def main(ptlbench):
    check_data(ptlbench)
    check_sums(ptlbench)
    check_rows(ptlbench)
    ptlbench = os.path.abspath(ptlbench)
    with tempfile.TemporaryDirectory() as folder:
        for value in "no", "0", "1", "yes":
            assert "message total" not in run(ptlbench, folder, value), f"PTL_NIC_TIMING={value} prints"
        for value in "print", "batches":
            printed = run(ptlbench, folder, value)
            assert "where its NIC's time went" in printed and "message total" in printed, printed
            assert ("in no NIC stage" in printed) == (value == "batches"), printed
        assert not list(pathlib.Path(folder).iterdir()), "a file, and none was asked for"
        for value in "table.json", "./table":
            run(ptlbench, folder, value)
            paths = list(pathlib.Path(folder).iterdir())
            assert len(paths) == 1, f"PTL_NIC_TIMING={value} wrote {paths}"
            check_file(paths[0])
            paths[0].unlink()
        assert "cannot be written" in run(ptlbench, folder, "nowhere/table")


main(*sys.argv[1:])
