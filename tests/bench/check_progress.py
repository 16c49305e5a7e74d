#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_progress.py MPIEXEC COMMAND: what may take long shows on a terminal how far it is, alone and under a launcher, and
writes nothing of it elsewhere."""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile

MPIEXEC, COMMAND = sys.argv[1], os.path.abspath(sys.argv[2])
SMALL = {
    "bench halo": "--halo 1 --rounds 2 --iterations 2",
    "life": "-n 16 -t 4 --rounds 2",
    "faces": "--small --outer 1 --middle 1 --inner 1",
    "jacobi": "-n 8 --iterations 4 --rounds 2",
    "cg": "-n 8 --iterations 4 --rounds 2",
    "comb": "--zones 4,4,4 --cycles 1 --rounds 1",
    "doctor": "",
    "tune collectives": "--collectives barrier --rounds 2 --iterations 2",
}


def run(line, folder, errors):
    done = subprocess.run(
        line, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace"
    )
    assert done.returncode == 0 or "doctor" in line, f"{line} ends with {done.returncode}: {done.stdout}{done.stderr}"
    return done


def on_terminal(line, folder):
    """What a terminal has been sent, in its beginning; it holds more than is drawn here."""
    terminal, end = pty.openpty()
    try:
        run(line, folder, end)
        text = ""
        while select.select([terminal], [], [], 0)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
        return text
    finally:
        os.close(end)
        os.close(terminal)


with tempfile.TemporaryDirectory() as work:
    for name, words in SMALL.items():
        line = [COMMAND, *name.split(), *words.split()]
        seen = on_terminal(line, work)
        parts = re.split(r"\] +\d+% ", seen)
        assert len(parts) > 1, f"{name} shows nothing on a terminal: {seen!r}"
        assert "\x1b[K" in parts[-1], f"{name} leaves its bar there: {seen!r}"
    # Long enough that a launcher has shown what came before, on a fast machine too.
    line = [MPIEXEC, "-n", "1", COMMAND, "life", "-n", "1024", "-t", "300", "--no-verify", "--comm", "mpi", "--rounds"]
    for rounds in ("12", "48", "192"):
        seen = on_terminal([*line, rounds], work)
        if "% MPI" in seen:
            break
    assert "\x1b[K[" in seen and "% MPI" in seen, f"under a launcher nothing is shown: {seen!r}"
    done = run([*line, rounds], work, subprocess.PIPE)
    assert "\x1b" not in done.stderr + done.stdout, f"a pipe is drawn on: {done.stderr!r}"
