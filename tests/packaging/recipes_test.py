#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""recipes_test.py ROOT spack|conda: reads a recipe, of which neither tool is here, and compares it with what CMake asks for:
the version, the dependencies with their least versions, and the options, which exist. Then that it finds what is wrong.
Status 77 without PyYAML, which conda's needs."""

import re
import sys
import types
from pathlib import Path

ROOT = Path(sys.argv[1])
# CMake's name of a dependency: Spack's and conda's; None where Spack or conda need not name it.
NAMES = {
    "MPI": ("mpi", "${{ mpi }}"),
    "hwloc": ("hwloc", "libhwloc"),
    "libfabric": ("libfabric", "libfabric"),
    "fmt": ("fmt", "fmt"),
    "spdlog": ("spdlog", "spdlog"),
    "nlohmann_json": ("nlohmann-json", "nlohmann_json"),
    "CLI11": ("cli11", "cli11"),
    "PNG": ("libpng", "libpng"),
    "PkgConfig": ("pkgconfig", "pkg-config"),
    "CUDAToolkit": ("cuda", None),
    "cmake": ("cmake", "cmake"),
    "Threads": (None, None),
    "GTest": (None, None),
    "Python3": (None, None),
}


def of_cmake(root):
    """Each dependency with its least version, "" where any will do; the version; all options."""
    text = "\n".join(path.read_text() for path in sorted((root / "cmake").glob("Penstock*.cmake")))
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    needs = {name: version for name, version in re.findall(r"find_package\((\w+) ?([\d.]*)", text)}
    needs |= {
        name: version
        for name, version in re.findall(r"pkg_check_modules\(.*?IMPORTED_TARGET (\w+)(?:>=([\d.]+))?\)", text)
    }
    needs["cmake"] = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]
    options = set(re.findall(r"(?:option|set)\((PENSTOCK_\w+) [^)]*?(?:\"|CACHE)", text))
    numbers = re.findall(
        r"^#define PST_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", (root / "include/penstock/penstock.h").read_text(), re.M
    )
    return needs, ".".join(numbers), options


class Spec:
    """The spec of a build with all variants but those of GPUs."""

    variants = {"cuda_arch": types.SimpleNamespace(value="90"), "amdgpu_target": types.SimpleNamespace(value="gfx90a")}
    mpicc = "mpicc"

    def satisfies(self, text):
        return True

    def __getitem__(self, name):
        return self


def read_spack(text):
    """Runs the recipe with stand-ins for Spack's words."""
    told = {"needs": {}, "version": [], "variants": {"cuda", "rocm"}, "conflicts": [], "options": set()}

    def depends_on(spec, type=None, when=None):
        name, _, version = spec.partition("@")
        told["needs"][name] = version.rstrip(":")
        for variant in re.findall(r"[+~](\w+)", when or ""):
            assert variant in told["variants"], f"{spec} is for the variant {variant}, which there is not"

    class Base:
        spec, run_tests, prefix = Spec(), False, types.SimpleNamespace(bin="bin")

        def define(self, name, value):
            told["options"].add(name)

        def define_from_variant(self, name, variant):
            assert variant in told["variants"], f"{name} is of the variant {variant}, which there is not"
            told["options"].add(name)

    def new(name):
        return type(name, (Base,), {})

    words = {
        "CMakePackage": new("CMakePackage"),
        "CudaPackage": type("CudaPackage", (), {}),
        "ROCmPackage": type("ROCmPackage", (), {}),
        "license": lambda name: None,
        "version": lambda number: told["version"].append(number),
        "depends_on": depends_on,
        "variant": lambda name, default, description: told["variants"].add(name),
        "conflicts": lambda spec, when=None, msg=None: told["conflicts"].append((spec, when)),
    }
    exec(compile(re.sub(r"^from spack.package import \*$", "", text, flags=re.M), "package.py", "exec"), words)
    words["Penstock"]().cmake_args()
    assert ("+cuda", "+rocm") in told["conflicts"]
    for file in words["Penstock"].sanity_check_is_file:
        assert (ROOT / file).exists(), file
    (version,) = told["version"]
    return told["needs"], version, told["options"]


def read_conda(text):
    import yaml

    recipe = yaml.safe_load(text)
    needs = {}
    for part in ("build", "host"):
        for line in recipe["requirements"][part]:
            name, _, version = line.partition(" >=")
            needs[name] = version
    commands = " ".join(recipe["build"]["script"])
    for name in recipe["tests"][0]["package_contents"]["include"]:
        assert (ROOT / "include" / name).exists(), name
    variants = yaml.safe_load((ROOT / "packaging/conda/variants.yaml").read_text())
    assert variants["mpi"] == ["mpich", "openmpi"], variants
    return needs, str(recipe["context"]["version"]), set(re.findall(r"-D(\w+)=", commands))


def numbers(version):
    return [int(part) for part in version.split(".")]


def complaints(recipe, cmake, column):
    needs, version, options = recipe
    cmake_needs, cmake_version, cmake_options = cmake
    if version != cmake_version:
        yield f"version {version}, and penstock.h is {cmake_version}"
    for name, least in cmake_needs.items():
        if name not in NAMES:
            yield f"CMake asks for {name}, of which this test knows no recipe's name"
            continue
        theirs = NAMES[name][column]
        if theirs is None:
            continue
        if theirs not in needs:
            yield f"{theirs} is missing"
        elif least and needs[theirs] and numbers(needs[theirs]) < numbers(least):
            yield f"{theirs} {needs[theirs]}, and CMake asks for {least}"
        elif least and not needs[theirs] and "mpi" not in theirs:
            yield f"{theirs} of any version, and CMake asks for {least}"
    known = {names[column] for names in NAMES.values()} | {
        "c",
        "cxx",
        "ninja",
        "${{ compiler('c') }}",
        "${{ compiler('cxx') }}",
    }
    yield from (f"{name} is asked for, and CMake does not" for name in needs if name not in known)
    yield from (
        f"{name} is no option of CMake's"
        for name in sorted(options)
        if name.startswith("PENSTOCK_") and name not in cmake_options
    )
    yield from (
        f"{name} is not chosen"
        for name in ("PENSTOCK_OFI", "PENSTOCK_BUILD_TOOLS", "PENSTOCK_BUILD_TESTS")
        if name not in options
    )


def main():
    kind = sys.argv[2]
    path, read, column = {"spack": ("spack/package.py", read_spack, 0), "conda": ("conda/recipe.yaml", read_conda, 1)}[
        kind
    ]
    text = (ROOT / "packaging" / path).read_text()
    try:
        recipe = read(text)
    except ModuleNotFoundError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    cmake = of_cmake(ROOT)
    assert len(cmake[0]) > 10 and len(cmake[2]) > 8, cmake
    found = list(complaints(recipe, cmake, column))
    assert not found, found

    planted = (
        text.replace(cmake[1], "0.0.9")
        .replace("libfabric@1.15", "libfabric@1.9")
        .replace("libfabric >=1.15", "libfabric >=1.9")
    )
    planted = re.sub(r".*\bspdlog\b.*\n", "", planted).replace("PENSTOCK_BUILD_TOOLS", "PENSTOCK_BUILD_TOOL")
    assert set(complaints(read(planted), cmake, column)) == {
        f"version 0.0.9, and penstock.h is {cmake[1]}",
        "libfabric 1.9, and CMake asks for 1.15",
        "spdlog is missing",
        "PENSTOCK_BUILD_TOOL is no option of CMake's",
        "PENSTOCK_BUILD_TOOLS is not chosen",
    }, list(complaints(read(planted), cmake, column))


main()
