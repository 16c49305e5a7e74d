# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

import pytest
from penstock_plot import curves
from penstock_plot.records import InputError, read_values
from samples import bench_line, figure

SIZES = [8, 64, 512, 4096]


def test_every_side_is_a_series_with_its_quartiles():
    series = curves.series_of([bench_line(size) for size in SIZES])
    assert [name for _, _, name, _ in series] == ["Penstock", "MPI", "MPI, nonblocking"]
    sizes, figures = zip(*series[0][3])
    assert list(sizes) == SIZES
    assert figures[0]["low"] < figures[0]["median"] < figures[0]["high"]


def test_libraries_are_series_of_their_own():
    lines = [bench_line(8), bench_line(8, library="Open MPI 4")]
    assert [name for _, _, name, _ in curves.series_of(lines)][:2] == ["Penstock on MPICH 4.0.2", "Penstock on Open MPI 4"]


def test_runs_of_one_condition_are_pooled():
    lines = [bench_line(8, penstock=figure(1.0, [1.0, 1.0])), bench_line(8, penstock=figure(3.0, [3.0, 3.0]))]
    (_, pooled), = curves.series_of(lines)[0][3]
    assert pooled["median"] == 2.0


def test_conditions_that_vary_are_panels_with_a_name():
    panels = curves.panels_of([bench_line(8), bench_line(8, order="preposted"), bench_line(64)])
    assert [(name, len(lines)) for name, lines in panels] == [("receives sequential", 2), ("receives preposted", 1)]


def test_checked_lines_are_drawn_only_alone():
    lines = [bench_line(8), bench_line(64, checked=True)]
    assert [line["bytes"] for line in curves.select(lines, "latency", {})] == [8]
    assert [line["bytes"] for line in curves.select(lines[1:], "latency", {})] == [64]


def test_every_benchmark_has_its_axis():
    assert list(curves.AXES) == curves.BENCHMARKS


@pytest.mark.parametrize("benchmark, smallest", [("latency", 0), ("halo", 208), ("rma", 8), ("allreduce", 8)])
def test_lines_are_drawn(benchmark, smallest, picture):
    curves.draw([bench_line(size, benchmark=benchmark) for size in (smallest, 512, 4096)], benchmark, picture)


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match="no halo lines"):
        curves.draw([bench_line(8)], "halo", tmp_path / "no.png")
    with pytest.raises(InputError, match="graph"):
        curves.draw([bench_line(8)], "latency", tmp_path / "no.png", {"mode": "graph"})


@pytest.mark.skipif("PENSTOCK_TEST_RESULTS" not in os.environ, reason="PENSTOCK_TEST_RESULTS names no folder of results")
def test_the_published_lines_are_drawn(picture):
    lines = read_values(pathlib.Path(os.environ["PENSTOCK_TEST_RESULTS"]) / "cuda.jsonl")
    names = [name for _, _, name, _ in curves.series_of(curves.select(lines, "latency", {"mode": "graph"}))]
    assert {"Penstock", "NCCL"} <= set(names)
    curves.draw(lines, "bandwidth", picture)
