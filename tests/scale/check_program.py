#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_program.py PROGRAM: each form of scale_program prints its table or its lines, and nothing beside."""
import json
import subprocess
import sys

PROGRAM = sys.argv[1]


def output_of(*words):
    run = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and not run.stderr, f"{words}: status {run.returncode}, {run.stderr}"
    assert all(letter.isprintable() or letter == "\n" for letter in run.stdout), f"{words}: {run.stdout!r}"
    return run.stdout


def rows(text):
    return [line for line in text.splitlines() if not line.startswith("#")]


described = output_of("--help")
for graph in ("neighbours", "random", "star"):
    assert graph in described, described
    line, = map(json.loads, output_of("--ranks", "8", "--graph", graph, "--json").splitlines())
    assert line["ranks"] == 8 and line["matched"] == line["requests"] > 0 == line["failed"], line
assert len(rows(output_of("--ranks", "2,4", "--wildcards", "--leave", "--collective"))) == 2
assert len(rows(output_of("--unmatched", "5,200"))) == 2
assert json.loads(output_of("--unmatched", "200", "--one-tag", "--json"))["requests"] == 200
assert "together" in rows(output_of("--tables"))[-1]
unknown = subprocess.run([PROGRAM, "--graph", "circle"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
assert unknown.returncode != 0 and "circle" in unknown.stderr and unknown.stderr.isascii(), unknown.stderr
