"""The Chrome trace of a recording, judged by a checker that shares no code with its writer.

The rules are those of Google's "Trace Event Format": complete events (X) on one thread must nest;
both ends of a flow (s, f) have one id, category and name, and bind to the slice that encloses their
time on their thread, for f with ``bp: "e"``.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from collectives import find
from collectives.draw import perfetto
from collectives.recorder import record
from collectives.recording import Recording
from collectives.sim import Hockney

LAN = Hockney(alpha=5e-6, beta=1e-10, gamma=5e-11)


def send_first(comm, sendbuf, recvbuf, op=None):
    """Everybody sends, then receives: stuck where sends wait for their receivers."""
    comm.Send(sendbuf, dest=(comm.rank + 1) % comm.size)
    comm.Recv(recvbuf, source=(comm.rank - 1) % comm.size)


def recordings() -> dict[str, Recording]:
    ring = record(find("allreduce", "ring"), 4, network=LAN, elements=1000)
    late = [replace(e, start=e.start + 1e5, end=e.end + 1e5) for e in ring.events]
    return {
        "ring": ring,
        "a second per message": record(find("allreduce", "ring"), 3),
        "nonblocking": record(find("alltoall", "linear"), 5, network=LAN),
        "both": record(find("allreduce", "double_binary_tree"), 8, network=LAN),
        "tree": record(find("reduce", "binomial"), 6, network=LAN),
        "barrier": record(find("barrier", "dissemination"), 5),
        "no time": record(find("scan", "recursive_doubling"), 5, network=Hockney(alpha=0)),
        "one rank": record(find("allreduce", "ring"), 1),
        "no elements": record(find("allreduce", "ring"), 4, elements=0),
        "stuck": record(send_first, 4, collective="allreduce"),
        "clocks that started long ago": replace(ring, events=late, simulated=False),
    }


ALL = recordings()


@pytest.fixture(params=ALL, scope="module")
def recording(request: pytest.FixtureRequest) -> Recording:
    return ALL[request.param]


def check(trace: dict[str, Any]) -> list[str]:
    """Return what is wrong with a trace."""
    wrong, tracks, flows = [], defaultdict(list), defaultdict(dict)
    kinds: dict[str, set[tuple[str, str]]] = defaultdict(set)
    names: dict[tuple[int, int], str] = {}
    last = -math.inf
    for event in trace["traceEvents"]:
        where = event["pid"], event["tid"]
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                names[where] = event["args"]["name"]
            continue
        if not (event["ts"] >= 0 and math.isfinite(event["ts"])):
            wrong.append(f"time {event['ts']}")
        if event["ts"] < last:
            wrong.append(f"not sorted at {event['ts']}")
        last = event["ts"]
        if where not in names:
            wrong.append(f"track {where} has no name")
        if event["ph"] == "X":
            if not (event["dur"] >= 0 and math.isfinite(event["dur"])):
                wrong.append(f"duration {event['dur']}")
            tracks[where].append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])))
        elif event["ph"] in "sf":
            if event["ph"] in flows[event["id"]]:
                wrong.append(f"flow {event['id']} has two ends {event['ph']}")
            if event["ph"] == "f" and event["bp"] != "e":
                wrong.append("a flow binds to the next slice")
            flows[event["id"]][event["ph"]] = where, ns(event["ts"])
            kinds[event["id"]].add((event["cat"], event["name"]))
        else:
            wrong.append(f"phase {event['ph']}")
    for where, slices in tracks.items():
        stack: list[tuple[int, int]] = []
        for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1][1] <= start:
                stack.pop()
            if stack and end > stack[-1][1]:
                wrong.append(f"{names[where]}: {start}..{end} and {stack[-1]} overlap")
            stack.append((start, end))
    for number, ends in flows.items():
        if ends.keys() != {"s", "f"}:
            wrong.append(f"flow {number} has ends {sorted(ends)}")
        elif ends["s"][1] > ends["f"][1]:
            wrong.append(f"flow {number} arrives before it leaves")
        if len(kinds[number]) > 1:
            wrong.append(f"flow {number} has two categories or names")
        for where, time in ends.values():
            if not any(a <= time < b or a == time == b for a, b in tracks[where]):
                wrong.append(f"flow {number} at {time} is in no slice of {names[where]}")
    return wrong


def ns(microseconds: float) -> int:
    assert abs(microseconds * 1000 - round(microseconds * 1000)) < 0.01, "finer than nanoseconds"
    return round(microseconds * 1000)


def owners(trace: dict[str, Any]) -> dict[int, int]:
    """Return the rank of each track, from its name: r3, or r3 and more words."""
    return {
        event["tid"]: int(event["args"]["name"].split(",")[0][1:])
        for event in trace["traceEvents"]
        if event["ph"] == "M" and event["name"] == "thread_name"
    }


def test_trace_keeps_the_rules_of_its_format(recording: Recording) -> None:
    assert check(perfetto.trace(recording)) == []


def test_every_event_is_in_a_slice_on_a_track_of_its_rank(recording: Recording) -> None:
    trace = perfetto.trace(recording)
    rank_of = owners(trace)
    assert set(rank_of.values()) == set(range(recording.ranks))
    drawn: Counter[tuple[int, str]] = Counter()
    for event in trace["traceEvents"]:
        if event["ph"] != "X":
            continue
        kinds = [event["cat"]] if event["cat"] == "combine" else []
        kinds += ["send"] * ("to" in event["args"]) + ["receive"] * ("from" in event["args"])
        drawn.update((rank_of[event["tid"]], kind) for kind in kinds)
    assert drawn == Counter((event.rank, event.kind) for event in recording.events)


def test_arrows_lead_from_sender_to_receiver(recording: Recording) -> None:
    trace = perfetto.trace(recording)
    rank_of, ends = owners(trace), defaultdict(dict)
    for event in trace["traceEvents"]:
        if event["ph"] in "sf":
            ends[event["id"]][event["ph"]] = rank_of[event["tid"]]
    arrows = Counter((pair["s"], pair["f"]) for pair in ends.values())
    arrived = [m.send for m in recording.messages() if m.receive and math.isfinite(m.end)]
    assert arrows == Counter((send.rank, send.peer) for send in arrived)


def test_times_are_microseconds_from_the_first_event() -> None:
    recording = ALL["clocks that started long ago"]
    slices = [e for e in perfetto.trace(recording)["traceEvents"] if e["ph"] == "X"]
    assert min(event["ts"] for event in slices) == 0
    length = max(event["ts"] + event["dur"] for event in slices)
    assert length == pytest.approx(1e6 * (recording.time - 1e5), abs=0.01)


def test_trace_says_whether_it_was_measured() -> None:
    for name, word in (("ring", "simulated"), ("clocks that started long ago", "measured")):
        trace = perfetto.trace(ALL[name])
        (process,) = (e for e in trace["traceEvents"] if e["name"] == "process_name")
        assert word in process["args"]["name"]
        assert word in trace["otherData"]["run 1"]


def test_calls_that_overlap_have_tracks_of_their_own() -> None:
    trace = perfetto.trace(ALL["nonblocking"])
    of_rank_0 = [tid for tid, rank in owners(trace).items() if rank == 0]
    assert len(of_rank_0) == 1 + 2 * 4  # four receives and four sends are under way together
    calls = {e["tid"]: e["name"] for e in trace["traceEvents"] if e["ph"] == "X"}
    assert {calls[tid] for tid in of_rank_0[1:]} == {"Isend", "Irecv"}


def test_what_never_ended_says_so() -> None:
    slices = [e for e in perfetto.trace(ALL["stuck"])["traceEvents"] if e["ph"] == "X"]
    assert [event["args"]["ended"] for event in slices] == ["never"] * 4
    assert all(event["args"]["source"].startswith("figures/test_perfetto.py:") for event in slices)


def test_two_recordings_are_two_processes() -> None:
    trace = perfetto.trace(ALL["ring"], ALL["stuck"])
    assert check(trace) == []
    assert {event["pid"] for event in trace["traceEvents"]} == {1, 2}


def test_checker_sees_slices_that_overlap_and_arrows_that_miss() -> None:
    trace = perfetto.trace(ALL["ring"])
    first, second = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["tid"] == 1][:2]
    first["dur"] += second["dur"] / 2
    assert any("overlap" in text for text in check(trace))
    trace = perfetto.trace(ALL["ring"])
    next(e for e in trace["traceEvents"] if e["ph"] == "f")["cat"] = "other"
    assert any("two categories" in text for text in check(trace))
    trace = perfetto.trace(ALL["ring"])
    next(e for e in trace["traceEvents"] if e["ph"] == "f")["tid"] = 77
    assert any("in no slice" in text for text in check(trace | {"traceEvents": [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 77, "args": {"name": "r77"}},
        *trace["traceEvents"],
    ]}))  # fmt: skip


def test_saved_file_is_plain_json(tmp_path) -> None:
    hostile = replace(ALL["ring"], algorithm='</script>"\x00', where="caf\u00e9 \ud800")
    perfetto.save(tmp_path / "run.json", hostile, ALL["stuck"])
    text = (tmp_path / "run.json").read_text(encoding="utf-8")
    assert check(json.loads(text, parse_constant=pytest.fail)) == []


def test_arguments_tell_what_was_sent() -> None:
    run = record(find("allgather", "ring"), 4, elements=3, dtype="float64")
    first = next(e for e in perfetto.trace(run)["traceEvents"] if e["ph"] == "X" and e["tid"] == 1)
    assert first["name"] == "Sendrecv"
    assert first["args"]["bytes sent"] == 3 * np.dtype("float64").itemsize
    assert first["args"]["to"] == "r1"
    assert first["args"]["from"] == "r3"
    assert first["args"]["blocks of send"] == "c0"
    assert first["args"]["blocks of receive"] == "c3"
