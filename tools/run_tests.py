#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ctest suites one after the other and adds their results.

A suite is TREE[,VAR=value]...[,-ctest options]...: the build tree build/TREE, with these environment variables and options
of ctest, as in "release-mpich,PENSTOCK_EAGER_MAX=0,-L peer". Shows how far it is on a terminal, the output of failing tests
always; the last line is "N passed, N failed" of all suites. A program of GoogleTest counts as the cases that it has passed,
anything else as one; a program with a case that fails counts as one failure.
"""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULT = re.compile(r"^\s*(\d+)/(\d+) Test\s+#\d+: (\S+) .*\bsec\s*$")
BAD = re.compile(r"\*\*\*(?!Skipped|Not Run \(Disabled\))")
NOISE = re.compile(r"^(\s*Start\s+\d+: |Test project |Internal ctest |\s*$)")
SUMMARY = re.compile(r"^\d+% tests passed")
PASSED_CASES = re.compile(r"\[  PASSED  \] (\d+) tests?\.")
SKIPPED_CASES = re.compile(r"\[  SKIPPED \] (\d+) tests?, listed below")
# What says why a test has failed: a report of a sanitizer to its end, and what GoogleTest prints of a failure.
REPORT = re.compile(r"^(?:WARNING: ThreadSanitizer|=+\d+=+ERROR: |.*: runtime error: ).*?(?=^=+$|^\[ |\Z)", re.M | re.S)
FAILURE = re.compile(r"^\S+:\d+: Failure$.*?(?=^\[ )", re.M | re.S)
REPORTS, REPORT_LINES = 3, 60  # shown of each test


def number(pattern, text):
    return sum(int(found) for found in pattern.findall(text))


def why(output):
    """The reports in what a failed test has printed; they may stand far above its end."""
    found = [match.group() for pattern in (REPORT, FAILURE) for match in pattern.finditer(output)]
    return ["\n".join(text.rstrip().splitlines()[:REPORT_LINES]) for text in found[:REPORTS]]


class Suite:
    def __init__(self, text):
        self.tree, *rest = text.split(",")
        self.options = [word for word in rest if word.startswith("-")]
        self.variables = dict(word.split("=", 1) for word in rest if not word.startswith("-"))
        self.name = " ".join([self.tree] + [word for word in rest])
        self.passed, self.skipped, self.failed = 0, 0, []
        self.reports = []  # of the failed ones
        self.skipped_cases = 0  # of programs that have passed

    def count(self, report):
        """Reads the verdicts from ctest's own report; what it prints is only shown."""
        for case in xml.parse(report).getroot().iter("testcase"):
            if case.get("status") == "run":
                output = case.findtext("system-out") or ""
                self.passed += number(PASSED_CASES, output) or 1
                self.skipped_cases += number(SKIPPED_CASES, output)
            elif case.get("status") == "fail":
                self.failed.append(case.get("name"))
                self.reports += [f"{case.get('name')}:\n{text}" for text in why(case.findtext("system-out") or "")]
            elif case.get("status") == "disabled" or case.find("skipped").get("message").startswith("SKIP_"):
                self.skipped += 1
            else:
                self.failed.append(f"{case.get('name')} ({case.get('status')})")

    def run(self, terminal):
        start = time.monotonic()
        tree = ROOT / "build" / self.tree
        report = tree / "test-report.xml"
        report.unlink(missing_ok=True)
        # Many tests wait most of the time (for a lost host, a time-out, MPI's start), so more run at once than there are cores.
        # Under ThreadSanitizer they are busy, and threads that hand over to each other take several times as long beside others.
        at_once = os.cpu_count() * (1 if self.tree.startswith("tsan-") else 2)
        command = ["ctest", "--parallel", str(at_once), "--output-on-failure", "--no-tests=error", "--output-junit", report,
                   "--test-output-size-passed", str(1 << 20), "--test-output-size-failed", str(1 << 24),
                   *" ".join(self.options).split()]
        process = subprocess.Popen(command, cwd=tree, env=os.environ | {"GTEST_COLOR": "no"} | self.variables, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        in_summary = False
        for line in process.stdout:
            result = RESULT.match(line)
            in_summary = in_summary or bool(SUMMARY.match(line))
            if result:
                number, total, name = result.groups()
                if terminal:
                    print(f"\r\033[K{self.name}: {number}/{total} {name}"[:100], end="", flush=True)
                if BAD.search(line):
                    print(("\r\033[K" if terminal else "") + line.rstrip(), flush=True)
            elif not in_summary and not NOISE.match(line):
                print(line, end="", flush=True)
        code = process.wait()
        if report.exists():
            self.count(report)
        if code != 0 and not self.failed:
            self.failed.append(f"ctest itself (exit {code})")
        seconds = time.monotonic() - start
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        skipped += f", {self.skipped_cases} cases skipped by name" if self.skipped_cases else ""
        print(("\r\033[K" if terminal else "") +
              f"{self.name}: {self.passed} passed, {len(self.failed)} failed{skipped} ({seconds:.0f} s)", flush=True)


def main():
    suites = [Suite(text) for text in sys.argv[1:]]
    if not suites:
        sys.exit(__doc__)
    for suite in suites:
        if not (ROOT / "build" / suite.tree / "CTestTestfile.cmake").exists():
            sys.exit(f"build/{suite.tree} is not there: run tools/build {suite.tree} first")
    for suite in suites:
        suite.run(sys.stdout.isatty())
    failures = [f"{suite.name}: {name}" for suite in suites for name in suite.failed]
    # At the end, since a log may keep that alone of much output.
    for report in (report for suite in suites for report in suite.reports):
        print(f"\n{report}")
    if failures:
        print("\nFailed:\n  " + "\n  ".join(failures))
    summary = f"{sum(suite.passed for suite in suites)} passed, {len(failures)} failed"
    (ROOT / "build" / "test-summary.txt").write_text(summary + "\n")
    print(summary)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
