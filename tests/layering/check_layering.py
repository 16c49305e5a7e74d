#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who may include what: the rooms of src/, mpi.h, vendor headers, and that programs use the public API only.

Usage: check_layering.py ROOT. Prints one line for each violation and fails if there is one.
"""

import re
import sys
from pathlib import Path

# A room may include itself and what stands before it; those of one row do not see one another.
ROWS = [["base"], ["protocol", "datatype"], ["device"], ["group"], ["transport"], ["plan"], ["gpu"],
        ["peer", "ofi", "proxy", "relay"], ["peer_gpu"], ["core"],
        ["rma", "enqueued", "channel", "coll", "overlap"], ["api"]]
RANK = {room: rank for rank, row in enumerate(ROWS) for room in row}

# Which headers only some folders of src/ may include. The public headers bring mpi.h with them. A folder whose name
# begins with * stands for all folders that end so, at any depth.
GPU_FOLDERS = ["*gpu"]
RESTRICTED = [
    ("mpi.h", re.compile(r"mpi(-ext)?\.h|penstock/.*\.(h|hpp)"), ["group", "proxy", "enqueued", "api"]),
    ("GPU vendor headers",
     re.compile(r"(gpu_runtime\.hpp|cuda|cooperative_groups|nvml|nccl|nvtx3|hip/|hsa/|rocm|cub/).*"), GPU_FOLDERS),
    ("libfabric headers", re.compile(r"rdma/.*"), ["ofi"]),
    ("the halo library", re.compile(r"penstock/halo.*|halo/.*"), ["(what stands over libpenstock)"]),
    ("hwloc", re.compile(r"hwloc.*"), ["group"]),
]
# Parts of src/ that must not see one another.
SEPARATE = [["device/host", "device/gpu"], ["peer_gpu", "ofi", "proxy", "relay"], ["gpu", "ofi", "proxy"]]
# Compile time: these stay out of headers.
SOURCES_ONLY = re.compile(r"(fmt|spdlog|nlohmann)/.*")
# What base may use beside the standard library and the operating system.
BASE_LIBRARIES = re.compile(r"(nlohmann|gtest|CLI)/.*")
# Programs over the public API, which must not look into src/.
PROGRAMS = ["halo", "tools", "bench", "research", "apps", "examples", "bindings", "tests/halo", "tests/support", "tests/conformance",
            "tests/cuda", "tests/fault", "tests/network", "tests/multihost", "tests/package"]

SUFFIXES = {".h", ".hpp", ".cuh", ".c", ".cpp", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def source_files(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())


def includes(path):
    for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
        yield match.group(1)


def inside(part, folders):
    for folder in folders:
        if folder.startswith("*"):
            if any(name.endswith(folder[1:]) for name in part.split("/")):
                return True
        elif part == folder or part.startswith(folder + "/"):
            return True
    return False


def included_part(src, path, name):
    """The folder under src/ of the included file, or None where it is not one of ours."""
    for candidate in (path.parent / name, src / name):
        if candidate.is_file():
            target = candidate.resolve()
            if target.is_relative_to(src.resolve()):
                return target.relative_to(src.resolve()).parent.as_posix()
            return None
    first = name.split("/")[0]  # generated or missing: judged by its name
    return Path(name).parent.as_posix() if first in RANK and "/" in name else None


def check_rooms(part, target):
    room, other = part.split("/")[0], target.split("/")[0]
    if other not in RANK:
        return f"{other} is not a room"
    if room != other and RANK[other] >= RANK[room]:
        return f"{room} must not include {other}"
    for parts in SEPARATE:
        mine = [one for one in parts if inside(part, [one])]
        theirs = [one for one in parts if inside(target, [one])]
        if mine and theirs and mine != theirs:
            return f"{mine[0]} must not include {theirs[0]}"
    return None


def check_library(path, part, name):
    for what, pattern, folders in RESTRICTED:
        if pattern.fullmatch(name) and not inside(part, folders):
            return f"{what} may be included only in {', '.join(folders)}"
    if SOURCES_ONLY.fullmatch(name) and path.suffix != ".cpp":
        return "fmt, spdlog and nlohmann belong in .cpp files"
    if part.split("/")[0] == "base" and BASE_LIBRARIES.fullmatch(name):
        return "base uses the standard library, fmt and spdlog only"
    return None


def check_src(root):
    src = root / "src"
    for path in source_files(src):
        part = path.relative_to(src).parent.as_posix()
        room = part.split("/")[0]
        if room not in RANK:
            yield path, "", f"{room} is not a room"
            continue
        if room == "protocol" and path.suffix != ".hpp":
            yield path, "", "protocol is header-only"
        for name in includes(path):
            if name.startswith(".."):
                yield path, name, "write includes from src/"
            target = included_part(src, path, name)
            problem = check_library(path, part, name) if target is None else check_rooms(part, target)
            if problem:
                yield path, name, problem


def check_programs(root):
    src = root / "src"
    for folder in PROGRAMS:
        for path in source_files(root / folder):
            for name in includes(path):
                if (path.parent / name).is_file():
                    outside = (path.parent / name).resolve().is_relative_to(src.resolve())
                else:
                    outside = (src / name).is_file()
                if outside:
                    yield path, name, f"{folder} uses the public API only"


def check_halo(root):
    vendor = RESTRICTED[1][1]
    for path in source_files(root / "halo"):
        part = path.relative_to(root).parent.as_posix()
        for name in includes(path):
            if vendor.fullmatch(name) and not inside(part, ["halo/cuda"]):
                yield path, name, "GPU vendor headers may be included only in halo/cuda"


def check_public(root):
    for path in source_files(root / "include"):
        for name in includes(path):
            vendor = RESTRICTED[1][1].fullmatch(name) or RESTRICTED[2][1].fullmatch(name)
            if vendor and path.suffix != ".cuh" and path.name != "cuda.hpp":
                yield path, name, "vendor headers stay out of public headers other than .cuh and cuda.hpp"
            if (root / "src" / name).is_file():
                yield path, name, "public headers do not include src/"


def check(root):
    violations = []
    for path, name, problem in [*check_src(root), *check_programs(root), *check_halo(root), *check_public(root)]:
        included = f' includes "{name}"' if name else ""
        violations.append(f"{path.relative_to(root)}{included}: {problem}")
    return violations


def main():
    root = Path(sys.argv[1])
    files = len(source_files(root / "src"))
    violations = check(root)
    for violation in violations:
        print(violation)
    print(f"{files} files of src/, {len(violations)} violations")
    sys.exit(1 if violations or files == 0 else 0)


if __name__ == "__main__":
    main()
