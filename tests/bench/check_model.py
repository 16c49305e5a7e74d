#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_model.py COMMAND: `penstock model` says what can be reckoned by hand: grids, messages inside nodes and between them, links
that ranks of a node share, few cells and many, what others have measured; and wrong input is refused with a line that says why."""
import json
import pathlib
import subprocess
import sys
import tempfile

COMMAND = sys.argv[1]
FOLDER = pathlib.Path(tempfile.mkdtemp())
# A message takes 10 us and 1 us for each 1000 bytes between nodes, a tenth of that inside.
MACHINE = {"cells": [1000, 1000], "cell_bytes": 1, "latency": {"mpi": {"between": [[0, 10], [1000, 11]], "inside": [[0, 1], [1000, 1.1]]}},
           "compute": [[10000, 100], [1000000, 10000]]}


def model(given, *words):
    path = FOLDER / "input.json"
    path.write_text(given if isinstance(given, str) else json.dumps(given))
    return subprocess.run([COMMAND, "model", str(path), *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def lines(given, *words):
    run = model(given, "--json", *words)
    if run.returncode != 0:
        sys.exit(f"{run.args}: {run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def require(found, expected, what):
    if abs(found - expected) > 1e-6 * max(1.0, abs(expected)):
        sys.exit(f"{what}: {found}, not {expected}")


def check_exchange():
    one, two, four = lines(MACHINE, "--ranks", "1,2,4")
    require(one["mpi"]["median"], 10000, "one rank")
    # Two neighbours, each in three directions: an edge of 1000 bytes and two corners of 1.
    require(two["compute_us"], 100 + 9900 * 490000 / 990000, "half of the cells")
    require(two["mpi"]["median"] - two["compute_us"], 11 + (2 * 1002 - 1000) / 1000, "two ranks of two nodes")
    if four["rank_grid"] != [2, 2]:
        sys.exit(f"grid: {four['rank_grid']}")
    # Four edges of 500 bytes and four corners.
    require(four["mpi"]["median"] - four["compute_us"], 10.5 + (4 * 500 + 4 - 500) / 1000, "four ranks of four nodes")
    require(four["largest_bytes"], 500, "the largest message")


def check_nodes():
    def exchange(**changes):
        line, = lines(MACHINE | changes, "--ranks", 4)
        return line["mpi"]["median"] - line["compute_us"]

    require(exchange(ranks_a_node=4), 1.05 + 1504 / 10000, "four ranks of one node")
    # Of each rank of a pair two edges and all corners leave, 1004 bytes. They share one link, or have one each.
    require(exchange(ranks_a_node=2), 10.5 + (2 * 1004 - 500) / 1000, "two ranks at a link")
    require(exchange(ranks_a_node=2, links_a_node=2), 10.5 + (1004 - 500) / 1000, "a link each")


def check_cells():
    few = {"cells": [10, 10], "compute": [[1000, 20], [3000, 40]]}
    for how, us in (("proportional", 2), ("straight", 11)):
        require(lines(MACHINE | few | {"few_cells": how}, "--ranks", 1)[0]["compute_us"], us, how)
    require(lines(MACHINE | few | {"cells": [100, 100]}, "--ranks", 1)[0]["compute_us"], 40 * 10 / 3, "many cells")
    # 26 neighbours in three dimensions, of which a rank that is its own in two of them has 18.
    line, = lines(MACHINE | {"cells": [100, 10, 10]}, "--ranks", 2)
    require(line["largest_bytes"], 100, "a face")
    require(line["mpi"]["median"] - line["compute_us"], 10.1 + (2 * (100 + 4 * 10 + 4) - 100) / 1000, "three dimensions")


def check_published():
    given = MACHINE | {"published": [{"way": "mpi", "ranks": 4, "speedup": 2}, {"way": "mpi", "ranks": 2, "us": 8000}]}
    line, = lines(given, "--ranks", 4, "--beside", 7)
    require(line["published"]["mpi"]["us"], 5000, "what a speed-up is")
    table = model(given, "--ranks", "2,4", "--beside", "mpi=7").stdout
    if "left out:" not in table or " 8000.0 " not in table:
        sys.exit(f"table: {table}")
    require(line["mpi"]["median"] - lines(given, "--ranks", 4)[0]["mpi"]["median"], 7, "beside")


def check_latencies():
    path = FOLDER / "lines.jsonl"
    line = {"benchmark": "latency", "bytes": 8, "penstock": {"median": 3.0}}
    path.write_text("# head\n" + "".join(json.dumps(line | changes) + "\n" for changes in ({}, {"penstock": {"median": 2.5}})))
    found, = lines(MACHINE, "--ranks", 2, "--latency", f"stream={path}:penstock")
    require(found["stream"]["median"] - found["compute_us"], 2.5, "the faster of two lines")


def check_refusals():
    for given, words, why in (("{", [], "parse error"), (MACHINE | {"cells": [5]}, [], "two or three"),
                              (MACHINE | {"ranks_a_node": 0}, [], "ranks_a_node"), (MACHINE | {"compute": [[2, 1], [1, 1]]}, [], "rising"),
                              (MACHINE, ["--beside", "ours=1"], "no latencies of ours"), (MACHINE, ["--beside", "much"], "WAY=US"),
                              (MACHINE, ["--latency", "x"], "WAY=FILE:SIDE"), (MACHINE, ["--latency", "x=/none:penstock"], "cannot be read"),
                              (MACHINE | {"published": [{"way": "ours", "ranks": 1, "us": 1}]}, [], "no latencies of ours")):
        require_refusal(given, words, why)


def require_refusal(given, words, why):
    run = model(given, *words)
    told = run.stderr
    if run.returncode != 1 or why not in told or len(told.splitlines()) != 1 or "json.exception" in told or run.stdout:
        sys.exit(f"{given} {words}: status {run.returncode}, {told!r} lacks {why!r}, or {run.stdout!r} is too much")


def check_keys():
    """Each key that is wrong, or missing, is named with the file and what it must be."""
    point = {"way": "mpi", "ranks": 2}
    for changes, why in (({"rank_a_node": 8}, "rank_a_node is no key that is known there: source, cells"),
                         ({"few_cells": "strait"}, 'few_cells must be "proportional" or "straight"'), ({"few_cells": 1}, "few_cells must be"),
                         ({"cell_bytes": -8}, "cell_bytes must be a number above 0"), ({"cell_bytes": "8"}, "cell_bytes must be a number above 0"),
                         ({"ghosts": 1.5}, "ghosts must be a whole number"), ({"links_a_node": 2 ** 40}, "links_a_node must be a whole number"),
                         ({"cells": "many"}, "cells must be two or three"), ({"cells": [4, 0]}, "cells must be two or three"),
                         ({"source": 5}, "source must be a text"), ({"latency": {}}, "latency must be an object"),
                         ({"latency": {"mpi": [[1, 1]]}}, "latency.mpi must be an object with the keys between, inside"),
                         ({"latency": {"mpi": {"inside": [[1, 1]]}}}, "latency.mpi.between is missing: it is points"),
                         ({"latency": {"mpi": {"between": [[1, 1, 1]]}}}, "latency.mpi.between must be a list of points"),
                         ({"latency": {"mpi": {"between": [[1, 1]], "within": []}}}, "latency.mpi.within is no key"),
                         ({"compute": {"stream": [[1, 1]]}}, "compute.stream is no key"), ({"compute": {}}, "compute.mpi is missing"),
                         ({"published": {}}, "published must be a list"), ({"published": [point]}, "published[0] must have either speedup or us"),
                         ({"published": [point | {"us": 1, "speedup": 1}]}, "published[0] must have either speedup or us"),
                         ({"published": [point | {"us": 0}]}, "published[0].us must be a number above 0"),
                         ({"published": [point | {"us": 1, "ranks": 0}]}, "published[0].ranks must be a whole number"),
                         ({"published": [{"ranks": 2, "us": 1}]}, "published[0].way is missing"),
                         ({"published": [point | {"us": 1, "rank": 2}]}, "published[0].rank is no key")):
        require_refusal(MACHINE | changes, [], "input.json: " + why)
    for key in ("cells", "latency", "compute"):
        require_refusal({name: value for name, value in MACHINE.items() if name != key}, [], f"input.json: {key} is missing: it is")
    require_refusal([], [], "input.json: it must be an object with the keys")
    for text in ("nan", "inf", "mpi=-1"):
        require_refusal(MACHINE, ["--beside", text], "--beside takes")
    few = MACHINE | {"cells": [10, 10]}
    require_refusal(few, ["--ranks", 131072], "131072 ranks cannot share 10 x 10 cells")
    require_refusal(few, ["--ranks", 7 * 11], "77 ranks cannot share")
    if [line["ranks"] for line in lines(few)] != [1, 2, 4, 8, 16, 32, 64]:
        sys.exit("ranks that fit")
    path = FOLDER / "broken.jsonl"
    path.write_text('# head\n{"benchmark": "latency", "bytes": 8, "penstock": {}}\n')
    require_refusal(MACHINE, ["--latency", f"stream={path}:penstock"], "broken.jsonl: line 2: ")


for check in (check_exchange, check_nodes, check_cells, check_published, check_latencies, check_refusals, check_keys):
    check()
