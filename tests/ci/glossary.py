#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# usage: glossary.py FILE...
# Of docs/glossary.md: every term occurs in the files; a word that is in use does too, and one that is gone does not,
# but for names that stay.
import re
import sys

GLOSSARY = "docs/glossary.md"
NOT_SEARCHED = {GLOSSARY, "CHANGELOG.md"}


def rows(text, heading):
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    return cells[2:]


def pattern(term):
    """A word as it stands in prose and in identifiers, with one ending; several words joined by anything short."""
    words = [re.escape(word) for word in term.removeprefix("to ").split()]
    return re.compile(r"(?<![a-z])" + r"[\s_*/#-]{1,9}".join(words) + r"(?:e?s|ing|ed)?(?![a-z])", re.I)


def first_place(texts, term):
    expression = pattern(term)
    for path, text in texts.items():
        if found := expression.search(text):
            return f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
    return None


def main():
    glossary = open(GLOSSARY).read()
    texts = {path: open(path, errors="replace").read() for path in sys.argv[1:] if path not in NOT_SEARCHED}
    for name, places, _ in rows(glossary, "Names that stay"):
        for path in texts:
            if any(path.endswith(place) for place in re.findall("`([^`]+)`", places)):
                texts[path] = re.sub(rf"\b(?:PTLBENCH_)?{name}\b", "", texts[path], flags=re.I)
    wrong = []
    for term, *_ in rows(glossary, "Terms"):
        if not first_place(texts, term):
            wrong.append(f"{GLOSSARY}: the term '{term}' is used nowhere")
    for word, _, state in rows(glossary, "Words that are gone"):
        place = first_place(texts, word)
        if state == "gone" and place:
            wrong.append(f"{place}: '{word}' is gone, see {GLOSSARY}")
        elif state == "in use" and not place:
            wrong.append(f"{GLOSSARY}: '{word}' is not in use any more: make it 'gone'")
        elif state not in ("gone", "in use"):
            wrong.append(f"{GLOSSARY}: '{word}' has no state")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
