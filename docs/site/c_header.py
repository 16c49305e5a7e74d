# SPDX-License-Identifier: Apache-2.0
"""Reads a C header of Penstock's as its authors write them: a comment stands before what it describes, without a blank line
between; one comment may describe several declarations; a comment of its own is a text of the page; /* ---- Title ---- */
begins a section."""

import dataclasses
import re
import typing

TOKEN = re.compile(
    r"(?P<comment>/\*.*?\*/)"
    r"|(?P<directive>\#(?:[^\n\\]|\\.)*)"
    r"|(?P<wrapper>extern \"C\" \{|\}(?=\s*(?:\#|\Z)))"
    r"|(?P<declaration>(?:typedef|PST_API|static inline)\b.*?)(?=;|\{)",
    re.DOTALL,
)
TITLE = re.compile(r"/\* -{2,} (.*?) -+ \*/")
ENUMERATOR = re.compile(r"(?P<name>PST_\w+) = (?P<value>\w+),?(?:\s*/\* (?P<text>.*?) \*/)?", re.DOTALL)
MEMBER = re.compile(r"(?P<type>[\w ]+?) (?P<name>\w+);(?:\s*/\* (?P<text>.*?) \*/)?", re.DOTALL)


@dataclasses.dataclass
class Entry:
    kind: str  # title, text, function, macro, type, enum, struct
    name: str = ""
    signature: str = ""
    text: str = ""
    parts: list["Entry"] = dataclasses.field(default_factory=list)  # of an enum or a struct
    more: bool = False  # the next entry is of the same comment


def words_of(comment):
    """The text of a comment, without its frame."""
    lines = comment.removeprefix("/*").removesuffix("*/").split("\n")
    lines = [lines[0].removeprefix(" ")] + [re.sub(r"^ \* ?", "", line) for line in lines[1:]]
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def on_one_line(text):
    return " ".join(text.split())


def body_of(text, begin):
    """What stands between the brace at `begin` and its end, and the place behind that."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[begin + 1 : place], place + 1
    raise ValueError(f"no end of: {text[begin:begin + 60]}")


def macro(directive, text):
    match = re.match(r"#define (\w+(?:\([^)]*\))?)\s*(.*)", directive, re.DOTALL)
    if not match or match[1].startswith("PENSTOCK_"):
        return None
    return Entry(
        "macro",
        match[1].split("(")[0],
        match[1],
        text,
        [Entry("value", signature=on_one_line(match[2].replace("\\\n", "")))],
    )


def declared(header, match, text):
    """The entry of a declaration, and the place behind it."""
    words, place = on_one_line(match["declaration"]), match.end()
    if header[place] == "{" and words.startswith("typedef"):
        body, place = body_of(header, place)
        end = header.index(";", place)
        name = header[place:end].strip()
        kind = "enum" if words.startswith("typedef enum") else "struct"
        parts = []
        for part in (ENUMERATOR if kind == "enum" else MEMBER).finditer(body):
            signature = (
                part["name"] + " = " + part["value"] if kind == "enum" else part["type"].strip() + " " + part["name"]
            )
            parts.append(Entry("part", part["name"], signature, on_one_line(part["text"] or "")))
        return Entry(kind, name, name, text, parts), end + 1
    if header[place] == "{":
        place = body_of(header, place)[1]
    else:
        place += 1
    if words.startswith("typedef"):
        name = re.findall(r"\w+", words)[-1]
        return Entry("type", name, name, text, [Entry("value", signature=words)]), place
    signature = re.sub(r"^(PST_API|static inline) ", "", words)
    return Entry("function", re.search(r"(\w+)\(", signature)[1], signature, text), place


def read(header) -> typing.List[Entry]:
    entries, place, text, last_end = [], 0, None, 0
    while match := TOKEN.search(header, place):
        apart = "\n\n" in header[last_end : match.start()]
        place = match.end()
        if apart and text:
            entries.append(Entry("text", text=text))
        if apart:
            text = None
        if match["comment"]:
            if title := TITLE.match(match["comment"]):
                entries.append(Entry("title", title[1]))
            elif "clang-format" not in match["comment"]:
                if text:
                    entries.append(Entry("text", text=text))
                text = words_of(match["comment"])
        else:
            entry = None
            if match["directive"]:
                entry = macro(match["directive"], text or "")
            elif match["declaration"]:
                entry, place = declared(header, match, text or "")
            if entry:
                # A second one under the same comment shares its text.
                if not text and not apart and entries and entries[-1].kind == entry.kind and entry.kind == "function":
                    entries[-1].more = True
                entries.append(entry)
                text = None
        last_end = place
    return entries


def share_texts(entries):
    """The text of a group stands below its last declaration."""
    for first, second in zip(entries, entries[1:]):
        if first.more:
            second.text, first.text = first.text, ""
    return entries


def names(entries):
    for entry in entries:
        if entry.kind not in ("title", "text"):
            yield entry.name
            yield from (part.name for part in entry.parts if part.name)
