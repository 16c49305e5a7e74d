#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pages_test.py ROOT: every PST_ name of the public headers and every setting has an entry in the pages of the site, every
document is in one part of it, links of documents lead to files; then that what is missing is found, and how headers are read.
"""

import sys
import tempfile
from pathlib import Path

root = Path(sys.argv[1])
sys.path.insert(0, str(root / "docs/site"))
import c_header  # noqa: E402
import check  # noqa: E402
import cpp_header  # noqa: E402
import pages  # noqa: E402


def written(folder):
    site = pages.write_site(root, folder)
    entries = {name for header in site.c_headers.values() for name in c_header.names(header)}
    return site, entries, {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.md")}


with tempfile.TemporaryDirectory() as work:
    site, entries, texts = written(Path(work) / "source")
    names = pages.names_of_headers(root)
    assert len(names) > 140 and not names - entries, names - entries
    reference = "".join(text for name, text in texts.items() if name.startswith("include/"))
    # Of macros that two headers define one has an entry; all others have one each.
    for name in ("PST_Enqueue_wait", "PST_MPIX_FOURTH_", "PST_Bag_put", "PST_MPIX_Win_wait_stream"):
        directives = [line for line in reference.splitlines() if line.startswith("::::{c:") and name + "(" in line]
        assert len(directives) == 1, (name, directives)
    assert len(site.settings) > 30
    for setting in site.settings:
        assert f"```{{envvar}} {setting}\n" in texts["docs/settings.md"], setting
    assert "| variable |" not in texts["docs/settings.md"]
    assert "include/penstock/penstock.h.md" in texts["index.md"] and not any(
        "README.md)" in text for text in texts.values()
    )

    # A new page needs no other change; one that is listed and not there would be a warning of Sphinx's.
    parts = pages.complete(root)
    for page in pages.documents(root)[1:]:
        assert sum(page.removesuffix(".md") in listed for listed in parts.values()) == 1, page
    (Path(work) / "docs/design").mkdir(parents=True)
    (Path(work) / "docs/design/new.md").write_text("# New\n")
    assert pages.complete(Path(work))["Design"][-1] == "docs/design/new"

    # The looks at the built site.
    built = Path(work) / "html"
    built.mkdir()
    (built / "a.html").write_text(
        '<p id="c.PST_Error.PST_ONE"></p><a href="b.html#here"></a><a href="b.html#there"></a>'
        '<a href="c.html"></a><a href="https://example.org/x"></a>'
    )
    (built / "b.html").write_text('<p id="here"></p><dt id="envvar-PENSTOCK_ONE"></dt>')
    assert list(check.complaints(built, {"PST_ONE", "PST_TWO"}, {"PENSTOCK_ONE", "PENSTOCK_TWO"})) == [
        "a.html: b.html#there has no such place on its page",
        "a.html: c.html leads nowhere",
        "PST_TWO has no entry",
        "PENSTOCK_TWO has no entry",
    ]

HEADER = """/* SPDX */
#ifndef PENSTOCK_X_H
#define PENSTOCK_X_H

/* ---- A title ---- */

/* Of its own. */

/* Of both. */
PST_API int PST_One(int a,
                    int b);
PST_API int PST_Two(void);

/* Kinds. */
typedef enum {
  PST_A = 0, /* first,
                and more */
  PST_B = 1
} PST_Kind;
#define PST_N ((PST_Kind)0)
static inline int PST_Three(int x) {
  return x;
}
int PST_forgotten;
"""
read = c_header.share_texts(c_header.read(HEADER))
assert [(entry.kind, entry.name, entry.text) for entry in read] == [
    ("text", "", "SPDX"),
    ("title", "A title", ""),
    ("text", "", "Of its own."),
    ("function", "PST_One", ""),
    ("function", "PST_Two", "Of both."),
    ("enum", "PST_Kind", "Kinds."),
    ("macro", "PST_N", ""),
    ("function", "PST_Three", ""),
], read
assert read[3].signature == "int PST_One(int a, int b)" and read[5].parts[0].text == "first, and more"
assert "PST_forgotten" not in set(c_header.names(read))

CLASS = """namespace penstock {

namespace detail {

class Hidden {};

}  // namespace detail

// Owns it.
template <class T>
class Owner : public View {
 public:
  explicit Owner(T value) : value_(value), other_{} {
    if (value) { value(); }
  }
  // Blocks.
  void wait() const { check(call(value_)); }
  int operator()(int x) const noexcept;

 private:
  T value_;
};

}  // namespace penstock
"""
(owner,) = cpp_header.read(CLASS)
assert (owner.name, owner.text) == ("penstock::Owner", "Owns it.")
assert owner.code == """template <class T>
class Owner : public View {
 public:
  explicit Owner(T value);
  // Blocks.
  void wait() const;
  int operator()(int x) const noexcept;
};""", owner.code
