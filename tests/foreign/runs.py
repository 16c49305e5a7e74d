# SPDX-License-Identifier: Apache-2.0
"""Runs programs, and keeps a line of JSON for each run, so that what was interrupted goes on where it was."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

WAYS = ("alone", "preloaded")
running = set()  # the launchers, each the leader of a session


def end_session(leader):
    """A launcher's processes may have groups of their own, but they stay in its session."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(entry)) == leader:
                os.kill(int(entry), signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def run(program, launcher, added, limit):
    """`added` is the environment of the program, and not of its launcher."""
    if program.limit:
        limit = min(limit, program.limit)
    # Both launchers end a job after MPIEXEC_TIMEOUT seconds themselves; the suite has a program that wants to see it.
    environment = {**os.environ, "MPIEXEC_TIMEOUT": str(int(limit))}
    began = time.monotonic()
    process = subprocess.Popen([*launcher, "-n", str(program.ranks), *program.line(added)], cwd=program.folder,
                               env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    running.add(process.pid)
    try:
        output, _ = process.communicate(timeout=limit + 15)
    except subprocess.TimeoutExpired:
        output = ""
    finally:
        end_session(process.pid)
        process.wait()
        running.discard(process.pid)
    seconds = time.monotonic() - began
    outcome, failed = program.outcome(process.returncode, output)
    if seconds >= limit and not (program.expects and outcome == "pass"):
        outcome, failed = "timeout", {}
    record = {"program": program.name, "outcome": outcome, "failed": failed, "seconds": round(seconds, 1)}
    return record | ({} if outcome.startswith("pass") else {"output": output[-2000:]})


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wanted(programs, records, repeat):
    """Each round runs every program alone, then preloaded. One that once did not end alone is not run again."""
    done, hung = {}, set()
    for record in records:
        done.setdefault((record["program"], record["way"]), []).append(record["outcome"])
        if record["way"] == "alone" and record["outcome"] == "timeout":
            hung.add(record["program"])
    for turn in range(repeat):
        for program in programs:
            ways = [way for way in WAYS if len(done.get((program.name, way), [])) <= turn]
            if ways and program.name not in hung:
                yield program, ways


class Progress:
    def __init__(self, total):
        self.total, self.count, self.terminal = total, 0, sys.stdout.isatty()

    def show(self, record):
        self.count += 1
        text = f"[{self.count}/{self.total}] {record['outcome']}: {record['program']} {record['way']} " \
               f"({record['seconds']} s)"
        passed = record["outcome"].startswith("pass")
        if self.terminal:
            print("\r\033[K" + text[:150], end="" if passed else "\n", flush=True)
        elif not passed or self.count % 50 == 0:
            print(text, flush=True)


def run_all(programs, options, path):
    known = {program.name for program in programs}
    records = [record for record in read(path) if record["program"] in known]
    tasks = list(wanted(programs, records, options.repeat))
    progress, lock = Progress(sum(len(ways) for _, ways in tasks)), threading.Lock()
    hung, stopped = set(), threading.Event()
    preload = [f"LD_PRELOAD={options.library}", *options.settings]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)

    def work(program, ways):
        for way in ways:
            if program.name in hung:
                return
            record = run(program, options.launcher, preload if way == "preloaded" else [], options.limit)
            record["way"] = way
            if stopped.is_set():
                return
            if way == "alone" and record["outcome"] == "timeout":
                hung.add(program.name)
            with lock:
                with path.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                progress.show(record)

    pool = ThreadPoolExecutor(options.jobs)
    try:
        for done in [pool.submit(work, *task) for task in tasks]:
            done.result()
    except KeyboardInterrupt:  # what runs ends, without a record, and nothing else begins
        stopped.set()
        for leader in list(running):
            end_session(leader)
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    if progress.terminal:
        print()
