# SPDX-License-Identifier: Apache-2.0
import pytest
from penstock_plot import life, scaling
from penstock_plot.records import InputError
from penstock_plot.statistics import ratio_interval
from samples import figure, life_table


def tables(samples=True):
    return [life_table(1, {"MPI": 100, "stream": 90}, samples), life_table(2, {"MPI": 52, "stream": 46}, samples),
            life_table(4, {"MPI": 30, "stream": 24}, samples)]


def test_speed_up_is_over_the_first_variant_on_the_fewest_ranks():
    points = scaling.points_of(tables())
    value, low, high = scaling.speed_up(points["MPI"][1], points["stream"][4])
    assert value == pytest.approx(100 / 24)
    assert low < value < high


def test_intervals_hold_the_ratio_and_are_the_same_each_time():
    above, below = [9.0, 10.0, 11.0, 10.5, 9.5], [4.8, 5.0, 5.2, 5.1, 4.9]
    first = ratio_interval(above, below)
    assert first == ratio_interval(above, below)
    assert first[0] == pytest.approx(2.0)
    assert first[1] < 2.0 < first[2]
    exact = ratio_interval([4.0] * 5, [2.0] * 5)
    assert exact == (2.0, 2.0, 2.0)


def test_more_rounds_give_a_narrower_interval():
    def width(rounds):
        _, low, high = ratio_interval([10 + i % 5 for i in range(rounds)], [5.0] * rounds)
        return high - low

    assert width(101) < width(5)


@pytest.mark.parametrize("samples", [True, False])
def test_scaling_is_drawn(samples, picture):
    scaling.draw(tables(samples), picture)


def test_tables_of_several_problems_are_refused(tmp_path):
    other = life_table(2, {"MPI": 1}) | {"cells": [19, 27]}
    with pytest.raises(InputError, match="several problems"):
        scaling.draw([*tables(), other], tmp_path / "no.png")


def test_lines_of_other_programs_are_tables(picture):
    lines = [{"benchmark": "jacobi", "of": "iteration", "ranks": ranks, "mpi": figure(100 / ranks), "stream": figure(80 / ranks)}
             for ranks in (1, 2)]
    assert scaling.points_of(lines)["stream"][2]["median"] == 40
    scaling.draw(lines, picture)


def test_a_model_is_drawn(picture):
    lines = [{"benchmark": "model", "of": "step", "ranks": ranks, "rank_grid": [1, ranks], "cells": [64, 64], "unit": "us", "compute_us": 90 / ranks,
              "largest_bytes": 64 / ranks, "mpi": figure(100 / ranks), "published": {"mpi": {"us": 1}}} for ranks in (1, 2)]
    assert scaling.points_of(lines)["mpi"][2]["median"] == 50
    scaling.draw(lines, picture)


def test_bench_lines_are_no_tables(tmp_path):
    with pytest.raises(InputError, match="penstock life"):
        scaling.draw([{"benchmark": "latency"}], tmp_path / "no.png")


def test_life_is_drawn(picture):
    life.draw(tables()[:2], picture)
