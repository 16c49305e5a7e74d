# SPDX-License-Identifier: Apache-2.0
"""The kept list: a line for each program. A name alone passed in all runs of both ways; the others follow with why."""

from itertools import groupby


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
    """What came out and how often: "pass" or "pass 2, fail 1"."""
    counts = {end: len(list(group)) for end, group in groupby(sorted(ends))}
    return next(iter(counts)) if len(counts) == 1 else ", ".join(f"{end} {count}" for end, count in counts.items())


def is_lost(ends):
    """It passes whenever it runs alone, and not always, or with other counts, with the library."""
    alone, preloaded = ends["alone"], ends["preloaded"]
    return passes(alone) and bool(preloaded) and (not passes(preloaded) or set(alone) != set(preloaded))


def lines(names, left_out, repeat):
    """The list, from the names' outcomes and from the reasons of those that never ran."""
    table = {name: [reason] for name, reason in left_out.items()}
    for name, ends in names.items():
        alone, preloaded = short(ends["alone"]), short(ends["preloaded"]) if ends["preloaded"] else "not run"
        few = min(len(ends["alone"]), len(ends["preloaded"]))
        note = [] if few >= repeat or preloaded == "not run" else [f"{few} of {repeat} runs"]
        same = alone == preloaded and passes(ends["alone"])
        table[name] = ([] if same and alone == "pass" else [alone] if same else [alone, preloaded]) + note
    return ["\t".join([name, *table[name]]) for name in sorted(table)]


def write(path, heading, table):
    path.write_text("".join(f"# {line}\n" for line in heading) + "".join(line + "\n" for line in table))


def read_passing(path):
    """The names in the list that passed in all runs, both ways."""
    rows = [line.split("\t") for line in path.read_text().splitlines() if line and line[0] != "#"]
    return {name for name, *rest in rows if not rest or (rest[0].startswith("pass") and "," not in rest[0]
            and (len(rest) == 1 or rest[1].endswith("runs")))}


def compare(names, left_out, passing, group_of):
    """What of the list passes no more, and what passes now. Names of groups that were not run say nothing."""
    groups = {group_of(name) for name in [*names, *left_out]}
    now = {name for name, ends in names.items() if passes(ends["alone"]) and passes(ends["preloaded"])}
    expected = {name for name in passing if group_of(name) in groups}
    return sorted(expected - now), sorted(now - passing)
