#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the library exports what the headers declare and the recorder lists, and nothing else.

Usage: check_symbols.py NM LIBRARY RECORDER_CONFIG_H HEADER...
"""

import re
import subprocess
import sys
from pathlib import Path


def exported(nm, library):
    lines = subprocess.run([nm, "-D", "--defined-only", "--format=posix", library], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    return {line.split()[0].split("@")[0] for line in lines if line}


def declared(headers):
    text = "".join(Path(header).read_text(encoding="utf-8") for header in headers)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return set(re.findall(r"^PST_API\s+\w+\s+(PST_\w+)\s*\(", text, flags=re.MULTILINE))


def recorded(config):
    return set(re.findall(r"^#define PENSTOCK_HAVE_(MPIX?_\w+) 1$", Path(config).read_text(encoding="utf-8"),
                          flags=re.MULTILINE))


def main():
    nm, library, config, *headers = sys.argv[1:]
    functions, wrappers, symbols = declared(headers), recorded(config), exported(nm, library)
    for name in sorted((functions | wrappers) - symbols):
        print(f"not exported: {name}")
    for name in sorted(symbols - functions - wrappers):
        print(f"exported, but neither in a header nor in recorder.list: {name}")
    print(f"{len(functions)} functions declared, {len(wrappers)} MPI functions recorded, {len(symbols)} symbols exported")
    sys.exit(0 if functions and functions | wrappers == symbols else 1)


if __name__ == "__main__":
    main()
