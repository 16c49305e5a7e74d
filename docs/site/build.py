#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build.py ROOT OUT: the documentation site in OUT/html, by Sphinx with furo and myst-parser. Every warning is an error, each
link inside is followed, and each PST_ name of the public headers and each setting has an entry."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import check
import pages


def main():
    root, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    site = pages.write_site(root, out / "source")
    numbers = re.findall(
        r"^#define PST_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", (root / "include/penstock/penstock.h").read_text(), re.M
    )
    shutil.rmtree(out / "html", ignore_errors=True)
    quiet = [] if sys.stdout.isatty() else ["-q"]
    sphinx = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "-W",
        "--keep-going",
        *quiet,
        "-d",
        out / "doctrees",
        "-E",
        out / "source",
        out / "html",
    ]
    if subprocess.run(sphinx, env=os.environ | {"PENSTOCK_VERSION": ".".join(numbers)}).returncode != 0:
        sys.exit("docs: Sphinx has complained, see above")
    wrong = list(check.complaints(out / "html", pages.names_of_headers(root), site.settings))
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"docs: {out / 'html/index.html'}")


if __name__ == "__main__":
    main()
