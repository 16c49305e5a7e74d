# SPDX-License-Identifier: Apache-2.0
"""Markdown tables of JSON lines: which tables there are, their columns and their cells."""
import pytest
from penstock_plot.command import main
from samples import bench_line, figure, write_lines


@pytest.fixture
def tables_of(tmp_path, capsys):
    """The tables of lines by their titles, each as rows of cells."""
    def read(lines):
        main(["--table", write_lines(tmp_path / "lines", lines)])
        found = {}
        for block in capsys.readouterr().out.split("\n### ")[1:]:
            title, *rows = [line for line in block.splitlines() if line]
            found[title] = [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows if not row.startswith("| ---")]
        return found
    return read


def cuda_line(size, **changes):
    sides = {"penstock": figure(2.5) | {"blocks": 4}, "mpi": figure(5.0), "mpi-nonblocking": None}
    line = bench_line(size, device="cuda", mode="graph", launch="dependent", **sides) | changes
    return {key: value for key, value in line.items() if value is not None}


def floor_line(way, median, **changes):
    return {"benchmark": "floor", "mode": "graph", "launch": "dependent", "bytes": 8, "checked": False, "way": way, "blocks": 1,
            "floor": figure(median)} | changes


def test_a_table_for_each_benchmark_and_set_of_conditions(tables_of):
    found = tables_of([bench_line(8), bench_line(64), bench_line(8, order="preposted"), bench_line(8, benchmark="bandwidth", unit="MB/s")])
    assert list(found) == ["Latency, host streams, stream, sequential, on MPICH 4.0.2 (us, medians of 9 rounds)",
                           "Latency, host streams, stream, preposted, on MPICH 4.0.2 (us, medians of 9 rounds)",
                           "Bandwidth, host streams, stream, sequential, on MPICH 4.0.2 (MB/s, medians of 9 rounds)"]
    first = found["Latency, host streams, stream, sequential, on MPICH 4.0.2 (us, medians of 9 rounds)"]
    assert first == [["bytes", "penstock", "mpi", "mpi-nonblocking", "gain over mpi"], ["8", "0.10", "0.20", "0.30", "2.00"],
                     ["64", "0.10", "0.20", "0.30", "2.00"]]


def test_a_collective_has_its_algorithm_in_place_of_an_order(tables_of):
    line = bench_line(8, benchmark="allreduce", algorithm="doubling") | {"mpi-nonblocking": None}
    found = tables_of([{key: value for key, value in line.items() if value is not None and key not in ("order", "pack", "checked")}])
    assert found["Allreduce, host streams, stream, on MPICH 4.0.2, 2 ranks (us, medians of 9 rounds)"] == [
        ["bytes", "algorithm", "penstock", "mpi", "gain over mpi"], ["8", "doubling", "0.10", "0.20", "2.00"]]


def test_the_faster_floor_stands_beside_what_is_not_checked(tables_of):
    found = tables_of([cuda_line(8), cuda_line(64), cuda_line(8, checked=True), floor_line("lines", 1.25), floor_line("push", 1.5)])
    assert found["Latency, graph, sequential (us, medians of 9 rounds)"] == [
        ["bytes", "penstock", "mpi", "gain over mpi", "floor", "penstock / floor", "blocks"],
        ["8", "2.50", "5.00", "2.00", "1.25 (lines)", "2.00", "4"], ["64", "2.50", "5.00", "2.00", "", "", "4"]]
    assert "floor" not in found["Latency, graph, sequential, checked (us, medians of 9 rounds)"][0]
    assert found["The bare pair of kernels (us, half round trips, the faster way)"] == [
        ["bytes", "graph, dependent", "way", "blocks"], ["8", "1.25", "lines", "1"]]


def test_steps_calls_and_costs(tables_of):
    found = tables_of([
        {"benchmark": "floor steps", "step": "least", "mode": "stream", "bytes": 8, "floor": figure(2.0), "enqueue_us": 4.5},
        {"benchmark": "enqueue", "of": "latency", "order": "sequential", "side": "nccl", "bytes": 8, "us": 3.0, "calls": {"send": 1.5}},
        {"benchmark": "cost", "name": "start + wait", "unit": "ns", "penstock": figure(40.0), "library": "MPICH 4.0.2"}])
    assert [rows[1] for rows in found.values()] == [["latency", "sequential", "8", "nccl", "3.00", "send 1.50"],
                                                    ["start + wait", "ns", "MPICH 4.0.2", "40.00"], ["least", "2.00 (4.50)"]]


def test_an_exchange_has_what_all_ranks_send_and_a_program_its_variants(tables_of):
    found = tables_of([cuda_line(77, benchmark="exchange", messages=26, pairs="all", penstock=figure(2.0) | {"MB/s": 123.4}, mpi=None),
                       {"benchmark": "faces", "of": "step", "unit": "us", "points": 5,
                        "mpi": figure(4.0) | {"transport": "mpi", "average": 3.0, "minimum": 2.0}}])
    assert found["Exchange, graph, sequential, 2 ranks, all (us, medians of 9 rounds)"] == [
        ["bytes", "messages", "penstock", "penstock MB/s"], ["77", "26", "2.00", "123"]]
    assert found["Faces, points 5 (us a step, medians)"][1] == ["mpi", "mpi", "4.00", "3.60 - 4.80", "3.00", "2.00"]
