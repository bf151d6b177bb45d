#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Doxygen's input filter: gives the comments of a public header the markup that the header itself does without.

What a header keeps to, and this file relies on:
- a comment at the margin that a blank line follows is a chapter: a group of what comes behind it, to the next one;
- any other comment at the margin belongs to the declarations behind it, to the next blank line;
- a line "  NAME  text", with lines indented further behind it, is an item: of a parameter, of a return code, or of a list;
- ("Section") at the end names a section of the specification.
"""
import pathlib
import re
import sys

ITEM = re.compile(r"^ {2,5}((?:[A-Za-z_*][\w.*]*)(?:, ?[A-Za-z_*][\w.*]*)*,?)(?: {2,}(.*))?$")
SECTION = re.compile(r'\s*\("([^"]+)"(?:, "[^"]+")*\)\.?\s*$')


def escape(text):
    return re.sub(r"([\\@<>&#%])", r"\\\1", text).replace("*", r"\*")


class Comment:
    """The blocks of one comment: ("text", lines), ("code", lines) or ("items", [(names, text)])."""

    def __init__(self, lines):
        self.blocks = []
        self.section = None
        self.parse(lines)

    def last(self, kind):
        if not self.blocks or self.blocks[-1][0] != kind:
            self.blocks.append((kind, []))
        return self.blocks[-1][1]

    def parse(self, lines):
        text = "\n".join(lines)
        found = SECTION.search(text)
        if found and text[:found.start()].strip():
            self.section = found.group(1)
            text = text[:found.start()]
        blank = True
        for line in text.split("\n"):
            if not line.strip():
                self.blocks.append(("blank", []))
                blank = True
                continue
            self.line(line, blank)
            blank = False
        self.blocks = [block for block in self.blocks if block[1]]

    def line(self, line, after_blank):
        indent = len(line) - len(line.lstrip())
        item = ITEM.match(line)
        kind = self.blocks[-1][0] if self.blocks else None
        if kind == "code" or (indent >= 4 and not item and (after_blank or kind == "text")):
            self.last("code").append(line)
        elif item and indent < 6 and not (kind == "items" and indent >= 4 and self.deep() < indent):
            self.item(item, indent)
        elif indent >= 2 and kind == "items":
            names, words, depth = self.blocks[-1][1][-1]
            self.blocks[-1][1][-1] = (names, f"{words} {line.strip()}".strip(), depth)
        else:
            self.last("text").append(line.strip())

    def deep(self):
        return self.blocks[-1][1][-1][2]

    def item(self, item, indent):
        items = self.last("items")
        if items and items[-1][0].endswith(","):
            names, words, depth = items[-1]
            items[-1] = (f"{names} {item.group(1)}", f"{words} {item.group(2) or ''}".strip(), depth)
        else:
            items.append((item.group(1), item.group(2) or "", indent))

    def markup(self, codes, parameters):
        out = []
        for kind, lines in self.blocks:
            if kind == "text":
                out += bullets(lines) + [""]
            elif kind == "code":
                out += ["@code{.c}"] + lines + ["@endcode", ""]
            else:
                out += [entry(names, words, codes, parameters) for names, words, _ in lines] + [""]
        if self.section:
            out += [f"@par Specification\n{escape(self.section)}", ""]
        return out


def bullets(lines):
    return [re.sub(r"^- ", "@li ", escape(line)) for line in lines]


def entry(names, words, codes, parameters):
    parts = names.replace(",", " ").split()
    if all(part in codes for part in parts):
        return "\n".join(f"@retval {part} {escape(words or MEANINGS.get(part, 'see portals3(7)'))}" for part in parts)
    if all(part in parameters for part in parts):
        return f"@param {','.join(parts)} {escape(words)}"
    return f"@li <b>{escape(names)}</b>: {escape(words)}"


def strip(comment):
    body = re.sub(r"\A/\*|\*/\Z", "", comment)
    return [re.sub(r"^ \*( |$)|^ (?=\S)", "", line).rstrip() for line in body.split("\n")]


def title_of(comment):
    """Of a chapter: its first sentence, if that stands alone, without the sections it names."""
    first = comment.blocks[0][1][0] if comment.blocks else ""
    return re.sub(r'\s*\("[^.]*\)\.?.*$|\..*$', "", first)


def translate(source, name, codes):
    pieces = re.split(r"(^/\*.*?\*/)", source, flags=re.S | re.M)
    out, open_group, groups = [f"/** @file {name} */\n"], False, 0
    for at in range(1, len(pieces), 2):
        comment, behind = Comment(strip(pieces[at])), pieces[at + 1]
        if not comment.blocks or "SPDX" in pieces[at]:
            out.append(behind)
        elif behind.startswith("\n\n") or behind.startswith(("\n#ifndef PORTALS3", "\n#ifndef P3RT")):
            groups += 1
            title = title_of(comment) if groups > 1 else TITLES.get(name, name)
            out.append("/** @} */\n" if open_group else "")
            out.append("/** @defgroup {0}_{1} {2}\n{3}\n@{{ */\n".format(
                re.sub(r"\W", "_", name), groups, escape(title), "\n".join(comment.markup(codes, set()))))
            out.append(behind)
            open_group = True
        else:
            out.append(declarations(comment, behind, codes))
    out.append("/** @} */\n" if open_group else "")
    return "".join(out)


def trailing(code):
    """Comments behind a member or a constant, on its line."""
    def behind(found):
        return " /**< {} */".format(escape(re.sub(r"\s*\n[ \t]*\*", "", found[1]).strip()))
    return re.sub(r"(?<=[;,)}\w])[ \t]+/\*(.*?)\*/", behind, code, flags=re.S)


def declarations(comment, behind, codes):
    """The comment before each function of the block behind it; before the first thing, if there are none."""
    block, _, rest = behind.partition("\n\n")
    functions = re.split(r"(?<=;)\n(?=\S)", block)
    if not re.search(r"\b[Pp]tl\w+\(", block) or "typedef" in block or "#define" in block:
        return "/**\n" + "\n".join(comment.markup(codes, set())) + "*/" + trailing(behind)
    out = []
    for function in functions:
        parameters = set(re.findall(r"(\w+)(?:\[\])?\s*[,)]", function))
        out.append("/**\n" + "\n".join(comment.markup(codes, parameters)) + "*/\n" + function.strip("\n"))
    return "\n".join(out) + "\n\n" + rest


# What a code says that a call lists without a text.
MEANINGS = {"PTL_OK": "success", "PTL_NO_INIT": "the library is not initialised, see portals3(7)"}
TITLES = {"portals3.h": "Portals 3.3", "portals3_ext.h": "Calls of other implementations", "portals3_nic.h": "The instrument", "p3rt.h": "Ranks"}


def codes_beside(header):
    """The return codes: those of portals3.h, which lies beside the header or above it."""
    source = next(folder / "portals3.h" for folder in header.resolve().parents if (folder / "portals3.h").exists()).read_text("utf-8")
    return set(re.findall(r"^\t(PTL_\w+)", re.search(r"Return codes.*?ptl_err_t;", source, re.S).group(0), re.M))


if __name__ == "__main__":
    header = pathlib.Path(sys.argv[1])
    with header.open(encoding="utf-8") as file:
        sys.stdout.write(translate(file.read(), header.name, codes_beside(header)))
