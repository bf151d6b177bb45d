#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages in mdoc(7): one a function, from doxygen's XML of the public headers, and portals3(7), from that, from the table of
settings and from the README's first program.

usage: man.py XML-FOLDER OUTPUT-FOLDER SOURCES
"""
import datetime
import os
import pathlib
import re
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

OTHER_PAGES = ["portals3 7"]


def escape(text):
    """For a line of running text: mdoc's own characters, and no line that begins as a request would."""
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e"))


def words_of(node):
    """The text of a paragraph, without the lists in it."""
    text = node.text or ""
    for child in node:
        if child.tag not in BLOCKS:
            text += words_of(child)
        text += child.tail or ""
    return text


def running(text):
    """A sentence a line, as mdoc wants it, and no longer lines than people read."""
    text = " ".join(text.split())
    sentences = re.split(r"(?<=[.?!])\s+(?=[A-Z])", text)
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, 110, break_long_words=False,
                                                                    break_on_hyphens=False)]
    return [escape(line) for line in lines]


def listed(items, width):
    out = [f".Bl -tag -width {width} -compact"]
    for tag, lines in items:
        out += [f".It {tag}"] + lines
    return out + [".El"]


def parameters(node, macro):
    items = []
    for item in node.findall("parameteritem"):
        names = [words_of(name) for name in item.iter("parametername")]
        items.append((" , ".join(f"{macro} {name}" if at == 0 else f"{name}" for at, name in enumerate(names)),
                      running(words_of(item.find("parameterdescription/para") or item.find("parameterdescription")))))
    return items


def itemized(node):
    out = [".Bl -bullet"]
    for item in node.findall("listitem"):
        out.append(".It")
        for para in item.findall("para"):
            out += running(words_of(para))
    return out + [".El"]


def code_line(line):
    text = ""
    for part in line.iter():
        text += " " if part.tag == "sp" else part.text or ""
        text += part.tail or "" if part.tag in ("sp", "ref") else ""
    return escape(text)


BLOCKS = {"parameterlist", "itemizedlist", "programlisting", "simplesect"}


class Page:
    def __init__(self, member, chapter):
        self.name = member.findtext("name")
        self.member = member
        self.chapter = chapter
        self.returns, self.standard, self.body = [], None, []
        self.read(member)

    def read(self, described):
        for place in ("briefdescription", "detaileddescription"):
            for para in described.find(place).findall("para"):
                self.paragraph(para)
        # Doxygen makes the first sentence a paragraph of its own.
        if len(self.body) > 1 and described.find("briefdescription/para") is not None and not self.body[1][0].startswith("."):
            self.body[:2] = [self.body[0] + self.body[1]]

    def paragraph(self, para):
        """Text and lists in their order."""
        text = para.text or ""
        for child in para:
            if child.tag in BLOCKS:
                self.flush(text)
                self.block(child)
                text = child.tail or ""
            else:
                text += words_of(child) + (child.tail or "")
        self.flush(text)

    def flush(self, text):
        lines = running(text)
        if lines:
            self.body.append(lines)

    def block(self, block):
        if block.tag == "itemizedlist":
            self.body.append(itemized(block))
        elif block.tag == "programlisting":
            self.body.append([".Bd -literal -offset indent"] + [code_line(line) for line in block.iter("codeline")] + [".Ed"])
        elif block.tag == "simplesect":
            self.standard = " ".join(words_of(block.find("para")).split())
        elif block.get("kind") == "retval":
            self.returns += parameters(block, "Dv")
        else:
            self.body.append(listed(parameters(block, "Fa"), "remote_offset"))

    def summary(self):
        first = self.body[0][0] if self.body else self.name
        first = re.split(r"[.:;](?:\s|$)", first)[0]
        if re.match(r"[A-Z][a-z ]", first) and not first.startswith("Ptl"):
            first = first[0].lower() + first[1:]
        return first

    def mentions(self, names):
        text = " ".join(line for block in self.body + [[line for _, lines in self.returns for line in lines]] for line in block)
        return sorted({name for name in re.findall(r"\bPtl\w+", text) if name in names and name != self.name})

    def text(self, date, names):
        kind = "".join(self.member.find("type").itertext()).removeprefix("static ")
        out = ['.\\" Made from the comments of the header file; changes belong there.', f".Dd {date}",
               f".Dt {self.name.upper()} 3", ".Os", ".Sh NAME", f".Nm {self.name}", f".Nd {self.summary()}",
               ".Sh LIBRARY", "portals3 (libportals3, \\-lportals3)",
               ".Sh SYNOPSIS", f".In {self.chapter.header}", f'.Ft "{kind}"', f".Fo {self.name}"]
        for parameter in self.member.findall("param"):
            type_text = "".join(parameter.find("type").itertext())
            name = parameter.findtext("declname") or ""
            join = "" if type_text.endswith("*") or not name else " "
            out.append(f'.Fa "{type_text}{join}{name}"')
        out += [".Fc", ".Sh DESCRIPTION"]
        out += join_paragraphs(self.body)
        shared = self.chapter.shared()
        if shared:
            out += [f".Ss {self.chapter.title}"] + join_paragraphs(shared)
        if self.returns:
            out += [".Sh RETURN VALUES"] + listed(self.returns, "PTL_PROCESS_INVALID")
        related = [name for name in self.mentions(names)]
        links = [f"{name} 3" for name in related] + OTHER_PAGES
        out += [".Sh SEE ALSO"] + [f".Xr {link} ," for link in links[:-1]] + [f".Xr {links[-1]}"]
        if self.standard:
            out += [".Sh STANDARDS", "The Portals 3.3 Message Passing Interface, section", f".Dq {self.standard} ."]
        return "\n".join(out) + "\n"


