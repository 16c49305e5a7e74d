#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is missing on a machine is said in one line that names the cure: a compiler that is too old, no MPI, no Sphinx.

Usage: check_refusals.py SOURCE_TREE WORK_FOLDER GENERATOR CXX_COMPILER
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def script(path, text):
    path.write_text("#!/bin/bash\n" + text)
    path.chmod(0o755)
    return path


def refuses(words, *texts, **environment):
    done = subprocess.run(
        [str(word) for word in words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | environment,
    )
    said = " ".join(done.stdout.split())
    if done.returncode == 0 or not all(text in said for text in texts):
        sys.exit(f"expected a failure with {texts}, got status {done.returncode} and:\n{done.stdout}")


def main():
    source, work, generator, compiler = sys.argv[1:]
    work = Path(work)
    shutil.rmtree(work, ignore_errors=True)
    (work / "tools").mkdir(parents=True)
    configure = ["cmake", "-S", source, "-B", work / "tree", "-G", generator]

    # A compiler that says of itself that it is an older one.
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    if "Free Software Foundation" in version:
        old = script(work / "g++-old", f'exec {compiler} -Wno-builtin-macro-redefined -U__GNUC__ -D__GNUC__=10 "$@"\n')
        refuses(
            [*configure, f"-DCMAKE_CXX_COMPILER={old}"], "is GNU 10.", "needs GCC 12 or later", "-DCMAKE_CXX_COMPILER="
        )
    else:
        print(f"skipped: an old compiler, as {compiler} is not GCC")
    shutil.rmtree(work / "tree", ignore_errors=True)
    refuses(
        [*configure, f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON"],
        "No MPI of version 3.1 or later was found",
        "libmpich-dev",
        "-DMPI_C_COMPILER=",
    )

    # A Python that has none of the packages.
    script(work / "python3", "exit 1\n")
    shutil.copy(Path(source) / "tools/docs", work / "tools/docs")
    refuses(
        [work / "tools/docs"], "no Python here has Sphinx", "tools/setup --docs", PATH=f"{work}:{os.environ['PATH']}"
    )


if __name__ == "__main__":
    main()
