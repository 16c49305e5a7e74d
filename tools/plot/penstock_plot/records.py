# SPDX-License-Identifier: Apache-2.0
"""Reads what penstock prints: JSON values one behind the other, with other lines between them or not."""
import json
import os

# The benchmarks of `penstock bench` that are collectives.
COLLECTIVES = ["allreduce", "reduce-scatter", "allgather", "alltoall", "alltoallv", "bcast", "reduce", "barrier"]


class InputError(ValueError):
    """What a file lacks, for the user."""


def open_at_once(path, flags):
    """To open a pipe would wait until somebody writes it: so one that nobody writes is empty."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def read_text(path):
    try:
        with open(path, encoding="utf-8", opener=open_at_once) as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text: {error}") from error


def read_values(path):
    """All JSON objects of a file, whether each has a line or several."""
    text = read_text(path)
    decoder = json.JSONDecoder()
    values, at = [], text.find("{")
    while at >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}: broken JSON at line {text.count(chr(10), 0, at) + 1}: {error.msg}") from error
        values.append(value)
        at = text.find("{", at)
    if not values:
        raise InputError(f"{path}: no JSON in it: was it written with --json?")
    return values


def read_all(paths):
    return [value for path in paths for value in read_values(path)]


def is_figure(value):
    """A side's figure in a measurement."""
    return isinstance(value, dict) and {"median", "low", "high"} <= value.keys()


def sides_of(line):
    """The names of those that a measurement compares, Penstock first."""
    names = [key for key, value in line.items() if is_figure(value) and key != "caller_ns"]
    return sorted(names, key=lambda name: name != "penstock")
