#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that loading the library does not load what is loaded when it is wanted: libfabric and CUDA's driver.

Usage: check_needed.py READELF LIBRARY
"""

import re
import subprocess
import sys

WHEN_WANTED = ("libfabric", "libcuda.")


def main():
    readelf, library = sys.argv[1:]
    lines = subprocess.run([readelf, "-d", library], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", lines)
    print(f"needs {', '.join(needed)}")
    wrong = [name for name in needed if name.startswith(WHEN_WANTED)]
    for name in wrong:
        print(f"is loaded with the library, and should be when it is wanted: {name}")
    sys.exit(1 if wrong or not needed else 0)


if __name__ == "__main__":
    main()
