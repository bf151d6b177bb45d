#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# usage: container_steps.py CONTAINERFILE FOLDER
# Runs a Containerfile's steps without a container: each FROM is a system of the same release that mmdebstrap unpacks below FOLDER, each
# RUN a command by chroot there.  COPY takes this tree, or a folder of an earlier stage.  Needs root and mmdebstrap.
import pathlib
import re
import subprocess
import sys

RELEASES = {"debian:12-slim": "bookworm"}
SOURCES = pathlib.Path(__file__).resolve().parents[3]


def steps(text):
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line and not line.startswith("#"):
            word, rest = line.split(None, 1)
            yield word, rest


def run(*command):
    print("+", *command, flush=True)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def copy(words, root, stages):
    if words[0].startswith("--from="):
        source = stages[words[0].removeprefix("--from=")] / words[1].strip("/")
        run("cp", "-a", f"{source}/.", f"{root}/{words[2].strip('/')}")
    else:
        run(SOURCES / "packaging/sources.sh", f"{root}/{words[1].strip('/')}")


def main():
    containerfile, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    stages, root = {}, None
    for word, rest in steps(containerfile.read_text()):
        words = rest.split()
        if word == "FROM":
            root = folder / f"stage{len(stages)}"
            stages[words[2] if len(words) == 3 else str(len(stages))] = root
            run("mmdebstrap", "--quiet", "--mode=root", "--variant=apt", RELEASES[words[0]], root)
        elif word == "RUN":
            # Its own process ids, and /proc of these: what it starts ends with it.
            run("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "sh", "-c",
                'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$1" /usr/bin/env -i '
                'PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root sh -ec "$2"', "-", root, rest)
        elif word == "COPY":
            copy(words, root, stages)
        elif word != "CMD":
            sys.exit(f"what is {word}?")


main()
