# SPDX-License-Identifier: Apache-2.0
import json
import os
import threading

import pytest
from penstock_plot.records import InputError, read_values, sides_of
from samples import bench_line


def test_values_are_found_between_other_lines_and_over_several(tmp_path):
    path = tmp_path / "mixed"
    path.write_text('# head\n{"a": 1}\n' + json.dumps({"b": {"c": 2}}, indent=2) + '\ntail\n{"d": 3}', encoding="utf-8")
    assert read_values(path) == [{"a": 1}, {"b": {"c": 2}}, {"d": 3}]


def test_broken_and_empty_files_are_named(tmp_path):
    broken = tmp_path / "broken"
    broken.write_text('{"a": 1}\n{"b": \n', encoding="utf-8")
    with pytest.raises(InputError, match="broken.*line 2"):
        read_values(broken)
    empty = tmp_path / "empty"
    empty.write_text("no lines\n", encoding="utf-8")
    with pytest.raises(InputError, match="empty.*--json"):
        read_values(empty)


def test_a_pipe_that_nobody_writes_is_empty(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(InputError, match="pipe.*--json"):
        read_values(path)


def test_a_pipe_is_read_to_its_end(tmp_path):
    reading, writing = os.pipe()
    writer = threading.Timer(0.2, lambda: (os.write(writing, b'{"a": 1}\n'), os.close(writing)))
    writer.start()
    assert read_values(f"/dev/fd/{reading}") == [{"a": 1}]
    writer.join()
    os.close(reading)


def test_sides_are_all_that_was_compared_penstock_first():
    line = {"mpi": bench_line(8)["mpi"]} | bench_line(8) | {"caller_ns": bench_line(8)["mpi"]}
    assert sides_of(line) == ["penstock", "mpi", "mpi-nonblocking"]
