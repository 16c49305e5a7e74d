#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that run.py finds what it is there for, with a small suite of scripts and a launcher that starts one of them."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).with_name("run.py")

LAUNCHER = """#!/bin/sh
shift 2
for word; do
  shift
  case "$word" in LD_PRELOAD=*) word=PRELOADED=1;; esac
  set -- "$@" "$word"
done
exec timeout "$MPIEXEC_TIMEOUT" "$@"
"""

PROGRAMS = {
    "good": "echo ' No Errors'",
    "lost": "[ $PRELOADED ] || echo ' No Errors'",
    "talks": "echo ' No Errors'; [ ! $PRELOADED ] || echo 'Penstock: something'",
    "bad": "echo 'Found 1 errors'",
    "abort": "exit 1",
    "hangs": "sleep 1000",
}

LIST = """# a comment
good 2
good 1 arg=-x env=A=b
lost 2
talks 2
bad 2
abort 1 resultTest=TestErrFatal
hangs 2 timeLimit=1
absent 2
large 2 mem=100
"""


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.suite = self.folder / "suite"
        (self.suite / "pt2pt").mkdir(parents=True)
        (self.suite / "Makefile").write_text(f"abs_srcdir = {self.suite}\n")
        (self.suite / "pt2pt" / "testlist").write_text(LIST)
        for name, text in PROGRAMS.items():
            self.script(self.suite / "pt2pt" / name, "#!/bin/sh\n" + text)
        self.script(self.suite / "pt2pt" / "large", "")
        self.script(self.folder / "launcher", LAUNCHER)
        (self.folder / "libpenstock.so").touch()

    def script(self, path, text):
        path.write_text(text)
        path.chmod(0o755)

    def run_it(self, *words, kind="mpich"):
        command = [sys.executable, "-B", RUN, kind, "--suite", self.suite, "--launcher", self.folder / "launcher",
                   "--library", self.folder / "libpenstock.so", "--results", self.folder / "results", *words]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.output = done.stdout
        return done.returncode

    def records(self):
        return [json.loads(line) for line in (self.folder / "results").read_text().splitlines()]

    def rows(self):
        lines = (self.folder / "list").read_text().splitlines()
        return {line.split("\t")[0]: line.split("\t")[1:] for line in lines if line[0] != "#"}

    def test_the_list_says_how_each_ended(self):
        self.assertEqual(self.run_it("--keep", self.folder / "list"), 1, self.output)
        self.assertEqual(self.rows(), {
            "pt2pt/good 2": [], "pt2pt/good 1 -x A=b": [], "pt2pt/abort 1": [], "pt2pt/lost 2": ["pass", "fail"],
            "pt2pt/talks 2": ["pass", "message"], "pt2pt/bad 2": ["fail", "fail"],
            "pt2pt/hangs 2": ["timeout", "not run"], "pt2pt/absent 2": ["not built"],
            "pt2pt/large 2": ["needs 100 GiB"]})
        self.assertIn("lost with the library: 2\n    pt2pt/lost 2\n    pt2pt/talks 2\n", self.output)

    def test_settings_are_for_preloaded_runs(self):
        self.script(self.suite / "pt2pt" / "good", "#!/bin/sh\n[ \"$PENSTOCK_RMA\" = \"$PRELOADED\" ] && echo ' No Errors'")
        words = ["--only", "good 2", "--keep", self.folder / "list"]
        self.assertEqual(self.run_it(*words, "--settings", "PENSTOCK_RMA=1"), 0, self.output)
        self.assertEqual(self.rows(), {"pt2pt/good 2": []})
        (self.folder / "results").unlink()
        self.assertEqual(self.run_it(*words), 1, self.output)

    def test_only_what_is_missing_runs_again(self):
        self.run_it("--repeat", "1")
        first = self.records()
        (self.folder / "results").write_text("".join(json.dumps(record) + "\n" for record in first[1:]))
        self.run_it("--repeat", "1")
        again = self.records()[len(first) - 1:]
        self.assertEqual([record["program"] for record in again], [first[0]["program"]])
        self.assertEqual([record["way"] for record in again], [first[0]["way"]])

    def test_what_hangs_alone_runs_once(self):
        self.run_it("--only", "hangs")
        self.assertEqual([record["outcome"] for record in self.records()], ["timeout"])

    def test_a_program_that_passed_and_fails_now_is_told(self):
        kept = self.folder / "list"
        self.assertEqual(self.run_it("--only", "good|bad", "--keep", kept), 0, self.output)
        (self.folder / "results").unlink()
        self.assertEqual(self.run_it("--only", "good|bad", "--compare", kept), 0, self.output)
        self.script(self.suite / "pt2pt" / "good", "#!/bin/sh\n[ $1 ]")
        self.script(self.suite / "pt2pt" / "bad", "#!/bin/sh\necho ' No Errors'")
        (self.folder / "results").unlink()
        self.assertEqual(self.run_it("--only", "good|bad", "--compare", kept), 1, self.output)
        self.assertRegex(self.output, r"pass no more.*: 2\n    pt2pt/good 1 -x A=b\n    pt2pt/good 2\n")
        self.assertIn("pass now and did not: 1\n    pt2pt/bad 2\n", self.output)

    def test_a_test_inside_a_module_is_named(self):
        self.script(self.suite / "test_a.py", "")
        self.script(self.suite / "main.py", """#!/usr/bin/env python3
import os
if "PRELOADED" in os.environ:
    print("FAIL: testB (test_a.A.testB)\\nRan 2 tests in 0.1s\\nFAILED (failures=1, skipped=1)")
else:
    print("Ran 2 tests in 0.1s\\nOK (skipped=1)")
raise SystemExit("PRELOADED" in os.environ)
""")
        self.assertEqual(self.run_it("--python", sys.executable, "--ranks", "1", "--keep", self.folder / "list",
                                     kind="mpi4py"), 1, self.output)
        counts = "(2 run, 1 skipped)"
        self.assertEqual(self.rows(), {"test_a 1": [f"pass {counts}", f"fail {counts}"],
                                       "test_a 1 test_a.A.testB": ["pass", "fail"]})

    def test_runs_that_are_missing_are_told(self):
        self.run_it("--only", "good", "--repeat", "1")
        self.run_it("--only", "good|bad", "--no-run", "--keep", self.folder / "list")
        self.assertEqual(self.rows(), {"pt2pt/good 2": ["pass", "pass", "1 of 3 runs"], "pt2pt/bad 2": ["not run"],
                                       "pt2pt/good 1 -x A=b": ["pass", "pass", "1 of 3 runs"]})
        self.assertEqual(self.run_it("--only", "good", "--compare", self.folder / "list"), 0, self.output)
        self.assertIn("pass now and did not: 0\n", self.output)


if __name__ == "__main__":
    unittest.main()
