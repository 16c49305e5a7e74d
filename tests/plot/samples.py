# SPDX-License-Identifier: Apache-2.0
"""What penstock would have written, with figures that are easy to check."""
import json


def figure(median, samples=None):
    result = {"median": median, "low": median * 0.9, "high": median * 1.2}
    if samples:
        result["samples"] = samples
    return result


def bench_line(size, **changes):
    line = {"benchmark": "latency", "device": "host", "mode": "stream", "ranks": 2, "bytes": size, "messages": 1, "unit": "us",
            "penstock": figure(0.1 + size / 1e5), "mpi": figure(0.2 + size / 1e5), "mpi-nonblocking": figure(0.3 + size / 1e5),
            "gain_over_mpi": 2.0, "transport": "peer", "memory": "ordinary", "send": "standard", "order": "sequential",
            "pack": False, "library": "MPICH 4.0.2", "thread_level": "MPI_THREAD_SINGLE", "rounds": 9, "checked": False}
    return line | changes


def write_lines(path, lines):
    path.write_text("# a table's head\n" + "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def life_table(ranks, medians, samples=True):
    rows = [{"variant": name, "us_per_step": figure(median, [median * part for part in (0.9, 1.0, 1.0, 1.1)] if samples else None)}
            for name, median in medians.items()]
    return {"benchmark": "life", "pattern": "gun", "mpi": "MPICH 4.0.2", "ranks": ranks, "cells": [256, 256], "rows": rows}


def span(rank, thread, category, name, begin, duration, **args):
    return {"ph": "X", "pid": rank, "tid": thread, "ts": begin, "dur": duration, "cat": category, "name": name, "args": args}


def transfer(rank, number, begin, end, **args):
    what = {"pid": rank, "tid": 3, "id": f"{rank}.{number}", "cat": "transfer", "name": "transfer"}
    return [{"ph": "b", "ts": begin, "args": args} | what, {"ph": "e", "ts": end} | what]


def trace(rank, epochs=3, tag=7, begin=1000.0):
    """Rank 0 sends to rank 1, an epoch each 10 us."""
    half, peer = ("send", 1) if rank == 0 else ("receive", 0)
    events = [{"ph": "M", "pid": rank, "tid": 2, "name": "thread_name", "args": {"name": "queue 1: calls"}},
              {"ph": "M", "pid": rank, "tid": 3, "name": "thread_name", "args": {"name": "queue 1: stream", "stream": 4}}]
    for epoch in range(1, epochs + 1):
        at = begin + 10 * epoch
        about = {"half": half, "peer": peer, "tag": tag, "bytes": 4096, "epoch": epoch}
        events += [span(rank, 2, "call", f"start {half}", at - 1, 0.2, **about), span(rank, 2, "call", f"wait {half}", at - 0.7, 0.2, **about),
                   span(rank, 3, "trigger", "trigger", at, 0.5, **about), span(rank, 3, "wait", "wait", at + 0.6, 2.0, **about)]
        events += transfer(rank, epoch, at, at + 2.6, **about)
    return events
