#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs a project that has Penstock inside, instead of installed.

Usage: check_uninstalled.py SOURCE_TREE WORK_FOLDER GENERATOR MPICC MPIEXEC VERSION
Penstock is compiled once, from an archive that FetchContent unpacks; add_subdirectory and FetchContent from a folder compile
it as far as the first objects, since it is the same from there.
"""

import shutil
import sys
import tarfile
from pathlib import Path

from check_package import HERE, check, run

NOT_SOURCES = {"build", ".git", "__pycache__"}


def archive_of(source, work):
    path = work / "penstock.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for entry in sorted(source.iterdir()):
            if entry.name not in NOT_SOURCES:
                archive.add(entry, f"penstock/{entry.name}")
    return path


def configure(work, name, generator, mpicc, *options):
    folder = work / name
    run(
        "cmake",
        "-S",
        HERE / "uninstalled_consumer",
        "-B",
        folder,
        "-G",
        generator,
        f"-DMPI_C_COMPILER={mpicc}",
        "-DCMAKE_UNITY_BUILD=ON",
        "-DCMAKE_UNITY_BUILD_BATCH_SIZE=32",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O0",
        *options,
    )
    return folder


def main():
    source, work, generator, mpicc, mpiexec, version = sys.argv[1:]
    work = Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for name, option in (("by add_subdirectory", f"-DSUBDIRECTORY={source}"), ("from a folder", f"-DFOLDER={source}")):
        run("cmake", "--build", configure(work, name, generator, mpicc, option), "--target", "penstock_room_base")
    folder = configure(work, "from an archive", generator, mpicc, f"-DARCHIVE={archive_of(Path(source), work)}")
    cache = (folder / "CMakeCache.txt").read_text()
    assert "CMAKE_BUILD_TYPE:STRING=\n" in cache, "the project's own build type has been changed"
    run("cmake", "--build", folder, "--parallel")
    for program in ("uninstalled", "uninstalled_halo"):
        check(mpiexec, folder / program, version, True)


if __name__ == "__main__":
    main()
