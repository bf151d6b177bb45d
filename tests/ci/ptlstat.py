#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What ptlstat sees of a process that waits, one that is stopped, one whose peer never comes, one in a container, and what others see:
nothing.

    ptlstat.py PTLSTAT HELLO_PUT
"""
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

PATIENCE = ["--timeout", "120"]  # of a machine that is busy
ENVIRONMENT = dict(os.environ, PTL_IFACE="lo", PTL_TRANSPORT="node", PTL_STAT="1")


def look(status, ptlstat, *arguments, **more):
    done = subprocess.run([ptlstat, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    assert done.returncode == status, f"status {done.returncode}, {status} was wanted:\n{done.stdout}"
    return done.stdout


def wait_until(true):
    while not true():
        time.sleep(0.01)


def is_stopped(pid):
    return all("State:\tT" in (task / "status").read_text() for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def check_waiting(ptlstat, pid):
    text = look(0, ptlstat, "--wait", 120, *PATIENCE, "--queues", pid)
    for wanted in ("interface 0: owned by ", "1 event queues", "portal table entry 4: 1 match entries", "match bits 0x0000000000000707",
                   "threshold 1", "0 peers"):
        assert wanted in text, f"no {wanted} in\n{text}"
    rows = look(0, ptlstat, *PATIENCE, "--count", 3, "--interval", 0, pid).splitlines()
    assert len(rows) == 4 and all(row.split()[0] == "0" for row in rows[1:]), rows


def check_page_is_private(ptlstat, pid):
    pages = [path for path in pathlib.Path(f"/proc/{pid}/fd").iterdir() if os.readlink(path).startswith("/memfd:portals3-stat")]
    assert len(pages) == 1 and stat.S_IMODE(pages[0].stat().st_mode) == 0o600, pages
    if os.geteuid() != 0:
        return
    try:
        text = look(1, ptlstat, "--queues", pid, user=65534)
    except PermissionError:
        return  # a folder that others may not enter
    assert "publishes nothing" in text, text


def check_stopped(ptlstat, pid):
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid))
    text = look(3, ptlstat, "--timeout", 0.1, "--queues", pid)
    for wanted in ("does not answer", "What it said ", " s ago", "match bits 0x0000000000000707"):
        assert wanted in text, f"no {wanted} in\n{text}"
    assert "does not answer" in look(3, ptlstat, "--timeout", 0.1, pid)
    os.kill(pid, signal.SIGCONT)
    look(0, ptlstat, *PATIENCE, "--queues", pid)


def check_trace(ptlstat, hello_put):
    """A timeline on request, of a process that goes on."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(ENVIRONMENT, PTL_TRACE=f"{folder}/t")
        with subprocess.Popen([hello_put, "listen"], env=environment, stdout=subprocess.PIPE, text=True) as target:
            try:
                target.stdout.readline()
                said = look(0, ptlstat, "--wait", 120, *PATIENCE, "--trace", target.pid)
                path = re.search(r"interface 0: (.*\.json)$", said, re.MULTILINE).group(1)
                document = json.loads(pathlib.Path(path).read_text())
                assert document["otherData"]["recorded"] > 0 and target.poll() is None, said
            finally:
                target.kill()


def check_hang(ptlstat, hello_put):
    with subprocess.Popen([hello_put, "127.0.0.1:123456789"], env=ENVIRONMENT, stdout=subprocess.DEVNULL) as lonely:
        try:
            # It says so as soon as it has put; and goes on for PTL_CONNECT_TIMEOUT.
            wait_until(lambda: "first contact is not answered yet" in
                       look(0, ptlstat, "--wait", 120, *PATIENCE, "--queues", lonely.pid))
        finally:
            lonely.kill()


# What a container is to a process: root of a user namespace, small numbers of a pid namespace.
UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]


def descendants(pid):
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield int(child)
        yield from descendants(child)


def check_container(ptlstat, hello_put):
    """From outside by the number there, and from inside by its own."""
    if shutil.which("unshare") is None or subprocess.run([*UNSHARE, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("skip ptlstat and containers: no user or pid namespaces here")
        return
    wanted = "match bits 0x0000000000000707"
    script = '"$2" listen & read -r go; "$1" --wait 120 --timeout 120 --queues $!; echo status $?; kill $!'
    with subprocess.Popen([*UNSHARE, "bash", "-c", script, "bash", ptlstat, hello_put], env=ENVIRONMENT, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as container:
        try:
            container.stdout.readline()  # its address: everything is attached
            program = [pid for pid in descendants(container.pid)
                       if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == os.path.basename(hello_put)]
            assert len(program) == 1, program
            text = look(0, ptlstat, *PATIENCE, "--queues", program[0])
            assert wanted in text, text
            inside, _ = container.communicate("go\n")
            assert wanted in inside and "status 0" in inside, inside
        finally:
            container.kill()


def main(ptlstat, hello_put):
    ENVIRONMENT["PTL_CONNECT_TIMEOUT"] = "1000s"
    with subprocess.Popen([hello_put, "listen"], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as target:
        try:
            target.stdout.readline()  # its address: everything is attached
            check_waiting(ptlstat, target.pid)
            check_page_is_private(ptlstat, target.pid)
            check_stopped(ptlstat, target.pid)
            assert "no timeline: the process was not started with PTL_TRACE" in look(0, ptlstat, *PATIENCE, "--trace", target.pid)
        finally:
            target.kill()
    check_trace(ptlstat, hello_put)
    check_hang(ptlstat, hello_put)
    check_container(ptlstat, hello_put)
    assert "publishes nothing" in look(1, ptlstat, os.getpid())
    assert "usage" in look(2, ptlstat) and "usage" in look(2, ptlstat, "--nonsense", os.getpid())


main(*sys.argv[1:])
