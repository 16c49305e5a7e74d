# SPDX-License-Identifier: Apache-2.0
"""One exchange on the time axis, from the files of PENSTOCK_TRACE: what the hosts enqueued, and what became of it on the streams."""
import json
from dataclasses import dataclass

from penstock_plot import style
from penstock_plot.records import InputError
from penstock_plot.style import plt

ROWS = ["calls", "trigger", "transfer", "wait"]
COLOURS = {"calls": "#7F7F7F", "trigger": "#D55E00", "transfer": "#56B4E9", "wait": "#0072B2"}
MEANING = {"calls": "host's calls", "trigger": "trigger", "transfer": "transfer", "wait": "wait"}


@dataclass
class Event:
    rank: int
    queue: int
    row: str
    begin: float
    end: float
    half: str
    peer: int
    tag: int
    bytes: int
    epoch: int


def read_trace(path):
    """The events of a file; one that a process could not end lacks its last bracket."""
    with open(path, encoding="utf-8") as file:
        text = file.read().rstrip().rstrip(",")
    try:
        raw = json.loads(text if text.endswith("]") else text + "]")
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is no file of PENSTOCK_TRACE: {error}") from error
    raw = raw["traceEvents"] if isinstance(raw, dict) and "traceEvents" in raw else raw
    if not isinstance(raw, list):
        raise InputError(f"{path} is no file of PENSTOCK_TRACE")
    return list(events_of(raw))


def events_of(raw):
    begun = {}
    for one in raw:
        if one.get("ph") == "b":
            begun[one["id"]] = one
        elif one.get("ph") == "e" and one["id"] in begun:
            begin = begun.pop(one["id"])
            yield event_of(begin, "transfer", one["ts"])
        elif one.get("ph") == "X" and one.get("cat") in ("call", "trigger", "wait"):
            yield event_of(one, "calls" if one["cat"] == "call" else one["cat"], one["ts"] + one["dur"])


def event_of(one, row, end):
    args = one["args"]
    return Event(one["pid"], one["tid"] // 2, row, one["ts"], end, args["half"], args["peer"], args["tag"], args["bytes"],
                 args["epoch"])


