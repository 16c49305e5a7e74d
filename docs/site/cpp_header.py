# SPDX-License-Identifier: Apache-2.0
"""Reads a C++ header of Penstock's: what stands at its left margin, apart by blank lines, each with the comment before it.
Functions lose their bodies and classes their private parts; namespaces `detail` are left out."""

import dataclasses
import re

TITLE = re.compile(r"// -{2,} (.*?) -+$")
KIND = re.compile(r"^(?:class|struct|enum class|concept|using) (?:PST_API )?(\w+)", re.MULTILINE)
FUNCTION = re.compile(r"\b(\w+)\(")
VARIABLE = re.compile(r"(\w+)(?: = .*)?;")


@dataclasses.dataclass
class Entry:
    kind: str  # title, text, code
    name: str = ""
    text: str = ""
    code: str = ""


def uncommented(lines):
    return "\n".join(re.sub(r"^// ?", "", line) for line in lines).strip("\n")


def chunks(text):
    """Runs of lines that begin at the left margin; a blank line ends one where no brace is open."""
    lines, depth = [], 0
    for line in text.splitlines():
        if not line.strip() and depth == 0:
            if lines:
                yield lines
            lines = []
            continue
        if re.match(r"namespace [\w:]+ \{|\}  // namespace|#|\}$", line) and depth == 0:
            if lines:
                yield lines
            lines = []
            yield [line]
            continue
        code = re.sub(r"//.*|\"(?:[^\"\\]|\\.)*\"|'.'", "", line)
        depth += code.count("{") - code.count("}")
        lines.append(line)
    if lines:
        yield lines


def end_of_body(code, begin):
    depth = 0
    for place in range(begin, len(code)):
        depth += {"{": 1, "}": -1}.get(code[place], 0)
        if depth == 0:
            return place + 1
    return len(code)


def without_bodies(code):
    """Each function ends where its body or the list of its constructor begins."""
    result, place = "", 0
    while match := re.search(
        r"\)(?: const| noexcept| override)*(?:\s*requires [^{;]+?)?(?P<list>\s+: (?=\w))?(?P<end>(?(list)|\s*\{))",
        code[place:],
    ):
        begin = place + match.start("list" if match["list"] else "end")
        if match["list"]:
            brace = re.compile(r"(?<=[ )]){").search(code, begin)
            if not brace:
                break
            end = end_of_body(code, brace.start())
        else:
            end = end_of_body(code, place + match.end("end") - 1)
        result += code[place:begin] + ";"
        place = end
    return result + code[place:]


def public_part(code):
    lines, shown, depth = [], True, 0
    for line in code.splitlines():
        access = re.match(r"^ (public|private|protected):", line)
        if access:
            shown = access[1] == "public"
        if shown or line.startswith("}"):
            lines.append(line)
    text = "\n".join(lines)
    return re.sub(r"\n\s*\n\};", "\n};", re.sub(r"\n{3,}", "\n\n", text))


def name_of(code):
    plain = re.sub(r"^template <[^\n]*>\n|\brequires *\([^)]*\) *|\brequires [^\n]*$", "", code, flags=re.MULTILINE)
    for pattern in (KIND, FUNCTION, VARIABLE):
        if match := pattern.search(plain):
            return match[1]
    return None


def is_inner(namespaces):
    return any(name.endswith("detail") for name in namespaces)


def read(header):
    entries, namespaces = [], []
    for lines in chunks(header):
        if begin := re.match(r"namespace ([\w:]+) \{", lines[0]):
            namespaces.append(begin[1])
            continue
        if lines[0].startswith("}  // namespace"):
            namespaces.pop()
            continue
        if lines[0].startswith(("#", "}")) or is_inner(namespaces):
            continue
        comment = [line for line in lines if line.startswith("//")]
        code = "\n".join(lines[len(comment) :])
        if title := TITLE.match(lines[0]):
            entries.append(Entry("title", title[1]))
        elif not code:
            text = uncommented(comment)
            if not text.startswith("SPDX"):
                entries.append(Entry("text", text=text))
            elif "\n" in text:
                entries.append(Entry("text", text=text.split("\n", 1)[1].strip("\n")))
        elif namespaces and not re.match(r"(template <[^>]*>\s*)?class \w+;", code):
            qualified = "::".join(namespaces + [name_of(code) or ""]).removesuffix("::")
            if not code.startswith(("enum", "using")):
                code = public_part(without_bodies(code)) if "concept " not in code else code
            entries.append(Entry("code", qualified, uncommented(comment), code))
    return entries
