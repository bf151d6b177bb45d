#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What PTL_TRACE writes of a ping-pong, and what trace-merge makes of it.

    timeline.py PTLBENCH TRANSPORT

The form: timeline_schema.json (with python3-jsonschema; without it that part is left out, and tests/run.sh names a skip).  What must hold: times rise on
each track and slices are nested as calls are, every begin has its end, the stages of a message add up to it, an arrow has
both ends, in different processes; what is dropped is counted.
"""
import collections
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parent / "timeline_schema.json").read_text())
ENTRIES = 1 << 16
OUTSIDE = ("take ownership", "release ownership")  # NIC's stages that are not laps of one message


def nanoseconds(value):
    return round(value * 1000)


def check_form(document):
    if jsonschema is None:
        return
    # A few of each kind: to check all takes minutes.
    kinds = collections.defaultdict(list)
    for event in document["traceEvents"]:
        kinds[event["ph"], event["name"]].append(event)
    few = dict(document, traceEvents=[event for events in kinds.values() for event in events[:5] + events[-5:]])
    jsonschema.Draft202012Validator(SCHEMA).validate(few)


def check_tracks(events):
    """Times rise, and each slice ends before those end that it is in.  Returns for each message the laps inside it."""
    last, open_slices, laps = {}, collections.defaultdict(list), []
    for event in events:
        if event["ph"] == "M":
            continue
        track = event["pid"], event["tid"]
        at = nanoseconds(event["ts"])
        assert at >= last.get(track, 0), f"time goes back on track {track}: {event}"
        last[track] = at
        if event["ph"] != "X":
            continue
        end = at + nanoseconds(event["dur"])
        stack = open_slices[track]
        while stack and stack[-1][0] <= at and not (stack[-1][0] == at == end):
            stack.pop()
        assert not stack or end <= stack[-1][0], f"{event} ends after what it is in, {stack[-1]}"
        if event["cat"] == "NIC" and event["name"] not in OUTSIDE and stack and stack[-1][1] is not None:
            stack[-1][1].append(end - at)
        message = [] if event["cat"] == "TOTAL" else None
        if message is not None:
            laps.append((event, message))
        stack.append((end, message))
    return laps


def check_stages(laps):
    for event, inside in laps:
        total = nanoseconds(event["dur"])
        assert abs(sum(inside) - total) <= 0.05 * total + 1, f"the stages take {inside}, the message {event}"


def check_pairs(events):
    begun = collections.Counter()
    for event in events:
        if event["ph"] in "be":
            begun[event["pid"], event["id"], event["name"]] += 1 if event["ph"] == "b" else -1
            assert begun[event["pid"], event["id"], event["name"]] in (0, 1), f"ends before it begins: {event}"
    assert not any(begun.values()), "something begins and does not end"


def check_arrows(events):
    ends = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "sf":
            ends[event["id"]].append(event)
    for pair in ends.values():
        assert sorted(event["ph"] for event in pair) == ["f", "s"], f"no arrow: {pair}"
        assert pair[0]["pid"] != pair[1]["pid"] and pair[0]["name"] == pair[1]["name"], f"no arrow between processes: {pair}"
    return collections.Counter(pair[0]["name"] for pair in ends.values())


def record(ptlbench, transport, folder, *arguments):
    for path in pathlib.Path(folder).iterdir():
        path.unlink()
    environment = dict(os.environ, PTL_TRACE=f"{folder}/t.json", PTL_IFACE="lo")
    subprocess.run([ptlbench, *arguments, "--transport", transport], env=environment, stdout=subprocess.DEVNULL, check=True)
    paths = sorted(pathlib.Path(folder).iterdir())
    assert len(paths) == 2, f"two processes wrote {paths}"
    documents = []
    for path in paths:
        document = json.loads(path.read_text())
        data = document["otherData"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, f"others may read {path}"
        assert path.name == f"t.{data['nid']}.{data['pid']}.json", f"{path} is of {data}"
        check_form(document)
        check_pairs(document["traceEvents"])
        documents.append((document, check_tracks(document["traceEvents"])))
    merged = json.loads(subprocess.run([ptlbench, "trace-merge", *map(str, paths)], stdout=subprocess.PIPE, check=True).stdout)
    check_form(merged)
    check_tracks(merged["traceEvents"])
    return documents, check_arrows(merged["traceEvents"]), merged


def main(ptlbench, transport):
    with tempfile.TemporaryDirectory() as folder:
        for test, operations in (("put-latency", ("PUT", "PUT_LONG")), ("get-latency", ("GET", "REPLY_LONG"))):
            # The warm-up is part of it: few enough that nothing is dropped.
            documents, arrows, merged = record(ptlbench, transport, folder, test, "--sizes", "256:64K", "--iterations", "10", "--warmup", "3",
                                               "--repeat", "1", "--quick")
            for document, laps in documents:
                assert document["otherData"]["dropped"] == 0, document["otherData"]
                assert laps, "no message"
                check_stages(laps)
            sent = collections.Counter(event["name"] for event in merged["traceEvents"] if event["ph"] == "i")
            for operation in operations:
                assert arrows[operation] > 0, f"no arrow for a {operation}: {arrows}"
                # Each of them is waited for.
                assert arrows[operation] == sent[f"{operation} sent"], f"{arrows[operation]} arrows, {sent}"
            print(f"{test}: {sum(arrows.values())} arrows: {dict(arrows)}")
        documents, arrows, merged = record(ptlbench, transport, folder, "put-bandwidth", "--sizes", "8", "--window", "64", "--iterations", "600",
                                           "--warmup", "0", "--repeat", "1", "--row-time", "60000")
        for document, _ in documents:
            data = document["otherData"]
            assert 0 < data["recorded"] - data["dropped"] <= ENTRIES < data["recorded"], data
        assert sum(arrows.values()) > 0
        print(f"{sum(arrows.values())} arrows where the oldest was dropped")


main(*sys.argv[1:])
