# SPDX-License-Identifier: Apache-2.0
"""The kept list: a line for each program. A name alone passed in all runs of both ways; the others follow with why."""

from collections import Counter


def outcomes(records):
    """For each name its outcomes alone and preloaded. Tests inside a program that failed have names of their own."""
    inner, names = {}, {}
    for record in records:
        inner.setdefault(record["program"], set()).update(record["failed"])
    for record in records:
        program, outcome, way = record["program"], record["outcome"], record["way"]
        ended = outcome.startswith(("pass", "fail"))
        names.setdefault(program, {"alone": [], "preloaded": []})[way].append(outcome)
        for test in inner[program]:
            end = record["failed"].get(test, "pass" if ended else outcome)
            names.setdefault(f"{program} {test}", {"alone": [], "preloaded": []})[way].append(end)
    return names


def passes(ends):
    return bool(ends) and all(end.startswith("pass") for end in ends)


def short(ends):
    """What came out and how often: "pass", or "2 pass + 1 fail"."""
    counts = Counter(ends)
    if len(counts) == 1:
        return ends[0]
    return " + ".join(f"{counts[end]} {end}" for end in sorted(counts, reverse=True)) or "not run"


def is_lost(ends):
    """It passes whenever it runs alone, and not always, or with other counts, with the library."""
    alone, preloaded = ends["alone"], ends["preloaded"]
    return passes(alone) and bool(preloaded) and (not passes(preloaded) or set(alone) != set(preloaded))


def row(ends, repeat, note):
    """The columns behind a name: none when it passed in all runs, else the outcomes alone, preloaded, and a note."""
    alone, preloaded = short(ends["alone"]), short(ends["preloaded"])
    few = min(map(len, ends.values()))
    if passes(ends["alone"]) and alone == preloaded:
        return ([] if alone == "pass" else [alone]) if few >= repeat else [alone, preloaded, f"{few} of {repeat} runs"]
    return [alone, preloaded] + ([note] if note else [])


def lines(names, left_out, repeat, notes):
    """The list, from the names' outcomes, from the reasons of those that never ran, and from notes on programs."""
    table = {name: [reason] for name, reason in left_out.items()}
    table |= {name: row(ends, repeat, notes.get(name)) for name, ends in names.items()}
    return ["\t".join([name, *table[name]]) for name in sorted(table)]


def write(path, heading, table):
    path.write_text("".join(f"# {line}\n" for line in heading) + "".join(line + "\n" for line in table))


def read_passing(path):
    """The names in the list that passed in all runs, both ways."""
    rows = [line.split("\t") for line in path.read_text().splitlines() if line and line[0] != "#"]
    return {name for name, *ends in rows if all(end.startswith("pass") and end == ends[0] for end in ends[:2])}


def compare(names, left_out, passing, group_of):
    """What of the list passes no more, and what passes now. Names of groups that were not run say nothing."""
    groups = {group_of(name) for name in [*names, *left_out]}
    now = {name for name, ends in names.items() if passes(ends["alone"]) and passes(ends["preloaded"])}
    expected = {name for name in passing if group_of(name) in groups}
    return sorted(expected - now), sorted(now - passing)
