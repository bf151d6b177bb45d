#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What ptlbench all leaves, the page that ptlbench report makes of it, and --plot and --hist.

    bench_report.py PTLBENCH

The form of the files: results_schema.json (with python3-jsonschema; without it that part is left out, and tests/run.sh names a skip).
The page is well-formed, needs no other file and no script, and no table and no picture of it is empty.  At night, where chromium
is installed, it is loaded there, too.
"""
import csv
import html.parser
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parent / "results_schema.json").read_text())
VOID = {"meta", "br", "hr", "img", "link", "input"}


def run(*command, status=0):
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, PTL_IFACE="lo"))
    assert done.returncode == status, f"{command} ended with {done.returncode}, not {status}:\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Page(html.parser.HTMLParser):
    """Elements that are closed in order; how many cells each table has, and how many points each picture."""

    def __init__(self):
        super().__init__()
        self.stack, self.tables, self.pictures, self.words, self.ids, self.links = [], [], [], [], set(), []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert tag not in ("script", "iframe", "object", "link", "img"), f"<{tag}> in the page"
        for name, value in attributes.items():
            if name in ("src", "href"):
                assert value.startswith("#"), f"{name}={value}: not in the page"
                self.links.append(value[1:])
        if "id" in attributes:
            self.ids.add(attributes["id"])
        if tag not in VOID:
            self.stack.append(tag)
        if tag == "table":
            self.tables.append(0)
        elif tag == "td":
            self.tables[-1] += 1
        elif tag == "svg":
            self.pictures.append(0)
        elif tag in ("circle", "rect") and self.pictures:
            self.pictures[-1] += 1

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.stack.pop()

    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, f"</{tag}> within {self.stack}"
        self.stack.pop()

    def handle_data(self, data):
        if self.stack and self.stack[-1] not in ("style", "title"):
            self.words.append(data)


def read_page(path):
    page = Page()
    page.feed(path.read_text())
    page.close()
    assert not page.stack, f"never closed: {page.stack}"
    assert page.tables and all(page.tables), f"cells of the tables: {page.tables}"
    assert all(points > 1 for points in page.pictures), f"points of the pictures: {page.pictures}"
    assert set(page.links) <= page.ids, f"links to nothing: {set(page.links) - page.ids}"
    text = " ".join(page.words)
    assert "{" not in text and "nan" not in text.split(), "a figure that was not filled in"
    return page, text


def check_all(ptlbench, folder):
    out = folder / "out"
    out.mkdir()
    (out / "logp.ofi-net.json").write_text("of an earlier run")
    run(ptlbench, "all", "--out", out, "--quick", "--transport", "node", "--tests", "logp,crossover,operations")
    files = sorted(path.name for path in out.iterdir())
    assert files == ["crossover.node.json", "logp.node.json", "operations.node.json"], files
    for path in out.iterdir():
        document = json.loads(path.read_text())
        assert document["result"]["rows"], f"no rows in {path}"
        if jsonschema:
            jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert run(ptlbench, "report", out).strip() == str(out / "index.html")
    assert "all" in run(ptlbench, "agree", out, out).split(), "a run does not agree with itself"
    page, text = read_page(out / "index.html")
    assert len(page.pictures) >= 3, f"{len(page.pictures)} pictures"
    assert "first contact, to its ACK" in text and "198.63" in text, "ours and theirs are not there"
    assert "Not measured in this run" in text, "what was left out is not told"
    assert "emulated: " not in text or json.loads((out / "logp.node.json").read_text())["emulated"], "marked as emulated"
    return out


def check_busy(ptlbench, out):
    """What agree says of two runs has a warning beside it if the host took their processors."""
    for stolen in 0, 5:
        for path in out.glob("*.json"):
            document = json.loads(path.read_text())
            document["load"].update(others_cpu_percent=0, stolen_percent=stolen)
            path.write_text(json.dumps(document))
        said = run(ptlbench, "agree", out, out)
        assert ("was busy in 3 of 3 tests" in said) == (stolen == 5), said


def check_emulated(ptlbench, out):
    """Figures of an emulated device, as they come from a guest with one, are marked on the page."""
    path = out / "logp.node.json"
    document = json.loads(path.read_text())
    document["emulated"] = "network (rxe0)"
    path.write_text(json.dumps(document))
    run(ptlbench, "report", out)
    _, text = read_page(out / "index.html")
    assert "emulated: network (rxe0)" in text, "not marked as emulated"


def check_failure(ptlbench, folder):
    """A provider that is not there: each test says why, the others are run, and the page tells it."""
    out = folder / "failed"
    run(ptlbench, "all", "--out", out, "--quick", "--transport", "ofi:nothing", "--tests", "logp,operations", status=1)
    documents = [json.loads(path.read_text()) for path in out.iterdir()]
    assert len(documents) == 2, documents
    for document in documents:
        assert document["status"] and "nothing" in document["reason"] and document["result"] is None, document
        if jsonschema:
            jsonschema.Draft202012Validator(SCHEMA).validate(document)
    run(ptlbench, "report", out)
    _, text = read_page(out / "index.html")
    assert "failed: " in text


def check_pictures(ptlbench, folder):
    picture, histogram = folder / "p.svg", folder / "h.csv"
    run(ptlbench, "put-latency", "--transport", "node", "--sizes", "8:4K", "--quick", "--row-time", "20", "--plot", picture, "--hist", histogram)
    root = xml.etree.ElementTree.parse(picture).getroot()
    circles = root.findall(".//{http://www.w3.org/2000/svg}circle")
    assert root.tag.endswith("svg") and len(circles) == 6, f"{len(circles)} points for 6 sizes"
    run(ptlbench, "put-bandwidth", "--transport", "node", "--sizes", "8:64", "--quick", "--row-time", "20", "--window", "1,4", "--plot", folder / "w.svg")
    assert "window 4" in (folder / "w.svg").read_text(), "no curve for a window"
    run(ptlbench, "open", "--transport", "node", "--quick", "--plot", folder / "b.svg")
    run(ptlbench, "breakdown", "--transport", "node", "--quick", "--row-time", "20", "--plot", folder / "s.svg")
    bars = xml.etree.ElementTree.parse(folder / "s.svg").getroot().findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(bars) == 2 * 2 * 4, "four parts of two layers, ours and theirs"
    bars = xml.etree.ElementTree.parse(folder / "b.svg").getroot().findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(bars) == 3 and all(float(bar.get("width")) > 0 for bar in bars), "bars of open"
    lines = [line for line in histogram.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    assert {row["bytes"] for row in rows} == {"8", "32", "128", "512", "2048", "4096"}, rows
    assert all(float(row["from_ns"]) < float(row["to_ns"]) < 1.017 * float(row["from_ns"]) and int(row["count"]) > 0 for row in rows)
    if not shutil.which("gnuplot"):
        said = run(ptlbench, "put-latency", "--plot", folder / "p.png", status=1)
        assert "gnuplot" in said and "not installed" in said, said
    else:
        run(ptlbench, "logp", "--transport", "node", "--quick", "--row-time", "20", "--plot", folder / "p.png")
        assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")


def check_refusals(ptlbench, folder):
    for words, wanted in (
        (("all",), "needs --out"),
        (("all", "--out", folder / "o", "--tests", "logp,nothing"), "--tests nothing"),
        (("all", "--out", folder / "o", "--transport", "nothing"), "--transport nothing"),
        (("put-latency", "--plot", "p.pdf"), "ends in .svg or .png"),
        (("limits", "--plot", "p.svg"), "does not take --plot"),
        (("blocking", "--hist", "h.csv"), "does not take --hist"),
        (("report",), "usage: ptlbench report DIR"),
    ):
        said = run(ptlbench, *words, status=2)
        assert wanted in said, f"{words}: {said}"
    (folder / "empty").mkdir()
    assert "no results" in run(ptlbench, "report", folder / "empty", status=1)


def load_in_browser(page):
    browser = shutil.which("chromium")
    if os.environ.get("PORTALS_TEST_NIGHTLY") != "yes" or not browser:
        print("not loaded in a browser:", "no chromium" if not browser else "only at night")
        return
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom", f"file://{page}"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    assert "</html>" in done.stdout and "CONSOLE" not in done.stderr, done.stderr


def main(ptlbench):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_refusals(ptlbench, folder)
        out = check_all(ptlbench, folder)
        load_in_browser(out / "index.html")
        check_busy(ptlbench, out)
        check_emulated(ptlbench, out)
        check_failure(ptlbench, folder)
        check_pictures(ptlbench, folder)


main(*sys.argv[1:])
