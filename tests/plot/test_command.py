# SPDX-License-Identifier: Apache-2.0
"""The command line: of the package, and of the `penstock` command before it, where there is one."""
import json
import os
import subprocess
import sys

import pytest
from penstock_plot.command import main
from samples import bench_line, write_lines

COMMAND = os.environ.get("PENSTOCK_TEST_COMMAND")
with_command = pytest.mark.skipif(COMMAND is None, reason="PENSTOCK_TEST_COMMAND names no penstock command")


@pytest.fixture
def lines(tmp_path):
    return write_lines(tmp_path / "lines", [bench_line(size) for size in (8, 64)])


def run(*words, environment=None):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env=os.environ | (environment or {}))


def test_curves_are_drawn(lines, picture):
    main(["curves", lines, "--output", str(picture), "--where", "order=sequential"])


@pytest.mark.parametrize("words, text", [
    (["curves", "absent"], "absent"),
    (["curves", "LINES", "--benchmark", "halo"], "no halo lines"),
    (["scaling", "LINES"], "penstock life"),
    (["timeline", "LINES"], "no file of PENSTOCK_TRACE"),
    (["life", "LINES"], "life.json"),
    (["timeline", "BYTES"], "bytes is no text"),
    (["curves", "BYTES"], "bytes is no text"),
    (["curves", "SHAPE"], "something else"),
])
def test_what_is_wrong_is_said_in_one_line(words, text, lines, tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{")
    (tmp_path / "shape").write_text(json.dumps(bench_line(8) | {"bytes": [8]}), encoding="utf-8")
    files = {"LINES": lines, "BYTES": str(tmp_path / "bytes"), "SHAPE": str(tmp_path / "shape")}
    with pytest.raises(SystemExit) as ended:
        main([files.get(word, word) for word in words])
    assert str(ended.value).startswith("penstock plot: ") and text in str(ended.value)


@pytest.mark.parametrize("words", [[], ["pie"], ["curves", "LINES", "--where", "order"], ["curves", "LINES", "--benchmark", "speed"]])
def test_wrong_words_are_refused(words, lines, capsys):
    with pytest.raises(SystemExit) as ended:
        main([lines if word == "LINES" else word for word in words])
    assert ended.value.code == 2
    assert "usage: penstock plot" in capsys.readouterr().err


@with_command
def test_the_command_runs_the_package(lines, picture):
    ran = run(COMMAND, "plot", "curves", lines, "--output", str(picture))
    assert (ran.returncode, ran.stderr) == (0, "")


@with_command
def test_the_command_prints_tables(lines):
    ran = run(COMMAND, "plot", "--table", lines)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "| bytes | penstock | mpi |" in ran.stdout


def test_tables_need_nothing_that_draws(lines, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    ran = run(sys.executable, "-m", "penstock_plot", "--table", lines, environment={"PYTHONPATH": path})
    assert (ran.returncode, ran.stderr) == (0, "")


@with_command
def test_the_command_passes_help_and_failures_on(lines):
    shown = run(COMMAND, "plot", "curves", "--help")
    assert shown.returncode == 0 and "usage: penstock plot curves" in shown.stdout
    failed = run(COMMAND, "plot", "scaling", lines)
    assert failed.returncode == 1 and failed.stderr.startswith("penstock plot: ")


@with_command
def test_without_the_package_the_command_says_how_to_install_it():
    # A Python without site packages, in place of every one.
    ran = run(COMMAND, "plot", "curves", environment={"PYTHONHOME": "/nonexistent"})
    assert ran.returncode == 1
    assert "python3 -m pip install " in ran.stderr
    folder = ran.stderr.split("pip install ")[1].strip()
    assert os.path.exists(os.path.join(folder, "pyproject.toml"))


@with_command
@pytest.mark.skipif("PENSTOCK_TEST_MPIEXEC" not in os.environ, reason="PENSTOCK_TEST_MPIEXEC names no launcher")
def test_a_real_trace_and_real_lines_are_drawn(tmp_path, picture):
    traces = tmp_path / "trace.%p.json"
    ran = run(os.environ["PENSTOCK_TEST_MPIEXEC"], "-n", "2", COMMAND, "bench", "halo", "--halo", "4", "--rounds", "1", "--iterations", "3",
              "--json", environment={"PENSTOCK_TRACE": str(traces)})
    assert ran.returncode == 0, ran.stderr
    (tmp_path / "lines").write_text(ran.stdout, encoding="utf-8")
    main(["curves", str(tmp_path / "lines"), "--benchmark", "halo", "--output", str(picture)])
    files = sorted(str(path) for path in tmp_path.glob("trace.*.json"))
    assert len(files) == 2
    main(["timeline", *files, "--output", str(picture)])
