# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the site, for Sphinx: the documents as they are, with links to files of the sources turned into links
to pages of these, settings as entries, and a reference page of each public header."""

import os
import posixpath
import re
import shutil
from pathlib import Path

import c_header
import cpp_header

# In this order; what is not named here stands at the end of its part (see complete()).
PARTS = {
    "Start": [
        "docs/building",
        "docs/porting",
        "docs/doctor",
        "docs/errors",
        "docs/settings",
        "docs/tuning",
        "docs/trace",
    ],
    "Use": ["docs/semantics", "docs/queue", "docs/channel", "docs/bag", "docs/rma", "docs/collectives", "docs/overlap"],
    "C": [
        "include/penstock/" + name
        for name in ("penstock.h", "channel.h", "bag.h", "mpix.h", "mpix_hpe.h", "mpix_window.h")
    ],
    "C++": [
        "include/penstock/" + name
        for name in (
            "penstock.hpp",
            "collectives.hpp",
            "channel.hpp",
            "bag.hpp",
            "window.hpp",
            "cuda.hpp",
            "halo.hpp",
            "halo_kinds.hpp",
        )
    ],
    "Measurements": [
        "docs/performance",
        "docs/bench",
        "docs/results/benchmarks",
        "docs/results/host",
        "docs/results/cuda",
        "docs/results/collectives",
        "docs/results/datatypes",
        "docs/results/windows",
        "docs/results/enqueued",
        "docs/results/applications",
        "docs/results/cg",
        "docs/results/network",
        "docs/results/foreign-tests",
    ],
    "Applications": ["docs/life", "docs/faces", "docs/jacobi", "docs/cg", "docs/comb"],
    "Design": [
        "docs/design/overview",
        "docs/protocol",
        "docs/design/matching",
        "docs/design/requests",
        "docs/design/transports",
        "docs/design/gpu",
        "docs/design/ofi",
        "docs/design/collectives",
        "docs/design/overlap",
        "docs/design/halo",
        "docs/design/decisions",
    ],
    "Project": ["docs/glossary", "docs/first_change", "CONTRIBUTING", "CHANGELOG", "LICENSE"],
}
OTHERS = (
    ("docs/results/*.md", "Measurements"),
    ("docs/design/*.md", "Design"),
    ("docs/*.md", "Use"),
    ("include/penstock/*.h", "C"),
    ("include/penstock/*.hpp", "C++"),
)
FENCE = re.compile(r"^( *)(```+|:::+)")
LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\])\(([^)\s]+)\)")
CODE_NAME = re.compile(r"(?<!`)`((?:PST|PENSTOCK)_\w+)`(?!`)")
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".cu": "cuda", ".py": "python"}
ROLES = {"function": "c:func", "macro": "c:macro", "type": "c:type", "struct": "c:struct", "enum": "c:enum"}


def complete(root):
    """The parts with all that there is."""
    parts = {part: list(pages) for part, pages in PARTS.items()}
    for pattern, part in OTHERS:
        listed = {page for pages in parts.values() for page in pages}
        names = sorted(path.relative_to(root).as_posix().removesuffix(".md") for path in root.glob(pattern))
        parts[part] += [name for name in names if name not in listed]
    return parts


class Site:
    def __init__(self, root, out):
        self.root, self.out = root, out
        self.parts = complete(root)
        headers = sorted(
            (root / "include/penstock").glob("*.h"), key=lambda path: (path.name != "penstock.h", path.name)
        )
        self.c_headers = {path.name: c_header.share_texts(c_header.read(path.read_text())) for path in headers}
        self.cpp_headers = {
            path.name: cpp_header.read(path.read_text()) for path in (root / "include/penstock").glob("*.hpp")
        }
        self.roles = {}
        for entry in (entry for entries in self.c_headers.values() for entry in entries):
            if entry.kind in ROLES and entry.name.startswith("PST_"):
                self.roles[entry.name] = ROLES[entry.kind]
            if entry.kind == "enum":
                self.roles |= {part.name: "c:enumerator" for part in entry.parts}
        self.settings = set(re.findall(r"^\| `(PENSTOCK_\w+)`", (root / "docs/settings.md").read_text(), re.MULTILINE))
        self.roles |= {name: "envvar" for name in self.settings}
        self.sources, self.described = set(), set()

    def write(self, name, text):
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    # ---- Documents

    def link(self, page, target):
        """Where a link of a document leads on the site."""
        address, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not address:
            return target
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), address))
        source = self.root / path
        if not source.exists():
            raise SystemExit(f"{page}: the link to {target} leads nowhere")
        if path == "README.md":
            path = "index.md"
        elif source.suffix in (".png", ".jsonl"):
            self.write_copy(path)
        elif source.suffix != ".md":
            self.sources.add(path)
            path += ".md"
        return posixpath.relpath(path, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")

    def write_copy(self, path):
        (self.out / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.root / path, self.out / path)

    def named(self, text):
        """Names of the API and of settings in `code` lead to their entries, but in links and headings."""
        if text.startswith("#"):
            return text
        links = [match.span() for match in LINK.finditer(text)]

        def role(match):
            known = match[1] in self.roles and not any(begin <= match.start() < end for begin, end in links)
            return f"{{{self.roles[match[1]]}}}`{match[1]}`" if known else match[0]

        return CODE_NAME.sub(role, text)

    def document(self, page):
        text, fence = [], None
        for line in (self.root / page).read_text().splitlines():
            mark = FENCE.match(line)
            if mark and (fence is None or mark[2] == fence):
                fence = mark[2] if fence is None else None
            elif fence is None and not line.startswith("    "):
                line = self.named(line)
            text.append(line)
        return self.linked(page, "\n".join(text) + "\n")

    def linked(self, page, text):
        pieces = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
        return "".join(
            (
                piece
                if piece.startswith("```")
                else LINK.sub(lambda match: f"{match[1]}({self.link(page, match[2])})", piece)
            )
            for piece in pieces
        )

    def settings_page(self, text):
        """Rows of tables become entries, which are found by name and can be read on a narrow screen."""

        def entry(match):
            name = match[1] or match[2]
            values, default, meaning = (cell.strip() for cell in match[3].replace("\\|", "\0").split(" | ", 2))
            meaning = meaning.removesuffix(" |").replace("\0", "|")
            return f"\n```{{envvar}} {name}\n**{values}**; default: {default}\n\n{meaning}\n```\n"

        text = re.sub(r"^\| variable \|.*\n\|---.*\n", "", text, flags=re.MULTILINE)
        return re.sub(r"^\| (?:`(\w+)`|\{envvar\}`(\w+)`) \| (.*)$", entry, text, flags=re.MULTILINE)

    def index(self):
        text = self.document("README.md")
        for part, pages in self.parts.items():
            text += (
                f"\n```{{toctree}}\n:hidden:\n:caption: {part}\n\n"
                + "\n".join(f"/{page}" for page in pages)
                + "\n```\n"
            )
        examples = sorted(path for path in self.sources if path.startswith("examples/"))
        text += (
            "\n```{toctree}\n:hidden:\n:caption: Examples\n\n" + "\n".join(f"/{path}" for path in examples) + "\n```\n"
        )
        return text

    def source_page(self, path):
        about = "" if path.startswith("examples/") or path in self.parts["Project"] else "---\norphan: true\n---\n\n"
        language = LANGUAGES.get(Path(path).suffix, "none")
        text = (self.root / path).read_text().rstrip("\n")
        return f"{about}# {Path(path).name}\n\n``````{{code-block}} {language}\n{text}\n``````\n"

    # ---- Reference

    def prose(self, text):
        """Markdown of a comment: lists stay lists, what is indented otherwise is shown as it stands."""
        blocks, lines, fenced, listed = [], text.split("\n"), False, False
        numbered = any(re.match(r"  \d+\. ", line) for line in lines)
        for line in lines:
            indented = line.startswith("  ") and not (numbered and (re.match(r"  \d+\. |     \S", line)))
            if listed and line and not line.startswith("  "):
                blocks.append("")  # else it would belong to the last item
            listed = numbered and line.startswith("  ")
            if indented != fenced and line:
                blocks.append("```text" if indented else "```")
                if not indented:
                    blocks.append("")
                fenced = indented
            blocks.append(line if fenced else self.inline(line.removeprefix("  ")))
        return "\n".join(blocks + (["```"] if fenced else []))

    def inline(self, line):
        pieces = re.split(r"(`[^`]*`)", line)
        for place, piece in enumerate(pieces):
            if piece.startswith("`"):
                continue
            piece = re.sub(r"([*<\[\]])", r"\\\1", piece)
            pieces[place] = re.sub(
                r"\b(PST_\w+)(?:\(\))?",
                lambda match: f"{{{self.roles[match[1]]}}}`{match[1]}`" if match[1] in self.roles else match[0],
                piece,
            )
        return "".join(pieces)

    def directive(self, kind, entry, inner=""):
        if entry.name in self.described:  # as where two headers, or two branches, define one macro
            return ""
        self.described.add(entry.name)
        return f"::::{{c:{kind}}} {entry.signature}\n\n{self.prose(entry.text)}\n\n{inner}\n::::\n"

    def part(self, kind, part):
        return f":::{{c:{kind}}} {part.signature}\n{self.inline(part.text)}\n:::\n"

    def c_entry(self, entry):
        if entry.kind == "title":
            return f"## {entry.name}\n"
        if entry.kind == "text":
            return self.prose(entry.text) + "\n"
        if entry.kind == "function":
            return self.directive("function", entry)
        if entry.kind in ("macro", "type"):
            value = entry.parts[0].signature
            return self.directive(entry.kind, entry, f"```c\n{value}\n```" if value else "")
        kind = "enumerator" if entry.kind == "enum" else "member"
        return self.directive(entry.kind, entry, "\n".join(self.part(kind, part) for part in entry.parts))

    def c_page(self, name):
        pieces, rows = [f"# {name}\n"], []
        for entry in self.c_headers[name]:
            if entry.kind == "macro" and not entry.name.startswith("PST_"):
                if entry.text:
                    rows.append("")
                    pieces.append(self.prose(entry.text) + "\n")
                value = entry.parts[0].signature
                shown = (
                    self.inline(value)
                    if value in self.roles
                    else f"`{value}`" if len(value) < 40 else "by its number of arguments"
                )
                pieces.append(f"| name | stands for |\n|---|---|\n| `{entry.signature}` | {shown} |\n")
                continue
            text = (
                entry.text.removeprefix("SPDX-License-Identifier: Apache-2.0").strip("\n")
                if entry.kind == "text"
                else None
            )
            if entry.kind == "text":
                entry.text = text
            pieces.append(self.c_entry(entry))
        page = "\n".join(pieces)
        # Rows that follow each other are one table.
        return re.sub(r"(\| [^\n]* \|\n)\n\| name \| stands for \|\n\|---\|---\|\n", r"\1", page)

    def cpp_page(self, name):
        pieces, level = [f"# {name}\n"], "##"
        for entry in self.cpp_headers[name]:
            if entry.kind == "title":
                level = "###"
                pieces.append(f"## {entry.name}\n")
            elif entry.kind == "text":
                pieces.append(self.prose(entry.text) + "\n")
            else:
                short = entry.name.split("::", 1)[-1]
                pieces.append(
                    f"```{{index}} single: {entry.name}\n```\n\n{level} {short}\n\n{self.prose(entry.text)}\n\n"
                    f"```cpp\n{entry.code}\n```\n"
                )
        return "\n".join(pieces)


def documents(root):
    return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] + sorted(
        str(path.relative_to(root)) for path in root.glob("docs/**/*.md")
    )


def write_site(root, out):
    site = Site(root, out)
    shutil.rmtree(out, ignore_errors=True)
    for page in documents(root)[1:]:
        text = site.document(page)
        site.write(page, site.settings_page(text) if page == "docs/settings.md" else text)
    site.sources |= {str(path.relative_to(root)) for path in root.glob("examples/*.*") if path.suffix in LANGUAGES}
    site.sources.add("LICENSE")
    site.write("index.md", site.index())
    for name in site.c_headers:
        site.write(f"include/penstock/{name}.md", site.c_page(name))
    for name in site.cpp_headers:
        site.write(f"include/penstock/{name}.md", site.cpp_page(name))
    for path in sorted(site.sources):
        if not path.startswith("include/penstock/"):
            site.write(path + ".md", site.source_page(path))
    shutil.copyfile(Path(__file__).parent / "conf.py", out / "conf.py")
    shutil.copytree(Path(__file__).parent / "static", out / "static")
    return site


def names_of_headers(root):
    """Every PST_ name of the public headers' code, but the tags of handles, which programs do not name."""
    names = set()
    for path in (root / "include/penstock").glob("*.h"):
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        names |= {name for name in re.findall(r"\bPST_\w+", code) if not name.endswith("_s")}
    return names
