# SPDX-License-Identifier: Apache-2.0
"""Looks at the built site: each link inside leads to a page and a place on it, and each name has its entry."""

import html.parser
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.places.add(value)
            if name in ("href", "src") and value:
                self.links.append(value)


def complaints(folder, names, settings):
    pages = {path.relative_to(folder).as_posix(): Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    for name, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (folder / name).parent / urllib.parse.unquote(parts.path) if parts.path else folder / name
            target = target.resolve()
            if not target.exists():
                yield f"{name}: {link} leads nowhere"
            elif parts.fragment and target.suffix == ".html":
                there = pages[target.relative_to(folder.resolve()).as_posix()].places
                if urllib.parse.unquote(parts.fragment) not in there:
                    yield f"{name}: {link} has no such place on its page"
    places = set().union(*(page.places for page in pages.values()))
    entries = {place.split(".")[-1] for place in places if place.startswith("c.")}  # c.PST_Error.PST_ERROR_NONE
    yield from (f"{name} has no entry" for name in sorted(names - entries))
    yield from (f"{name} has no entry" for name in sorted(settings) if f"envvar-{name}" not in places)
