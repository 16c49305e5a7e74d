#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""documents_test.py ROOT: every kind of error stands in docs/errors.md and every setting in docs/settings.md, and
nothing stands there that does not exist; the program in README.md is that of its example; commands have one line each.
Then that it finds what is missing and what is too much."""
import pathlib
import re
import sys


def names(pattern, text):
    return set(re.findall(pattern, text, re.MULTILINE))


def complaints(header, errors_page, settings_source, settings_page):
    kinds = names(r"^  (PST_ERROR_\w+) = ", header) - {"PST_ERROR_NONE"}
    settings = names(r'"(PENSTOCK_\w*[A-Z0-9])"', settings_source) - {"PENSTOCK_ROOT", "PENSTOCK_DIR"}
    pages = (
        ("docs/errors.md", kinds, names(r"^\| `(PST_ERROR_\w+)`", errors_page)),
        ("docs/settings.md", settings, names(r"^\| `(PENSTOCK_\w+)`", settings_page)),
    )
    for page, there, told in pages:
        yield from (f"{page} does not tell of {name}" for name in sorted(there - told))
        yield from (f"{page} tells of {name}, which does not exist" for name in sorted(told - there))


def programs(page):
    """Each program of a page, with the file that its text names last before it."""
    for before, program in re.findall(r"(.*?)```c\+\+\n(.*?)```", page, re.DOTALL):
        yield re.findall(r"\((examples/[\w.]+)\)", before)[-1], program


def run_together(page):
    """Lines of code into which a tool for prose has drawn the next command."""
    code = re.findall(r"^```\w*\n(.*?)^```", page, re.MULTILINE | re.DOTALL) + re.findall(r"^    .*$", page, re.MULTILINE)
    return [line.strip() for block in code for line in block.splitlines() if re.search(r" \\ \S|\bdone [a-z]", line)]


root = pathlib.Path(sys.argv[1])
pages = [*root.glob("*.md"), *root.glob("docs/**/*.md")]
assert pages
broken = [f"{page}: {line}" for page in pages for line in run_together(page.read_text())]
print("\n".join(broken))
assert not broken
assert run_together("```sh\nfor i in 1 2\ndone cd ..\n```\n") == ["done cd .."]
assert run_together("    run.py \\ --keep\n") == ["run.py \\ --keep"]
shown = list(programs((root / "README.md").read_text()))
assert shown
for example, program in shown:
    assert program in (root / example).read_text(), f"README.md shows another program than {example}"
files = ["include/penstock/penstock.h", "docs/errors.md", "src/base/settings.cpp", "docs/settings.md"]
texts = [(root / each).read_text() for each in files]
found = list(complaints(*texts))
print("\n".join(found))
assert not found

header, errors_page, settings_source, settings_page = texts
planted = list(
    complaints(
        header + "\n  PST_ERROR_PLANTED = 99,",
        errors_page,
        settings_source.replace('"PENSTOCK_TRACE"', '"PENSTOCK_PLANTED"'),
        settings_page,
    )
)
assert planted == [
    "docs/errors.md does not tell of PST_ERROR_PLANTED",
    "docs/settings.md does not tell of PENSTOCK_PLANTED",
    "docs/settings.md tells of PENSTOCK_TRACE, which does not exist",
], planted
