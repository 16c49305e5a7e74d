# SPDX-License-Identifier: Apache-2.0
"""Markdown tables of what `penstock bench`, `penstock_floor` and the example programs print with --json."""
import json

from penstock_plot.records import COLLECTIVES, sides_of

EXCHANGES = ["exchange", "halo"]
BENCHMARKS = ["latency", "bandwidth", "multi-pair", "message-rate", "rma", *EXCHANGES, *COLLECTIVES]
PROGRAMS = ["faces", "comb"]


def print_table(title, columns, rows):
    """Columns are (head, cell of a row as text); those that are empty in all rows are left out."""
    columns = [(head, [cell(row) for row in rows]) for head, cell in columns]
    columns = [(head, cells) for head, cells in columns if any(cells)]
    print(f"\n### {title}\n\n| " + " | ".join(head for head, _ in columns) + " |")
    print("|" + " ---: |" * len(columns))
    for cells in zip(*(cells for _, cells in columns)):
        print("| " + " | ".join(cells) + " |")


def text_of(row, *keys, form="{:.2f}"):
    """The value behind these keys, or nothing where one is missing."""
    for key in keys:
        if key not in row:
            return ""
        row = row[key]
    return form.format(row)


def floors_of(lines):
    """By mode, launch and size: the faster of the ways of `penstock_floor`."""
    found = {}
    for line in lines:
        if line["benchmark"] == "floor" and not line["checked"]:
            key = line["mode"], line["launch"], line["bytes"]
            if key not in found or line["floor"]["median"] < found[key]["floor"]["median"]:
                found[key] = line
    return found


def conditions_of(row):
    """What a table is of."""
    words = ["host streams"] if row["device"] == "host" else []
    words += [row[key] for key in ("mode", "order") if key in row]
    words += ["kernels one after the other"] if row.get("launch") == "plain" else []
    words += ["pack and unpack"] if row.get("pack") else []
    words += ["checked"] if row.get("checked") else []
    words += [f"on {row['library']}"] if row["device"] == "host" else []
    words += [f"{row['ranks']} ranks"] if row["benchmark"] in ("multi-pair", "message-rate", *COLLECTIVES) else []
    words += [f"{row['ranks']} ranks, {row.get('pairs', '26 neighbours')}"] if row["benchmark"] in EXCHANGES else []
    return tuple(words)


def floor_under(row, floors):
    """What the bare pair of kernels takes for the same, where that is the same."""
    if row["benchmark"] != "latency" or row["device"] != "cuda" or row["pack"] or row["checked"]:
        return {}
    return floors.get((row["mode"], row.get("launch", "dependent"), row["bytes"]), {})


def print_measurements(lines, floors):
    groups = {}
    for line in lines:
        if line["benchmark"] in BENCHMARKS:
            groups.setdefault((line["benchmark"], conditions_of(line)), []).append(line)
    for (benchmark, conditions), rows in groups.items():
        sides = list(dict.fromkeys(side for row in rows for side in sides_of(row)))
        is_exchange = benchmark in EXCHANGES

        def floor_cell(row):
            floor = floor_under(row, floors)
            return f"{floor['floor']['median']:.2f} ({floor['way']})" if floor else ""

        def ratio_cell(row):
            floor = floor_under(row, floors)
            return f"{row['penstock']['median'] / floor['floor']['median']:.2f}" if floor else ""

        columns = [("bytes", lambda row: str(row["bytes"])), ("algorithm", lambda row: row.get("algorithm", ""))]
        columns += [("messages", lambda row: str(row["messages"]))] if is_exchange else []
        columns += [(side, lambda row, side=side: text_of(row, side, "median")) for side in sides]
        columns += [(f"gain over {side}", lambda row, side=side: text_of(row, f"gain_over_{side}")) for side in sides[1:]]
        columns += [("floor", floor_cell), ("penstock / floor", ratio_cell)]
        columns += [(f"{side} MB/s", lambda row, side=side: text_of(row, side, "MB/s", form="{:.0f}")) for side in sides]
        columns += [("blocks" if side == "penstock" else f"{side} blocks",
                     lambda row, side=side: text_of(row, side, "blocks", form="{}")) for side in sides]
        columns += [("to the caller, ns", lambda row: text_of(row, "caller_ns", "median", form="{:.1f}"))]
        print_table(f"{benchmark.capitalize()}, {', '.join(conditions)} ({rows[0]['unit']}, medians of {rows[0]['rounds']} rounds)",
                    columns, rows)


