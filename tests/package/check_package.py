#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs Penstock into a fresh prefix and builds and runs programs against it, as a user does.

Usage: check_package.py BUILD_TREE WORK_FOLDER GENERATOR MPICC MPI_LIBRARY MPIEXEC VERSION LIBDIR
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(*command, **options):
    words = [str(word) for word in command]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(words)}\n{done.stdout}")
    return done.stdout


def penstock_first(program):
    """Is libpenstock searched for symbols before the MPI library: the recorder sees the program's MPI calls only then."""
    lines = run("readelf", "-d", program).splitlines()
    libraries = [line.split("[")[1].split("]")[0] for line in lines if "(NEEDED)" in line]
    for library in libraries:
        if library.startswith("libpenstock"):
            return True  # and perhaps alone: the linker drops MPI where the recorder has every function that is called
        if library.startswith("libmpi"):
            return False
    sys.exit(f"{program} names neither library: {libraries}")


def check(mpiexec, program, version, first):
    output = run(mpiexec, "-n", "2", program)
    print(f"{program.name}: {output.strip()}")
    # The launcher may mix the two ranks' output within a line, but not within one word that was written at once.
    if output.split().count(f"penstock-{version}") != 2:
        sys.exit(f"{program} did not print 'penstock-{version}' on each of 2 ranks")
    if penstock_first(program) != first:
        sys.exit(f"{program} does not name {'penstock before MPI' if first else 'MPI before penstock'}")


def build_with_cmake(source, folder, prefix, generator, *options):
    run("cmake", "-S", source, "-B", folder, "-G", generator, f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    run("cmake", "--build", folder)


def build_with_pkg_config(compiler, source, package, program, prefix, libdir, *before):
    env = os.environ | {"PKG_CONFIG_PATH": str(prefix / libdir / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", package, env=env)
    run(*compiler, HERE / source, *before, *shlex.split(flags), "-o", program)


def refuses(source, folder, prefix, generator, text, *options):
    """The project cannot be configured, and CMake says why."""
    words = ["cmake", "-S", source, "-B", folder, "-G", generator, f"-DCMAKE_PREFIX_PATH={prefix}", *options]
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0 or text not in " ".join(done.stdout.split()):
        sys.exit(f"expected a failure with '{text}', got status {done.returncode} and:\n{done.stdout}")


def other_mpi(mpicc):
    """The compiler wrapper of the other family, where the system has both as Debian does."""
    is_open_mpi = Path(shutil.which(mpicc) or mpicc).resolve().name == "opal_wrapper"
    return shutil.which("mpicc.mpich" if is_open_mpi else "mpicc.openmpi")


def main():
    tree, work, generator, mpicc, mpi_library, mpiexec, version, libdir = sys.argv[1:]
    work = Path(work)
    shutil.rmtree(work, ignore_errors=True)
    prefix = work / "a prefix"  # with a space
    run("cmake", "--install", tree, "--prefix", prefix)

    # With the package the order in which a project names the two does not matter: penstock depends on MPI, so that CMake
    # puts it first.
    build_with_cmake(HERE / "c_consumer", work / "c", prefix, generator, f"-DMPI_C_COMPILER={mpicc}")
    check(mpiexec, work / "c/names_penstock_first", version, True)
    check(mpiexec, work / "c/names_mpi_first", version, True)
    build_with_cmake(HERE / "cxx_consumer", work / "cxx", prefix, generator)
    check(mpiexec, work / "cxx/cxx_only", version, True)
    check(mpiexec, work / "cxx/cxx_halo", version, True)

    if shutil.which("gfortran"):
        refuses(HERE / "fortran_consumer", work / "fortran", prefix, generator, "LANGUAGES Fortran C")
    if other_mpi(mpicc):
        refuses(HERE / "c_consumer", work / "other", prefix, generator, "this penstock was built for",
                f"-DMPI_C_COMPILER={other_mpi(mpicc)}")

    # By hand the order is what the user writes; a program with MPI first must call PST_Init itself, and works.
    build_with_pkg_config([mpicc], "c_consumer/consumer.c", "penstock", work / "penstock_first", prefix, libdir)
    check(mpiexec, work / "penstock_first", version, True)
    build_with_pkg_config([mpicc], "c_consumer/consumer.c", "penstock", work / "mpi_first", prefix, libdir, mpi_library)
    check(mpiexec, work / "mpi_first", version, False)
    mpicxx = [re.sub(r"mpicc([^/]*)$", r"mpicxx\1", mpicc), "-std=c++20"]
    build_with_pkg_config(mpicxx, "cxx_consumer/halo_consumer.cpp", "penstock-halo", work / "halo", prefix, libdir)
    check(mpiexec, work / "halo", version, True)


if __name__ == "__main__":
    main()
