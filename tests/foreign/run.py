#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the test suites of MPICH and of mpi4py with and without libpenstock preloaded and compares which tests pass.

Nothing of the suites is part of Penstock; docs/results/foreign-tests.md says how to build them. Then:

    run.py mpich --suite SUITE --launcher mpiexec.mpich --library LIBRARY --results FILE
    run.py mpi4py --suite mpi4py/test --python PYTHON --launcher mpiexec.mpich --library LIBRARY --results FILE

Every program runs three times alone and three times preloaded, by turns. The file of results gains a line for each run;
started again with the same file, only what is missing runs. --keep writes the list that later changes are held against
with --compare. Status 1: something that passed alone was lost with the library, or passed in the list and does no more.
"""

import argparse
import os
import re
import shlex
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import kept  # noqa: E402
import programs  # noqa: E402
import runs  # noqa: E402


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("mpich", "mpi4py"))
    parser.add_argument("--suite", type=Path, required=True,
                        help="mpich: the folder where test/mpi was configured and built; mpi4py: its folder test")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="the one that mpi4py is installed for")
    parser.add_argument("--launcher", type=shlex.split, default=["mpiexec"], help="with its arguments, in one word")
    parser.add_argument("--library", type=Path, required=True, help="libpenstock.so built for the same MPI")
    parser.add_argument("--settings", nargs="+", default=[],
                        help="of the library, as PENSTOCK_RMA=1: environment of the preloaded runs")
    parser.add_argument("--results", type=Path, required=True, help="a line of JSON for each run is added to it")
    parser.add_argument("--folders", nargs="+", default=programs.FOLDERS, help="mpich: those to run, in this order")
    parser.add_argument("--lists", nargs="+", default=["testlist"],
                        help="mpich: lists in each folder; testlist.dtp has programs over more datatypes")
    parser.add_argument("--only", default="", help="programs whose name this regular expression finds")
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2, 4], help="mpi4py: numbers of processes")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each program in each way")
    parser.add_argument("--limit", type=float, default=60, help="seconds for a run")
    parser.add_argument("--max-ranks", type=int, default=16)
    parser.add_argument("--memory", type=float, default=4, help="GiB; programs that need more are left out")
    parser.add_argument("--jobs", type=int, default=1, help="programs that run at a time")
    parser.add_argument("--keep", type=Path, help="writes the list")
    parser.add_argument("--heading", nargs="+", default=[], help="lines that the list begins with")
    parser.add_argument("--compare", type=Path, help="a list that --keep wrote before")
    parser.add_argument("--no-run", action="store_true", help="looks at the results that are there")
    options = parser.parse_args()
    options.suite, options.library = options.suite.resolve(), options.library.resolve()
    options.python = options.python.absolute()  # a virtual environment's python is a link that must stay one
    if not options.library.exists():
        parser.error(f"{options.library} is not there: build libpenstock first")
    return options


def collect(options):
    """The programs to run, and why others are not."""
    if options.kind == "mpich":
        found = [program for name in options.lists
                 for program in programs.mpich_programs(options.suite, options.folders, name)]
    else:
        found = programs.mpi4py_modules(options.suite, options.python, options.ranks)
    found = list({program.name: program for program in found if re.search(options.only, program.name)}.values())
    if not found:
        sys.exit(f"no tests found in {options.suite}: configure and build the suite there first")
    left_out = {}
    for program in found:
        if not program.built():
            left_out[program.name] = "not built"
        elif program.ranks > options.max_ranks:
            left_out[program.name] = f"more than {options.max_ranks} ranks"
        elif program.memory > options.memory:
            left_out[program.name] = f"needs {program.memory:g} GiB"
    return [program for program in found if program.name not in left_out], left_out


def print_names(title, names):
    print(f"{title}: {len(names)}")
    for name in names:
        print(f"    {name}")


def main():
    options = read_options()
    chosen, left_out = collect(options)
    if not options.no_run:
        runs.run_all(chosen, options, options.results)
    known = {program.name for program in chosen}
    names = kept.outcomes([record for record in runs.read(options.results) if record["program"] in known])
    left_out |= {program.name: "not run" for program in chosen if program.name not in names}
    notes = {program.name: f"{program.ranks} ranks on {os.cpu_count()} cores"
             for program in chosen if program.ranks > os.cpu_count()}
    table = kept.lines(names, left_out, options.repeat, notes)
    whole = [line for line in table if "\t" not in line or re.fullmatch(r"[^\t]*\tpass \([^\t,]*, [^\t,]*\)", line)]
    lost = sorted(name for name, ends in names.items() if kept.is_lost(ends))
    print(f"pass {options.repeat} times alone and preloaded: {len(whole)}")
    print_names("others", [line.replace("\t", "; ") for line in table if line not in whole])
    print_names("lost with the library", lost)
    if options.keep:
        heading = [*options.heading, f"{os.cpu_count()} cores, limit {options.limit:g} s, {time.strftime('%-d %B %Y')}",
                   f"{len(whole)} of {len(table)} pass {options.repeat} times alone and preloaded"]
        kept.write(options.keep, heading, table)
    gone = []
    if options.compare:
        def group(name):
            return re.split("[/ ]", name)[0]
        gone, new = kept.compare(names, left_out, kept.read_passing(options.compare), group)
        print_names(f"pass no more, by {options.compare}", gone)
        print_names("pass now and did not", new)
    return 1 if lost or gone else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command goes on from here")
