#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# usage: docs/quotes.py [--check] [DOCUMENT...]
# In the documents, after a line "<!-- quote FILE FUNCTION -->", a C block is that function as the file has it, which is
# compiled and tested.  Writes the blocks, or, with --check, says which differ.
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUOTE = re.compile(r"^<!-- quote (\S+) (\w+) -->\n```c\n(.*?)^```$", re.M | re.S)


def function(path, name):
    """With the comment right above it."""
    text = (ROOT / path).read_text()
    found = re.search(rf"^(?:/\*(?:(?!\*/).)*?\*/\n)?[a-z][^\n;{{}}]*\b{name}\([^;{{}}]*\)\n\{{\n.*?^\}}\n", text, re.M | re.S)
    if not found:
        sys.exit(f"{path} has no function {name}")
    return found.group(0)


def main():
    check = "--check" in sys.argv
    documents = [pathlib.Path(path) for path in sys.argv[1:] if path != "--check"] or sorted((ROOT / "docs").glob("*.md"))
    status = 0
    for document in documents:
        text = document.read_text()
        if text.count("<!-- quote ") != len(QUOTE.findall(text)):
            print(f"{document}: a quote is not followed by its block of C")
            status = 1
        new = QUOTE.sub(lambda m: f"<!-- quote {m[1]} {m[2]} -->\n```c\n{function(m[1], m[2])}```", text)
        if new == text:
            continue
        if check:
            print(f"{document}: not as in the sources, run docs/quotes.py")
            status = 1
        else:
            document.write_text(new)
    return status


sys.exit(main())
