# SPDX-License-Identifier: Apache-2.0
import json

import pytest
from penstock_plot import timeline
from penstock_plot.records import InputError
from samples import span, trace, transfer


def write(path, events):
    path.write_text(json.dumps(events), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path):
    return [write(tmp_path / f"trace.{rank}.json", trace(rank)) for rank in (0, 1)]


def test_every_event_is_read_with_what_it_is_about(files):
    events = timeline.read_trace(files[1])
    assert [event.row for event in events[:5]] == ["calls", "calls", "trigger", "wait", "transfer"]
    last = events[-1]
    assert (last.rank, last.queue, last.half, last.peer, last.tag, last.bytes, last.epoch) == (1, 1, "receive", 0, 7, 4096, 3)
    assert (last.begin, last.end) == (1030.0, 1032.6)


def test_a_file_without_its_end_is_read(tmp_path, files):
    whole = open(files[0], encoding="utf-8").read()
    cut = tmp_path / "cut.json"
    for end in ("", ","):
        cut.write_text(whole.rstrip("]") + end, encoding="utf-8")
        assert len(timeline.read_trace(cut)) == len(timeline.read_trace(files[0]))


def test_sends_are_paired_with_their_receives(files):
    transfers = [event for file in files for event in timeline.read_trace(file) if event.row == "transfer"]
    pairs = list(timeline.messages_of(transfers))
    assert [(send.rank, receive.rank, send.epoch == receive.epoch) for send, receive in pairs] == [(0, 1, True)] * 3


def test_events_that_overlap_lie_below_each_other():
    about = {"half": "send", "peer": 1, "tag": 1, "bytes": 8, "epoch": 1}
    events = list(timeline.events_of(transfer(0, 1, 0, 5, **about) + transfer(0, 2, 1, 2, **about) + transfer(0, 3, 2, 4, **about)))
    lanes, count = timeline.lanes_of(events)
    assert count == 2
    assert [lanes[id(event)] for event in sorted(events, key=lambda one: one.begin)] == [0, 1, 1]


def test_what_is_no_message_is_called_by_its_name(tmp_path, files):
    collective = {"half": "collective", "collective": "allreduce", "bytes": 8, "epoch": 2}
    enqueued = {"half": "enqueued", "epoch": 2}
    begin = min(event.begin for event in timeline.read_trace(files[0]))
    more = [event for about in (collective, enqueued) for event in transfer(0, 7, begin, begin + 1, **about)]
    path = write(tmp_path / "named.json", json.loads(open(files[0], encoding="utf-8").read()) + more)
    events = timeline.read_trace(path)[-2:]
    assert [(event.half, event.peer) for event in events] == [("collective", -1), ("enqueued", -1)]
    assert [timeline.text_of(event) for event in events] == [event.name for event in events]
    timeline.draw([path, files[1]], tmp_path / "named.png")
    assert (tmp_path / "named.png").stat().st_size > 0


def test_the_epoch_is_chosen_or_refused(files):
    events = timeline.read_trace(files[0])
    assert timeline.choose_exchange(events, None)[0].epoch in (1, 2, 3)
    longest = timeline.Event(0, 1, "transfer", 2000.0, 3000.0, "send", 1, 7, 8, 4)
    assert timeline.choose_exchange([*events, longest], None)[0].epoch != 4
    with pytest.raises(InputError, match="1 to 3"):
        timeline.choose_exchange(events, 9)
    with pytest.raises(InputError, match="no message"):
        timeline.choose_exchange([], None)


def both_ranks(**changes):
    return [event for rank in (0, 1) for event in timeline.events_of(trace(rank, **changes))]


def test_requests_that_share_only_the_number_of_their_epoch_are_not_joined():
    # The second request begins when the first has long ended; the third is under way at the same time as the first.
    for tag in (8, 7):  # of its own, and once more the same
        exchange = timeline.choose_exchange(both_ranks() + both_ranks(tag=tag, begin=9000.0), 2)
        assert len(exchange) == 2 and len({event.tag for event in exchange}) == 1
        assert max(event.end for event in exchange) - min(event.begin for event in exchange) < 5
    together = timeline.choose_exchange(both_ranks() + both_ranks(tag=8, begin=9000.0) + both_ranks(tag=9, begin=1001.0), 2)
    assert {event.tag for event in together} == {7, 9} and len(together) == 4


def test_a_tag_or_peer_is_chosen_or_refused():
    events = both_ranks() + both_ranks(tag=8)
    other = timeline.Event(1, 1, "transfer", 2000.0, 3000.0, "send", 2, 7, 8, 4)
    assert {event.tag for event in timeline.chosen(events, tag=8)} == {8}
    assert timeline.chosen([*events, other], peer=2) == [other]
    assert other not in timeline.chosen([*events, other], peer=0)
    with pytest.raises(InputError, match="no tag 5 in these traces: they have 7, 8"):
        timeline.chosen(events, tag=5)
    with pytest.raises(InputError, match="no peer 3 in these traces: they have 0, 1"):
        timeline.chosen(events, peer=3)


def test_functions_are_drawn_with_the_queues_of_their_stream(tmp_path, picture):
    function = span(0, 1000000004, "function", "fill", 1009.0, 4.0, stream=4)
    elsewhere = span(0, 1000000005, "function", "other", 1009.0, 4.0, stream=5)
    events = list(timeline.events_of([*trace(0), function, elsewhere]))
    assert [(event.queue, event.name, event.begin, event.end) for event in events if event.row == "functions"] == [(1, "fill", 1009.0, 1013.0)]
    assert any(event.row == "functions" for event in timeline.chosen(events, queue=1, tag=7, peer=1))
    timeline.draw([write(tmp_path / "trace", [*trace(0), function])], picture)


def test_a_timeline_is_drawn(files, picture):
    timeline.draw(files, picture, 2, queue=1)


def test_a_queue_is_chosen_or_refused(files):
    events = timeline.read_trace(files[0])
    assert timeline.chosen(events, queue=1) == events
    with pytest.raises(InputError, match="they have 1"):
        timeline.chosen(events, queue=2)


def test_other_files_are_refused(tmp_path):
    for text in ("no JSON", "3", "[1, 2, 3]", '[{"ph": "X", "cat": "wait"}]', '[{"ph": "M", "args": 3}]'):
        path = tmp_path / "other"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="PENSTOCK_TRACE"):
            timeline.read_trace(path)
