#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What find_package answers when it is asked for parts and versions, and what each install component holds.

Usage: check_components.py BUILD_TREE WORK_FOLDER GENERATOR MPICC VERSION LIBDIR PARTS
PARTS are those of cuda, hip and ofi that the tree was built with, with commas.
"""

import re
import shutil
import sys
from pathlib import Path

from check_package import HERE, run


def answers(prefixes, work, generator, mpicc, *versions):
    output = run(
        "cmake",
        "-S",
        HERE / "components_consumer",
        "-B",
        work / "consumer",
        "-G",
        generator,
        f"-DMPI_C_COMPILER={mpicc}",
        f"-DCMAKE_PREFIX_PATH={';'.join(map(str, prefixes))}",
        *(f"-D{name}={version}" for name, version in zip(("FIRST", "OTHER", "NOBODYS"), versions)),
    )
    return dict(re.findall(r"^-- asked '(.*?)': (.*)$", output, re.M))


def files(tree, component, prefix):
    run("cmake", "--install", tree, "--prefix", prefix, "--component", component)
    return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}


def copy_as(version, other, prefix, copy, libdir):
    """The same installation, which says that it is another version."""
    shutil.copytree(prefix, copy, symlinks=True)
    path = copy / libdir / "cmake/penstock/penstock-config-version.cmake"
    path.write_text(path.read_text().replace(version, other))


def expect(asked, answer, *words):
    for word in words:
        if word not in answer:
            sys.exit(f"asked '{asked}', expected '{word}' in: {answer}")


def check_parts(told, parts, version):
    for part in ("cuda", "hip", "ofi"):
        asked = f"{version};COMPONENTS;{part}"
        expect(
            asked, told[asked], *([f"{version}."] if part in parts else ["without " + part, f"-DPENSTOCK_{part.upper()}=ON"])
        )


def check_install_components(tree, work, libdir, version):
    major = version.split(".")[0]
    runtime = files(tree, "runtime", work / "runtime")
    wanted = {f"{libdir}/lib{name}.so.{end}" for name in ("penstock", "penstock_halo") for end in (major, version)}
    assert {name for name in runtime if not name.startswith("share/doc")} == wanted, runtime
    development = files(tree, "development", work / "development")
    for name in (
        f"{libdir}/libpenstock.so",
        f"{libdir}/pkgconfig/penstock.pc",
        "include/penstock/penstock.h",
        f"{libdir}/cmake/penstock/penstock-config.cmake",
    ):
        assert name in development, (name, development)
    tools = files(tree, "tools", work / "tools")
    if (Path(tree) / "bin/penstock").exists():
        for name in (
            "bin/penstock",
            "share/penstock/plot/penstock_plot/command.py",
            "share/bash-completion/completions/penstock",
            "share/zsh/site-functions/_penstock",
        ):
            assert name in tools, (name, tools)
        assert any(name.startswith("share/man/man1/penstock-bench-latency.1") for name in tools), tools
    doc = files(tree, "doc", work / "doc")
    assert any(name.endswith("docs/semantics.md") for name in doc), doc
    assert any(name.endswith("examples/ping_pong.c") for name in doc), doc
    assert not runtime & development and not development & tools and not runtime & tools


def main():
    tree, work, generator, mpicc, version, libdir, parts = sys.argv[1:]
    work = Path(work)
    shutil.rmtree(work, ignore_errors=True)
    first, second = work / "of the release", work / "of another version"
    run("cmake", "--install", tree, "--prefix", first)
    major, minor, patch = version.split(".")
    asked_first, asked_other, nobodys = (f"{major}.{int(minor) + more}" for more in range(3))
    other = f"{asked_other}.0"
    copy_as(version, other, first, second, libdir)

    told = answers([second, first], work, generator, mpicc, asked_first, asked_other, nobodys)
    # The version that is asked for is taken wherever it stands in the path; one that nobody has is refused.
    for asked, where in (
        (f"{asked_first};COMPONENTS;host;halo", first),
        (asked_other, second),
        (f"{asked_first};COMPONENTS;host;OPTIONAL_COMPONENTS;cuda", first),
    ):
        expect(asked, told[asked], str(where))
    expect(nobodys, told[nobodys], "none of", version, other)
    expect("hydraulics", told[f"{asked_first};COMPONENTS;hydraulics"], "no component hydraulics", "host, halo, cuda, hip and ofi")
    check_parts(told, parts.split(","), asked_first)
    check_install_components(tree, work, libdir, version)


if __name__ == "__main__":
    main()