def print_call_costs(lines):
    rows = [line for line in lines if line["benchmark"] == "enqueue"]
    if rows:
        print_table("What the calls of a round cost the caller (us)", [
            ("benchmark", lambda row: row.get("of", "")), ("order", lambda row: row.get("order", "")),
            ("bytes", lambda row: str(row["bytes"])), ("library", lambda row: row["side"]),
            ("together", lambda row: f"{row['us']:.2f}"),
            ("timed one by one", lambda row: ", ".join(f"{call} {us:.2f}" for call, us in row.get("calls", {}).items()))], rows)


def print_costs(lines):
    """What belongs to no size."""
    rows = [line for line in lines if line["benchmark"] == "cost"]
    if rows:
        print_table("Costs beside the latency", [
            ("what", lambda row: row["name"]), ("unit", lambda row: row["unit"]), ("on", lambda row: row["library"]),
            ("penstock", lambda row: text_of(row, "penstock", "median")), ("mpi", lambda row: text_of(row, "mpi", "median"))], rows)


def print_floors(floors):
    if not floors:
        return
    cases = [(mode, launch) for mode in ("stream", "graph") for launch in ("plain", "dependent")]
    any_case = {size: line for (_, _, size), line in reversed(floors.items())}
    print_table("The bare pair of kernels (us, half round trips, the faster way)", [
        ("bytes", str),
        *((f"{mode}, {launch}", lambda size, case=(mode, launch): text_of(floors, (*case, size), "floor", "median"))
          for mode, launch in cases),
        ("way", lambda size: any_case[size]["way"]), ("blocks", lambda size: str(any_case[size]["blocks"]))], sorted(any_case))


def print_floor_steps(lines):
    rows = [line for line in lines if line["benchmark"] == "floor steps"]
    if not rows:
        return
    found = {(row["step"], row["mode"], row["bytes"]): row for row in rows}

    def cell(*key):
        row = found.get(key, {})
        return text_of(row, "floor", "median") + (text_of(row, "enqueue_us", form=" ({:.2f})") if key[1] == "stream" else "")

    cases = dict.fromkeys((row["mode"], row["bytes"]) for row in rows)
    print_table("From the least code to the library's (us, half round trips; in streams also what launches cost the caller)", [
        ("step", str), *((f"{mode}, {size} bytes", lambda step, mode=mode, size=size: cell(step, mode, size)) for mode, size in cases)],
        list(dict.fromkeys(row["step"] for row in rows)))


def print_programs(lines):
    """One table for each call of an example program: a row for each variant."""
    for line in lines:
        if line["benchmark"] not in PROGRAMS:
            continue
        sides = {name: side for name, side in line.items() if isinstance(side, dict) and "median" in side}
        settings = [f"{name} {json.dumps(value)}" for name, value in line.items()
                    if name not in sides and name not in ("benchmark", "of", "unit", "library", "oversubscribed", "verified")]
        print_table(f"{line['benchmark'].capitalize()}, {', '.join(settings)} ({line['unit']} a {line['of']}, medians)", [
            ("variant", lambda one: one[0]), ("transport", lambda one: one[1]["transport"]),
            ("slowest rank", lambda one: text_of(one[1], "median")),
            ("quartiles", lambda one: f"{one[1]['low']:.2f} - {one[1]['high']:.2f}"),
            ("average of ranks", lambda one: text_of(one[1], "average")), ("fastest rank", lambda one: text_of(one[1], "minimum")),
            ("gain", lambda one: text_of(one[1], "gain"))], list(sides.items()))


def print_all(lines):
    lines = [line for line in lines if "benchmark" in line]
    floors = floors_of(lines)
    print_measurements(lines, floors)
    print_call_costs(lines)
    print_costs(lines)
    print_floors(floors)
    print_floor_steps(lines)
    print_programs(lines)