def choose_epoch(events, wanted):
    """The epoch that is wanted, or the one of median length among those of the most messages."""
    epochs = {}
    for event in events:
        if event.row == "transfer":
            epochs.setdefault(event.epoch, []).append(event)
    if not epochs:
        raise InputError("no message has been completed in these traces")
    if wanted is not None:
        if wanted not in epochs:
            raise InputError(f"no epoch {wanted} in these traces: they have {min(epochs)} to {max(epochs)}")
        return wanted
    most = max(map(len, epochs.values()))
    lengths = sorted((max(event.end for event in of) - min(event.begin for event in of), epoch)
                     for epoch, of in epochs.items() if len(of) == most)
    return lengths[len(lengths) // 2][1]


def of_queue(events, queue):
    if queue is None:
        return events
    chosen = [event for event in events if event.queue == queue]
    if not chosen:
        raise InputError(f"no queue {queue} in these traces: they have {', '.join(map(str, sorted({event.queue for event in events})))}")
    return chosen


def lanes_of(events):
    """A number for each event of a row, so that those that overlap lie below each other."""
    ends, lanes = [], {}
    for event in sorted(events, key=lambda one: (one.begin, one.end)):
        free = next((i for i, end in enumerate(ends) if end <= event.begin), len(ends))
        if free == len(ends):
            ends.append(0.0)
        ends[free] = event.end
        lanes[id(event)] = free
    return lanes, max(len(ends), 1)


def lay_out(events):
    """For each rank, queue and row of it the height at which it begins, and the lanes of its events."""
    places, labels, heights, at = {}, [], {}, 0.0
    for rank, queue in sorted({(event.rank, event.queue) for event in events}):
        for row in ROWS:
            own = [event for event in events if (event.rank, event.queue, event.row) == (rank, queue, row)]
            lanes, count = lanes_of(own)
            height = min(1.0, 8.0 / count)  # of a lane
            for event in own:
                places[id(event)] = (at + lanes[id(event)] * height, height)
            heights[rank, queue, row] = (at, count * height)
            labels.append((at + count * height / 2, row))
            at += count * height + 0.25
        at += 0.6
    return places, labels, heights, at


def text_of(event):
    arrow = "to" if event.half == "send" else "from"
    return f"{event.half} {arrow} {event.peer}, {style.bytes_text(event.bytes)}"


def draw_event(axes, event, place, start, span, current, labelled):
    at, height = place
    width = max(event.end - event.begin, span * 0.0015)  # visible, however short
    axes.broken_barh([(event.begin - start, width)], (at + 0.06 * height, 0.88 * height), facecolor=COLOURS[event.row],
                     alpha=1.0 if current else 0.25, edgecolor="white", linewidth=0.3 if width > 0.01 * span else 0)
    if labelled and height > 0.75 and width > 0.17 * span:
        axes.text(event.begin - start + 0.006 * span, at + height / 2, text_of(event), va="center", ha="left", fontsize=8,
                  color="black" if event.row == "transfer" else "white", clip_on=True)


def draw_message(axes, send, receive, places, start):
    """From the sender's trigger to the end of the receiver's wait."""
    begin = (send.begin - start, sum(places[id(send)]) - 0.5 * places[id(send)][1])
    end = (receive.end - start, places[id(receive)][0] + 0.5 * places[id(receive)][1])
    axes.annotate("", end, begin, arrowprops={"arrowstyle": "-|>", "color": style.GREY, "linewidth": 0.8, "alpha": 0.8,
                                              "shrinkA": 0, "shrinkB": 0}, zorder=20)


def messages_of(events):
    """Each transfer of a send with that of its receive."""
    receives = {(event.rank, event.peer, event.tag, event.epoch): event for event in events if event.half == "receive"}
    for send in events:
        if send.half == "send" and (send.peer, send.rank, send.tag, send.epoch) in receives:
            yield send, receives[send.peer, send.rank, send.tag, send.epoch]


def draw(paths, path, epoch=None, title=None, queue=None):
    events = of_queue([event for name in paths for event in read_trace(name)], queue)
    epoch = choose_epoch(events, epoch)
    current = [event for event in events if event.epoch == epoch and event.row == "transfer"]
    start, end = min(event.begin for event in current), max(event.end for event in current)
    margin = max(0.04 * (end - start), 0.05)
    shown = [event for event in events if event.end >= start - margin and event.begin <= end + margin]
    places, labels, heights, top = lay_out(shown)
    figure, axes = plt.subplots(figsize=(10, max(2.4, 0.27 * top + 1.2)), layout="constrained")
    span = end - start + 2 * margin
    transfers = [event for event in shown if event.row == "transfer" and event.epoch == epoch]
    for event in shown:
        is_current = event.epoch == epoch
        draw_event(axes, event, places[id(event)], start, span, is_current, is_current and len(transfers) <= 12)
    if len(transfers) <= 12:  # more are a tangle
        for send, receive in messages_of(transfers):
            draw_message(axes, send, receive, places, start)
    axes.set_xlim(-margin, end - start + margin)
    axes.set_ylim(top, -0.3)
    axes.set_yticks([at for at, _ in labels], [MEANING[row] for _, row in labels])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    for rank, queue in sorted({(event.rank, event.queue) for event in shown}):
        at = heights[rank, queue, "calls"][0]
        last, height = heights[rank, queue, "wait"]
        axes.annotate(f"rank {rank}\nqueue {queue}", (0, (at + last + height) / 2), xycoords=("axes fraction", "data"),
                      xytext=(-62, 0), textcoords="offset points", ha="right", va="center", fontsize=10, fontweight="bold",
                      annotation_clip=False)
        if not any((event.rank, event.queue, event.row) == (rank, queue, "calls") for event in shown):
            axes.text(0.5 * (end - start), at + 0.5, "enqueued earlier", va="center", ha="center", fontsize=8, color=style.GREY)
    axes.set_xlabel(f"us after the first trigger of epoch {epoch}")
    arrows = "; arrows: from the send's trigger to the end of the receive's wait" if len(transfers) <= 12 else ""
    axes.set_title(title or f"One exchange, epoch {epoch} (paler: other epochs{arrows})")
    style.save(figure, path)
