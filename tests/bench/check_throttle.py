#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_throttle.py THROTTLE BUILD_DIR: the table of each kind of calls has a row for each policy, whose figures agree."""
import subprocess
import sys

WORDS = {"messages": "--halo 2 --iterations 4 --rounds 1", "windows": "--elements 1,1,1 --points 3 --inner 4 --middle 1"}
LIMIT = 4
POLICIES = ["`application`", "`static`", "`adaptive`"]


def rows(throttle, tree, calls):
    command = [throttle, tree, "--ranks", "2", "--calls", calls, "--entries", str(LIMIT), "--turns", "1", "--", *WORDS[calls].split()]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{command}:\n{run.stdout}{run.stderr}")
    lines = [line.split("|")[1:-1] for line in run.stdout.splitlines() if line.startswith("| ")]
    return [[word.strip() for word in line] for line in lines[2:]]


def check(row):
    """An epoch or message that started was posted or carried out without entries, and no more entries are used than allowed."""
    speed = float(row[2].split()[0])
    posted, _, without, most = map(int, row[3:])
    if not (speed > 0 and posted + without > 0 and 0 < most <= LIMIT):
        sys.exit(f"wrong figures: {row}")


def main():
    throttle, tree = sys.argv[1:]
    for calls in WORDS:
        table = rows(throttle, tree, calls)
        if [row[:2] for row in table] != [[str(LIMIT), policy] for policy in POLICIES]:
            sys.exit(f"{calls}: not a row for each policy: {table}")
        for row in table:
            check(row)


if __name__ == "__main__":
    main()
