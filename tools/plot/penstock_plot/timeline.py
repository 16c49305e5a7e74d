# SPDX-License-Identifier: Apache-2.0
"""One exchange on the time axis, from the files of PENSTOCK_TRACE: what the hosts enqueued, what became of it on the streams, and
which functions of the program ran there meanwhile."""
import json
from dataclasses import dataclass

from penstock_plot import style
from penstock_plot.records import InputError, read_text
from penstock_plot.style import plt

ROWS = ["calls", "trigger", "transfer", "wait", "functions"]
COLOURS = {"calls": "#7F7F7F", "trigger": "#D55E00", "transfer": "#56B4E9", "wait": "#0072B2", "functions": "#009E73"}
MEANING = {"calls": "host's calls", "trigger": "trigger", "transfer": "transfer", "wait": "wait", "functions": "functions"}


@dataclass
class Event:
    rank: int
    queue: int
    row: str
    begin: float
    end: float
    half: str = ""  # and what follows: of messages
    peer: int = -1
    tag: int = -1
    bytes: int = 0
    epoch: int = 0
    name: str = ""  # as the trace has it


def read_trace(path):
    """The events of a file; one that a process could not end lacks its last bracket."""
    text = read_text(path).rstrip().rstrip(",")
    try:
        raw = json.loads(text if text.endswith("]") else text + "]")
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is no file of PENSTOCK_TRACE: {error}") from error
    raw = raw["traceEvents"] if isinstance(raw, dict) and "traceEvents" in raw else raw
    if not isinstance(raw, list) or not all(isinstance(one, dict) for one in raw):
        raise InputError(f"{path} is no file of PENSTOCK_TRACE")
    try:
        return list(events_of(raw))
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no file of PENSTOCK_TRACE: an event without {error}") from error