def join_paragraphs(blocks):
    out = []
    for at, block in enumerate(blocks):
        if at and not block[0].startswith((".Bl", ".Bd")):
            out.append(".Pp")
        out += block
    return out


class Chapter:
    """What functions that follow each other share: doxygen's group."""

    def __init__(self, group, first):
        self.title = group.findtext("title")
        self.header = None
        self.pages = []
        self.own = not first
        for member in group.iter("memberdef"):
            if member.get("kind") == "function":
                self.header = header_of(member)
                self.pages.append(Page(member, self))
        reader = Page.__new__(Page)
        reader.body, reader.returns, reader.standard = [], [], None
        reader.read(group)
        self.introduction = reader.body

    def shared(self):
        """The chapter's introduction, but for its title; a header's own is in portals3(7)."""
        blocks = [self.introduction[0][1:]] + self.introduction[1:] if self.introduction else []
        return [block for block in blocks if block] if self.own else []


def header_of(member):
    return re.sub(r"^(.*/include/)?(compat/)?", "", member.find("location").get("file"))


def date_of(paths):
    """Of the newest of these files, or what a reproducible build says."""
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", 0)) or max(path.stat().st_mtime for path in paths)
    day = datetime.datetime.fromtimestamp(moment, datetime.timezone.utc)
    return f"{day:%B} {day.day}, {day.year}"


def calls(chapters):
    out = []
    for chapter in chapters:
        links = [f".Xr {page.name} 3" for page in chapter.pages]
        if links:
            out += [f".It {chapter.title}"] + [f"{link} ," for link in links[:-1]] + links[-1:]
    return out


def settings(table):
    """Rows of docs/settings.md: variable, default, meaning."""
    out = []
    for line in table.splitlines():
        row = re.match(r"\| `(PTL_\w+)` \| (.*?) \| (.*) \|$", line)
        if row:
            default = row[2].strip(" `")
            out += [f".It Ev {row[1]}" + (f" Pq default: {default}" if default else "")] + running(plain(row[3]))
    return out


def plain(markdown):
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "")


def overview(template, sources, chapters, date):
    first = chapters[0].introduction
    program = re.search(r"```c\n(.*?)```", (sources / "README.md").read_text("utf-8"), re.S).group(1)
    texts = {"date": [date], "introduction": join_paragraphs(first), "calls": calls(chapters),
             "codes": ["Every call that can fail returns one of these:"] + codes((sources / "include/portals3.h").read_text("utf-8")),
             "settings": settings((sources / "docs/settings.md").read_text("utf-8")),
             "example": [escape(line).replace("\t", "        ") for line in program.rstrip().split("\n")]}
    return re.sub(r"@(\w+)@", lambda found: "\n".join(texts[found[1]]), template)


def codes(header):
    items = re.findall(r"^\t(PTL_\w+)[^/]*/\* (.*?) \*/", re.search(r"Return codes.*?ptl_err_t;", header, re.S).group(0), re.M)
    return listed([(f"Dv {name}", running(text)) for name, text in items], "PTL_ME_LIST_TOO_LONG")


def main(xml, output, sources):
    xml, output, sources = pathlib.Path(xml), pathlib.Path(output), pathlib.Path(sources)
    output.mkdir(parents=True, exist_ok=True)
    groups = [(path.name, ElementTree.parse(path).getroot().find("compounddef")) for path in xml.glob("group__*.xml")]
    groups.sort(key=lambda group: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", group[0])])
    chapters = [Chapter(group, name.endswith("__1.xml")) for name, group in groups]
    chapters.sort(key=lambda chapter: chapter.header != "portals3.h" and bool(chapter.pages))
    pages = [page for chapter in chapters for page in chapter.pages]
    names = {page.name for page in pages}
    date = date_of([sources / "include/portals3.h", sources / "include/portals3_nic.h"])
    for page in pages:
        (output / f"{page.name}.3").write_text(page.text(date, names), encoding="utf-8")
    template = (sources / "docs/reference/portals3.7.in").read_text("utf-8")
    (output / "portals3.7").write_text(overview(template, sources, chapters, date), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
