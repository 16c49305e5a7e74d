#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one scenario of cut_program on hosts that are namespaces, cuts rank 1's host off, and judges the output.

    run_cut.py --mpiexec PATH --vendor mpich|openmpi [--leave-mpich LIBRARY] --program PATH --transport NAME CASE

Exit code 0: as it should be; 1: not so; 77: this machine does not allow the case.
"""

import argparse
import re
import sys
from pathlib import Path

import hosts

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "fault"))
from run_fault import Job, Wrong, expect, expect_content, line_with  # noqa: E402


class HostsJob(Job):
    def __init__(self, options, network, ranks, settings):
        self.network = network
        super().__init__(options, options.case, settings, survive=True, size=ranks)

    def launcher(self, options, environment, survive, size):
        environment.update(self.network.environment())
        return self.network.launch(options, size)


def cut_off(job, host, text):
    job.await_text(rf"rank 0 {text}")
    host.cut()
    job.answer("cut")


def mend(job, host):
    host.mend()
    job.answer("mended")


def expect_report(job):
    expect(line_with(job, r"\b1\b", r"\b41\b|\b42\b", r"\b100\b|\b300000\b"), "no line names rank 1, the tag and the size")


def seconds_of(line):
    """When a line of the log was written, in seconds of its day."""
    hours, minutes, seconds = re.search(r"\[(\d+):(\d+):([\d.]+)\]", line).groups()
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def expect_all_gone(job):
    """Open MPI's launcher may wait for ever for ranks that have ended without MPI_Finalize, so it is not waited for."""
    for rank in range(4):
        job.await_text(rf"rank {rank} (content|FAILED)")
    expect("FAILED" not in job.text(), "a rank reports a failure")


def cut(job, network):
    cut_off(job, network[1], "runs")
    expect_all_gone(job)
    expect_report(job)


def cut_before_match(job, network):
    cut_off(job, network[1], "is ready")
    expect_all_gone(job)


def cut_before_message(job, network):
    cut_off(job, network[1], "has matched")
    expect_all_gone(job)
    expect_report(job)


def cut_for_first_message(job, network):
    cut_off(job, network[1], "has matched")
    job.await_text(r"rank 0 waits")
    mend(job, network[1])
    expect_content(job, 0, 1)


def cut_with_many(job, network):
    cut_off(job, network[1], "has matched")
    for rank in range(2):
        job.await_text(rf"rank {rank} (content|FAILED)")
    expect("FAILED" not in job.text(), "a rank reports a failure")
    for rank in range(2):
        told = [seconds_of(line) for line in job.lines if f"[penstock {rank}]" in line and "has not said" in line]
        expect(len(told) >= 4, f"rank {rank} has let only {len(told)} messages go")
        expect((told[-1] - told[0]) % DAY < int(PATIENCE["PENSTOCK_TIMEOUT"]),
               f"rank {rank} was patient with its peer more than once")


def no_route(job, network):
    job.await_text(r"rank 0 has matched")
    network[0].lose_route_to(network[1])
    job.answer("lost")
    expect_all_gone(job)
    expect_report(job)
    # `sockets` says it of an operation that is queued after its trigger has risen, and of others nothing.
    expect(line_with(job, r"rank 1\b", r"address cannot be reached|PENSTOCK_TIMEOUT=\d+ has passed"),
           "no line says why rank 1's messages have failed")


def mended_late(job, network):
    cut_off(job, network[1], "runs")
    job.await_text(r"rank \d has reported", 2)
    mend(job, network[1])
    expect_content(job, 0, 1)
    expect_report(job)


def mended_early(job, network):
    cut_off(job, network[1], "runs")
    job.await_text(r"rank 0 waits")
    mend(job, network[1])
    expect_content(job, 0, 1)


DAY = 24 * 3600
PATIENCE = {"PENSTOCK_TIMEOUT": "5"}
# Hosts, ranks, settings, the interface of MPI's messages: one that stays where only the messages of `ofi` are to be lost.
CASES = {cut: (3, 4, PATIENCE, "e0"), cut_before_match: (3, 4, PATIENCE, "e0"), cut_before_message: (3, 4, PATIENCE, "c0"),
         cut_for_first_message: (2, 2, {}, "c0"), cut_with_many: (2, 2, PATIENCE, "c0"), no_route: (3, 4, PATIENCE, "c0"),
         mended_late: (2, 2, PATIENCE, "e0"), mended_early: (2, 2, {}, "e0")}


def main():
    parser = argparse.ArgumentParser()
    hosts.add_launcher_options(parser)
    parser.add_argument("--program", required=True)
    parser.add_argument("--transport", required=True)
    parser.add_argument("case", choices=[case.__name__ for case in CASES])
    options = parser.parse_args()
    case = next(case for case in CASES if case.__name__ == options.case)
    count, ranks, settings, mpi = CASES[case]
    try:
        hosts.isolate()
        network = hosts.Hosts(count, own_processes=True, mpi=mpi)
    except hosts.Skip as skip:
        print(f"{options.case} skipped: {skip}")
        return hosts.SKIPPED
    job = HostsJob(options, network, ranks, settings)
    try:
        case(job, network)
    except Wrong as wrong:
        print(f"{options.case}: {wrong}")
        print("\n".join(job.lines[-60:]))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