def queues_of_streams(raw):
    """The queues over each host stream of each rank: what runs on the stream is drawn with each of them."""
    queues = {}
    for one in raw:
        if one.get("ph") == "M" and "stream" in one["args"]:
            queues.setdefault((one["pid"], one["args"]["stream"]), []).append(one["tid"] // 2)
    return queues


def events_of(raw):
    begun, queues = {}, queues_of_streams(raw)
    for one in raw:
        if one.get("ph") == "b":
            begun[one["id"]] = one
        elif one.get("ph") == "e" and one["id"] in begun:
            begin = begun.pop(one["id"])
            yield event_of(begin, "transfer", one["ts"])
        elif one.get("ph") == "X" and one.get("cat") in ("call", "trigger", "wait"):
            yield event_of(one, "calls" if one["cat"] == "call" else one["cat"], one["ts"] + one["dur"])
        elif one.get("ph") == "X" and one.get("cat") == "function":
            for queue in queues.get((one["pid"], one["args"]["stream"]), []):
                yield Event(one["pid"], queue, "functions", one["ts"], one["ts"] + one["dur"], name=one["name"])


def event_of(one, row, end):
    args = one["args"]
    return Event(one["pid"], one["tid"] // 2, row, one["ts"], end, args["half"], args.get("peer", -1), args.get("tag", -1),
                 args.get("bytes", 0), args["epoch"], one["name"])


def exchanges_of(transfers):
    """Transfers that belong together: the halves of one message, and what one queue carried at the same time in the same epoch. Requests
    that have only the number of their epoch in common do not."""
    group = {id(event): [event] for event in transfers}

    def join(one, other):
        mine, theirs = group[id(one)], group[id(other)]
        if mine is not theirs:
            mine.extend(theirs)
            group.update((id(event), mine) for event in theirs)

    for send, receive in messages_of(transfers):
        join(send, receive)
    by_queue = {}
    for event in sorted(transfers, key=lambda one: one.begin):
        last = by_queue.get((event.rank, event.queue, event.epoch))
        if last is not None and event.begin <= last.end:
            join(last, event)
        if last is None or event.end > last.end:
            by_queue[event.rank, event.queue, event.epoch] = event
    return list({id(of): of for of in group.values()}.values())


def choose_exchange(events, epoch):
    """The transfers of one exchange: of median length among those of the most messages, in the epoch that is wanted."""
    exchanges = exchanges_of([event for event in events if event.row == "transfer"])
    if not exchanges:
        raise InputError("no message has been completed in these traces")
    epochs = {of[0].epoch for of in exchanges}
    if epoch is not None and epoch not in epochs:
        raise InputError(f"no epoch {epoch} in these traces: they have {min(epochs)} to {max(epochs)}")
    candidates = [of for of in exchanges if epoch in (None, of[0].epoch)]
    most = max(map(len, candidates))
    longest = [of for of in candidates if len(of) == most]
    longest.sort(key=lambda of: (max(event.end for event in of) - min(event.begin for event in of), of[0].epoch))
    return longest[len(longest) // 2]


def chosen(events, queue=None, tag=None, peer=None):
    """Those of a queue, of a tag, of a peer at either end; functions go with their queue."""
    def has(what, value, events, of):
        found = [event for event in events if value is None or event.row == "functions" or value in of(event)]
        if not any(event.row != "functions" for event in found):
            known = sorted({value for event in events if event.row != "functions" for value in of(event)})
            raise InputError(f"no {what} {value} in these traces: they have {', '.join(map(str, known))}")
        return found

    events = [event for event in events if queue is None or event.row != "functions" or event.queue == queue]
    if not any(event.row != "functions" for event in events):
        raise InputError("no message has been completed in these traces")
    events = has("queue", queue, events, lambda event: {event.queue})
    events = has("tag", tag, events, lambda event: {event.tag})
    return has("peer", peer, events, lambda event: {event.peer, event.rank})


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
    if event.half not in ("send", "receive"):  # a function, a collective, a window's epoch, or all enqueued messages
        return event.name
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
    """Each transfer of a send with that of its receive. Requests that follow each other under one tag count their epochs anew: what is
    sent first is received first."""
    receives = {}
    for event in sorted(events, key=lambda one: one.end):
        if event.half == "receive":
            receives.setdefault((event.rank, event.peer, event.tag, event.bytes, event.epoch), []).append(event)
    for send in sorted(events, key=lambda one: one.begin):
        waiting = receives.get((send.peer, send.rank, send.tag, send.bytes, send.epoch), []) if send.half == "send" else []
        if waiting:
            yield send, waiting.pop(0)


def is_part_of(event, exchange):
    """The calls, trigger and wait of a transfer are those before its end."""
    return any((event.rank, event.queue, event.half, event.peer, event.tag, event.epoch) ==
               (one.rank, one.queue, one.half, one.peer, one.tag, one.epoch) and event.begin <= one.end for one in exchange)


def draw(paths, path, epoch=None, title=None, queue=None, tag=None, peer=None):
    events = chosen([event for name in paths for event in read_trace(name)], queue, tag, peer)
    current = choose_exchange(events, epoch)
    epoch = current[0].epoch
    start, end = min(event.begin for event in current), max(event.end for event in current)
    margin = max(0.04 * (end - start), 0.05)
    queues = {(event.rank, event.queue) for event in events if event.row != "functions"}
    shown = [event for event in events if event.end >= start - margin and event.begin <= end + margin and
             (event.rank, event.queue) in queues]
    places, labels, heights, top = lay_out(shown)
    figure, axes = plt.subplots(figsize=(10, max(2.4, 0.27 * top + 1.2)), layout="constrained")
    span = end - start + 2 * margin
    for event in shown:
        is_current = event.row == "functions" or is_part_of(event, current)
        draw_event(axes, event, places[id(event)], start, span, is_current, is_current and len(current) <= 12)
    if len(current) <= 12:  # more are a tangle
        for send, receive in messages_of(current):
            draw_message(axes, send, receive, places, start)
    axes.set_xlim(-margin, end - start + margin)
    axes.set_ylim(top, -0.3)
    axes.set_yticks([at for at, _ in labels], [MEANING[row] for _, row in labels])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    for rank, queue in sorted({(event.rank, event.queue) for event in shown}):
        at = heights[rank, queue, "calls"][0]
        last, height = heights[rank, queue, ROWS[-1]]
        axes.annotate(f"rank {rank}\nqueue {queue}", (0, (at + last + height) / 2), xycoords=("axes fraction", "data"),
                      xytext=(-62, 0), textcoords="offset points", ha="right", va="center", fontsize=10, fontweight="bold",
                      annotation_clip=False)
        if not any((event.rank, event.queue, event.row) == (rank, queue, "calls") for event in shown):
            axes.text(0.5 * (end - start), at + 0.5, "enqueued earlier", va="center", ha="center", fontsize=8, color=style.GREY)
    axes.set_xlabel(f"us after the first trigger of epoch {epoch}")
    arrows = "; arrows: from the send's trigger to the end of the receive's wait" if len(current) <= 12 else ""
    axes.set_title(title or f"One exchange, epoch {epoch} (paler: other messages{arrows})")
    style.save(figure, path)
