#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one scenario of fault_program, on two ranks as a rule, breaks what the scenario does not break itself, and judges the output.

    run_fault.py --mpiexec PATH --vendor mpich|openmpi --program PATH [--transport NAME] CASE

Exit code 0: as it should be; 1: not so; 77: this machine does not allow the case.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

HANG = 60  # seconds after which a job is taken for hung; no case is judged by the time it takes
SKIPPED = 77


class Wrong(Exception):
    """What the job did is not what it should do."""


class Skip(Exception):
    """The machine does not allow this case."""


class Job:
    """A running MPI job. Its output is collected line by line, both streams together."""

    def __init__(self, options, scenario, settings=None, survive=False, wrapper=(), size=2):
        environment = dict(os.environ)
        environment.setdefault("PENSTOCK_TRANSPORT", options.transport)
        environment.update(settings or {})
        command = list(wrapper) + self.launcher(options, environment, survive, size)
        if survive:
            # MPICH's launcher ends the survivors when a child of its own dies by a signal; a grandchild may. It tells
            # its children of the death by SIGUSR1, which must not end the shell.
            command += ["sh", "-c", 'trap : USR1; "$0" "$@"; exit 0']
        command += [options.program, scenario]
        self.lines = []
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        self.changed = threading.Condition()
        self.closed = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def launcher(self, options, environment, survive, size):
        """The command before the program's name; may add to the environment."""
        command = [options.mpiexec]
        if options.vendor == "mpich":
            command += ["-disable-auto-cleanup"] if survive else []
        elif options.vendor == "openmpi":
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            command += ["--enable-recovery"] if survive else []
            command += ["--oversubscribe", "--bind-to", "none"]
        return command + ["-n", str(size)]

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def text(self):
        with self.changed:
            return "\n".join(self.lines)

    def await_text(self, pattern, count=1):
        """Returns the matches of `pattern` once there are `count` of them."""
        end = time.monotonic() + HANG
        while True:
            found = re.findall(pattern, self.text(), re.MULTILINE)
            if len(found) >= count:
                return found
            with self.changed:
                if self.closed or not self.changed.wait(timeout=max(0, end - time.monotonic())):
                    if len(re.findall(pattern, "\n".join(self.lines), re.MULTILINE)) < count:
                        raise Wrong(f"no '{pattern}' in the output")

    def answer(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def finish(self):
        """Waits for the end and the last of the output; returns mpiexec's exit code."""
        try:
            code = self.process.wait(timeout=HANG)
        except subprocess.TimeoutExpired:
            raise Wrong("the job hangs") from None
        self.reader.join(timeout=10)  # a rank that outlives its launcher may keep the pipe open
        return code

    def end(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                os.killpg(self.process.pid, number)
                try:
                    self.process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    pass


def expect(condition, text):
    if not condition:
        raise Wrong(text)


def expect_content(job, *ranks):
    job.finish()
    text = job.text()
    expect("FAILED" not in text, "a rank reports a failure")
    for rank in ranks:
        expect(f"rank {rank} content" in text, f"rank {rank} did not get to its end")


def line_with(job, *parts):
    """True if one line of the output holds all the parts."""
    return any(all(re.search(part, line) for part in parts) for line in job.lines)


def run_simple(options, jobs, scenario, ranks=(0, 1), settings=None, survive=False, wrapper=(), size=2):
    job = Job(options, scenario, settings, survive, wrapper, size)
    jobs.append(job)
    expect_content(job, *ranks)
    return job


def dead_peer(options, jobs, scenario="dead_peer", settings=None):
    job = Job(options, scenario, settings, survive=True)
    jobs.append(job)
    job.finish()
    if "skipped: " in job.text():
        raise Skip(re.search(r"skipped: (.*)", job.text()).group(1))
    expect_content(job, 0)


def dead_peer_in_kernel(options, jobs):
    dead_peer(options, jobs, "dead_peer_in_kernel")


def dead_lane_peer(options, jobs):
    dead_peer(options, jobs, "dead_lane_peer", {"PENSTOCK_THREAD_MULTIPLE": "1"})


def dead_context(options, jobs):
    job = Job(options, "dead_context")
    jobs.append(job)
    job.finish()
    if "skipped: " in job.text():
        raise Skip(re.search(r"skipped: (.*)", job.text()).group(1))
    expect_content(job, 0, 1)


def dead_parent(options, jobs):
    dead_peer(options, jobs, "dead_parent")


def dead_peer_in_match(options, jobs):
    run_simple(options, jobs, "dead_peer_in_match", ranks=(0,), survive=True)


def dead_peer_at_end(options, jobs):
    run_simple(options, jobs, "dead_peer_at_end", ranks=(0,), survive=True)


def dead_sender_of_wildcard(options, jobs):
    run_simple(options, jobs, "dead_sender_of_wildcard", ranks=(0, 2), survive=True, size=3)


def stopped_peer(options, jobs):
    job = run_simple(options, jobs, "stopped_peer", settings={"PENSTOCK_TIMEOUT": "1"})
    expect(line_with(job, r"\b1\b", r"\b42\b", r"\b12345\b"), "no line names peer 1, tag 42 and 12345 bytes")


def fatal_handler(options, jobs):
    with tempfile.NamedTemporaryFile("r") as log:  # MPICH's launcher may lose what is said last
        job = Job(options, "fatal_handler", {"PENSTOCK_TIMEOUT": "1", "PENSTOCK_LOG_FILE": log.name})
        jobs.append(job)
        expect(job.finish() != 0, "the job ends as if nothing had happened")
        expect("went on" not in job.text(), "the program went on with garbage")
        lines = log.readlines()
    expect(any("tag 42" in line and "12345 bytes" in line for line in lines), f"no line names tag 42 and 12345 bytes: {lines}")
    expect(any("MPI_ERRORS_ARE_FATAL" in line for line in lines), f"no line says why the job ends: {lines}")


def released_sender(options, jobs):
    run_simple(options, jobs, "released_sender", settings={"PENSTOCK_TIMEOUT": "1"})


def released_small_sender(options, jobs):
    run_simple(options, jobs, "released_small_sender", settings={"PENSTOCK_TIMEOUT": "1"})


def released_receiver(options, jobs):
    run_simple(options, jobs, "released_receiver", settings={"PENSTOCK_TIMEOUT": "1"})


def freed_peer(options, jobs):
    run_simple(options, jobs, "freed_peer")


def unreceived_buffered(options, jobs):
    run_simple(options, jobs, "unreceived_buffered")


def failed_beside_receive(options, jobs):
    run_simple(options, jobs, "failed_beside_receive", ranks=(0, 1, 2), size=3)


def failed_beside_send(options, jobs):
    run_simple(options, jobs, "failed_beside_send", ranks=(0, 1, 2), size=3)


def match_time_out(options, jobs):
    job = run_simple(options, jobs, "match_time_out", settings={"PENSTOCK_TIMEOUT": "1"})
    for half in "receive from", "send to":
        expect(re.search(rf"match: {half} rank 1 \(tag \d+, MPI_COMM_WORLD, 1000 bytes\) waits .* for \d", job.text()),
               f"the log does not say that the {half} rank 1 waits")


def report(options, jobs):
    job = Job(options, "report")
    jobs.append(job)
    job.await_text(r"rank 0 asks")
    job.await_text(r"^(?=.*\b42\b)(?=.*\b12345\b).*$")
    job.answer("go")
    expect_content(job, 0, 1)


def own_signal_handler(options, jobs):
    run_simple(options, jobs, "own_signal_handler")


def shared_memory_files():
    # What the MPI libraries leave is theirs.
    foreign = re.compile(r"^(ucx_|mpich_|vader_|sm_segment|osc|sem\.|open_mpi|psm|cma_|hwloc)")
    return {name for name in os.listdir("/dev/shm") if not foreign.match(name)}


def killed_job(options, jobs):
    for moment in (r"rank \d+ pid \d+", r"rank \d+ runs"):
        before = shared_memory_files()
        job = Job(options, "traffic")
        jobs.append(job)
        pids = [int(pid) for pid in job.await_text(r"rank \d+ pid (\d+)", 2)]
        job.await_text(moment, 2)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # the launcher was faster
                pass
        job.finish()
        left = shared_memory_files() - before
        for _ in range(50):  # other jobs of this machine have files there for a moment
            if not left:
                break
            time.sleep(0.1)
            left &= shared_memory_files()
        expect(not left, f"left in /dev/shm: {sorted(left)}")


def small_memory(options, jobs):
    for size in ("1m", "8m"):
        mount = f'mount -t tmpfs -o size={size} tmpfs /dev/shm && exec "$@"'
        wrapper = ["unshare", "-m", "sh", "-c", mount, "sh"]
        if subprocess.run(wrapper + ["true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            raise Skip("no mount namespaces here")
        # The MPI libraries need more than that for themselves, unless they are told to use sockets.
        settings = {"UCX_TLS": "tcp,self", "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1"}
        job = run_simple(options, jobs, "small_memory", settings=settings, survive=True, wrapper=wrapper)
        print("\n".join(line for line in job.lines if re.match(r"rank \d", line)))


def no_memory(options, jobs):
    """Allocations of the library fail: one alone, and all from one on, at places spread over what a program does."""
    def run(first, count):
        settings = {"LD_PRELOAD": options.preload, "PENSTOCK_TIMEOUT": "1", "PENSTOCK_LOG": "off",
                    "PENSTOCK_TEST_FAIL_FIRST": str(first), "PENSTOCK_TEST_FAIL_COUNT": str(count)}
        try:
            return run_simple(options, jobs, "no_memory", settings=settings)
        except Wrong as wrong:
            raise Wrong(f"{wrong} when {count} allocations fail from number {first} on") from None

    if not options.preload:
        raise Skip("operator new cannot be replaced here")
    found = re.search(r" 0 calls have failed, of (\d+) allocations", run(0, 0).text())
    expect(found, "without a failure something fails")
    allocations = int(found.group(1))
    expect(allocations > 50, f"only {allocations} allocations were counted")
    places = 12
    for place in range(places):
        first = allocations * place // places
        run(first, 1)
        run(first, 1_000_000)


def no_memory_for_list(options, jobs):
    if not options.preload:
        raise Skip("operator new cannot be replaced here")
    run_simple(options, jobs, "no_memory_for_list", settings={"LD_PRELOAD": options.preload, "PENSTOCK_LOG": "off"})


def dead_window_peer(options, jobs):
    for step in range(3):
        run_simple(options, jobs, "dead_window_peer", ranks=(0,), settings={"PENSTOCK_TEST_STEP": str(step)}, survive=True)


def silent_window_peer(options, jobs):
    run_simple(options, jobs, "silent_window_peer", settings={"PENSTOCK_TIMEOUT": "1"})


def stopped_window_peer(options, jobs):
    run_simple(options, jobs, "stopped_window_peer", settings={"PENSTOCK_TIMEOUT": "1"})


def dead_channel_peer(options, jobs):
    for step in range(6):
        run_simple(options, jobs, "dead_channel_peer", ranks=(0,), settings={"PENSTOCK_TEST_STEP": str(step)}, survive=True)
        if options.transport == "peer":
            run_simple(options, jobs, "dead_channel_peer", ranks=(0,), survive=True,
                       settings={"PENSTOCK_TEST_STEP": str(step), "PENSTOCK_TEST_LIBRARY_BUFFER": "1"})


def silent_channel_peer(options, jobs):
    run_simple(options, jobs, "silent_channel_peer", settings={"PENSTOCK_TIMEOUT": "1"})


def dead_bag_peer(options, jobs):
    for step in range(3):
        run_simple(options, jobs, "dead_bag_peer", ranks=(0,), settings={"PENSTOCK_TEST_STEP": str(step)}, survive=True)


def silent_bag_peer(options, jobs):
    run_simple(options, jobs, "silent_bag_peer", settings={"PENSTOCK_TIMEOUT": "1"})


def dead_enqueued_peer(options, jobs):
    for step in range(4):
        run_simple(options, jobs, "dead_enqueued_peer", ranks=(0,), settings={"PENSTOCK_TEST_STEP": str(step)}, survive=True)


def dead_promised_peer(options, jobs):
    for step in range(4):
        run_simple(options, jobs, "dead_enqueued_peer", ranks=(0,), survive=True,
                   settings={"PENSTOCK_TEST_STEP": str(step), "PENSTOCK_TEST_PROMISE": "1",
                             "PENSTOCK_THREAD_MULTIPLE": "1"})


def dead_overlap_peer(options, jobs):
    dead_peer(options, jobs, "dead_overlap_peer", {"PENSTOCK_OVERLAP": "exact"})


def late_overlap_peer(options, jobs):
    job = run_simple(options, jobs, "late_overlap_peer", settings={"PENSTOCK_OVERLAP": "exact", "PENSTOCK_TIMEOUT": "0.3"})
    expect(line_with(job, "PENSTOCK_TIMEOUT has passed"), "the long wait is not told of")
    expect(line_with(job, "MPI_Send to rank 1, tag 5", "its receiver has not read it"), "the table does not name the send")
    expect(line_with(job, "what the queues and matches wait for"), "SIGUSR1 prints no table")
    expect(sum("MPI_Irecv from rank 1, tag 6" in line for line in job.lines) >= 2, "not both tables name the receive")


def silent_enqueued_peer(options, jobs):
    run_simple(options, jobs, "silent_enqueued_peer", settings={"PENSTOCK_TIMEOUT": "1"})
    if not any("1 enqueued messages not triggered" in line for line in jobs[-1].lines):
        raise Wrong("the time-out's table does not tell what is not triggered")


def dead_member(options, jobs):
    direct = ("one-shot", "put-lock", "put-fence") if options.transport == "peer" else ()
    for algorithm in ("doubling", "two-shot", *direct):
        run_simple(options, jobs, "dead_member", ranks=(0,), settings={"PENSTOCK_TEST_ALGORITHM": algorithm}, survive=True)


def dead_in_collective_call(options, jobs):
    run_simple(options, jobs, "dead_in_collective_call", ranks=(0,), survive=True)


def silent_member(options, jobs):
    run_simple(options, jobs, "silent_member", settings={"PENSTOCK_TIMEOUT": "1"})


def idle(options, jobs):
    run_simple(options, jobs, "idle")


CASES = {case.__name__: case for case in (
    dead_peer, dead_lane_peer, dead_peer_in_kernel, dead_parent, dead_context, dead_peer_in_match, dead_peer_at_end, dead_sender_of_wildcard, stopped_peer, fatal_handler, released_sender, released_small_sender,
    released_receiver, freed_peer, unreceived_buffered, failed_beside_receive, failed_beside_send, match_time_out, report, own_signal_handler, killed_job, small_memory, no_memory, no_memory_for_list,
    dead_window_peer, silent_window_peer, stopped_window_peer, dead_channel_peer, silent_channel_peer, dead_bag_peer, silent_bag_peer, dead_enqueued_peer, dead_promised_peer, dead_overlap_peer, late_overlap_peer, silent_enqueued_peer, dead_member, dead_in_collective_call, silent_member, idle)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--vendor", default="other")
    parser.add_argument("--program", required=True)
    parser.add_argument("--transport", default="peer")
    parser.add_argument("--preload", default="", help="failing_new, for no_memory and its kin")
    parser.add_argument("case", choices=sorted(CASES))
    options = parser.parse_args()
    jobs = []
    try:
        CASES[options.case](options, jobs)
    except Wrong as wrong:
        print(f"{options.case}: {wrong}")
        print("\n".join(jobs[-1].lines[-60:]) if jobs else "")
        return 1
    except Skip as skip:
        print(f"{options.case} skipped: {skip}")
        return SKIPPED
    finally:
        for job in jobs:
            job.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
