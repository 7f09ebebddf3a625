"""Recordings: what they say about right and wrong runs, and what they survive as files."""

import json
import math
from collections import Counter

import numpy as np
import pytest

from collectives.draw.findings import findings
from collectives.draw.steps import contribution_table
from collectives.recorder import record
from collectives.recording import Recording
from collectives.registry import UnsupportedError, algorithms, find
from collectives.sim import Hockney
from collectives.tracefile import loads

STEP_BY_STEP = [entry for entry in algorithms() if entry.kind == "step by step"]


def recorded(entry, p, **call):
    try:
        return record(entry, p, **call)
    except UnsupportedError as refusal:
        pytest.skip(str(refusal))


@pytest.mark.parametrize("p", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("entry", STEP_BY_STEP, ids=str)
def test_every_right_run_ends_with_what_the_definition_wants(entry, p):
    run = recorded(entry, p)
    assert run.stuck is None
    last = run.states()[-1]
    for rank in range(p):
        held = {hold.column: [] for hold in run.end[rank]}
        for hold in run.end[rank]:
            held[hold.column] += hold.pips
        assert {column: tuple(pips) for column, pips in held.items()} == run.wanted[rank]
        for column, wanted in run.wanted[rank].items():
            assert sorted(pip for hold in last[rank][column] for pip in hold.pips) == [*wanted]


@pytest.mark.parametrize("p", [2, 5, 8])
@pytest.mark.parametrize("entry", STEP_BY_STEP, ids=str)
def test_messages_are_those_of_the_trace_and_all_arrive(entry, p):
    run = recorded(entry, p, network=Hockney(alpha=1e-6, beta=1e-9))
    messages = run.messages()
    assert all(m.receive is not None and math.isfinite(m.end) for m in messages)
    assert all((m.send.peer, m.receive.peer) == (m.receive.rank, m.send.rank) for m in messages)
    assert all(m.send.nbytes == m.receive.nbytes for m in messages)
    assert all(m.send.holds == m.receive.holds for m in messages)
    assert all(m.end - m.start >= 1e-6 - 1e-12 for m in messages)
    frames = run.frames()
    assert sum(len(frame.events) for frame in frames) == len(run.events)
    assert Counter(e.kind for e in run.events)["send"] == len(messages)


def test_frames_depend_on_the_order_of_calls_not_on_time():
    slow, fast = (
        record(find("allreduce", "ring"), 5, network=network, elements=11)
        for network in (Hockney(), Hockney(alpha=1e-6, beta=1e-6, eager_limit=1 << 20))
    )
    assert [frame.title for frame in slow.frames()] == [
        *(f"RS {step}" for step in range(1, 5)), *(f"AG {step}" for step in range(1, 5))
    ]  # fmt: skip
    assert [sorted(map(key, frame.events)) for frame in slow.frames()] == [
        sorted(map(key, frame.events)) for frame in fast.frames()
    ]


def key(event):
    return event.rank, event.kind, event.peer, event.step


def test_a_pipeline_has_as_many_frames_as_messages_in_a_row():
    run = record(find("bcast", "chain"), 4, elements=40, segment=10)
    assert len(run.frames()) == 4 - 1 + 4 - 1  # four segments over three hops


def twice(comm, sendbuf, recvbuf, op):
    """Add the right neighbour's vector twice."""
    incoming = np.empty_like(sendbuf)
    recvbuf[:] = sendbuf
    for _ in range(2):
        comm.Sendrecv(sendbuf, dest=(comm.rank - 1) % comm.size,
                      recvbuf=incoming, source=(comm.rank + 1) % comm.size)  # fmt: skip
        op(recvbuf, incoming, out=recvbuf)


def test_what_is_counted_twice_shows():
    run = record(twice, 2, collective="allreduce", elements=4)
    assert [hold.pips for hold in run.end[0]] == [(0, 1, 1)] * 2
    assert "011" in "\n".join(contribution_table(run))


def nowhere(comm, sendbuf, recvbuf, op):
    """Add up in a buffer of its own, and leave it there."""
    twice(comm, sendbuf, np.empty_like(recvbuf), op)


def test_a_result_that_was_not_handed_over_is_no_result():
    run = record(nowhere, 2, collective="allreduce", elements=4)
    assert run.end == [[], []]
    assert run.states()[-1] == run.result() == [[[], []], [[], []]]
    assert "4 of 4 blocks are not as they must be: c0 on r0 has nothing" in findings(run)


def shifted(comm, sendbuf, recvbuf, op):
    """Add blocks of different numbers."""
    op(sendbuf, np.roll(sendbuf, sendbuf.size // comm.size), out=recvbuf)


def test_blocks_that_were_mixed_show():
    run = record(shifted, 2, collective="allreduce", elements=4)
    assert all(-1 in hold.pips for holds in run.end for hold in holds)


def send_first(comm, sendbuf, recvbuf, op):
    """Send to the right, then receive: for ever, where nothing is buffered."""
    recvbuf[:] = 0
    comm.Send(sendbuf, dest=(comm.rank + 1) % comm.size)
    comm.Recv(recvbuf, source=(comm.rank - 1) % comm.size)


def test_a_deadlock_is_recorded_with_its_cycle_and_lines():
    run = record(send_first, 3, collective="allreduce")
    assert run.end is None
    assert run.stuck.cycle == [0, 1, 2]
    assert all(f"test_recording.py:{e.line}" in run.stuck.waiting[e.rank] for e in run.events)
    assert all(math.isinf(m.end) and m.receive is None for m in run.messages())
    assert [m.send.holds[0].pips for m in run.messages()] == [(0,), (1,), (2,)]
    assert run.states()[-1] == run.states()[0]
    assert record(send_first, 3, collective="allreduce",
                  network=Hockney(eager_limit=1 << 20)).stuck is None  # fmt: skip


def from_any(comm, sendbuf, recvbuf, op, root):
    """Let rank 0 collect from whoever comes first."""
    if comm.rank:
        comm.Send(sendbuf, dest=0, tag=comm.rank)
        return
    recvbuf[:] = sendbuf
    incoming = np.empty_like(sendbuf)
    for _ in range(comm.size - 1):
        comm.Recv(incoming)
        op(recvbuf, incoming, out=recvbuf)


def test_receives_from_any_rank_find_their_sends():
    run = record(from_any, 4, collective="reduce", elements=4)
    assert sorted((m.send.rank, m.receive.rank) for m in run.messages()) == [
        (1, 0), (2, 0), (3, 0)
    ]  # fmt: skip
    assert [hold.pips for hold in run.end[0]] == [(0, 1, 2, 3)] * 4


def test_waits_say_who_waited_for_whom():
    def late(comm, sendbuf, recvbuf, op):
        if comm.rank == 0:
            comm.Recv(recvbuf, source=1)
            comm.Send(recvbuf, dest=2)
        elif comm.rank == 1:
            comm.Send(sendbuf, dest=0)
        else:
            comm.Recv(recvbuf, source=0)

    run = record(late, 3, collective="allreduce", network=Hockney(alpha=2))
    assert run.waits()[0] == (2, 0, 2.0)


# ------------------------------------------------------------------ files


@pytest.mark.parametrize("name", ["allreduce/ring", "alltoall/bruck", "barrier/dissemination"])
def test_a_saved_recording_is_the_same_when_loaded(name, tmp_path):
    run = record(find(*name.split("/")), 5)
    run.save(tmp_path / "run.json")
    again = Recording.load(tmp_path / "run.json")
    assert again.states() == run.states()
    assert [frame.title for frame in again.frames()] == [frame.title for frame in run.frames()]
    again.save(tmp_path / "again.json")
    one, two = (json.loads((tmp_path / f).read_text()) for f in ("run.json", "again.json"))
    for document in (one, two):
        assert all(event["code"] for event in document["events"])
    assert one == two


def test_no_line_is_read_from_the_files_that_a_trace_names(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "secret").write_text("my secret\n")
    monkeypatch.chdir(tmp_path)
    document = with_event(file="home/secret", line=1)
    del document["events"][0]["code"]
    again = loads(json.dumps(document).encode())
    assert "my secret" not in json.dumps(again.as_json())


def test_a_deadlock_survives_its_file(tmp_path):
    run = record(send_first, 2, collective="allreduce")
    run.save(tmp_path / "run.json")
    again = Recording.load(tmp_path / "run.json")
    assert (again.stuck, again.end) == (run.stuck, None)


def changed(**fields):
    document = record(find("allreduce", "ring"), 2, elements=2).as_json()
    return json.loads(json.dumps(document)) | fields


def with_event(**fields):
    document = changed()
    document["events"][0] |= fields
    return document


HOSTILE = {
    "nothing": (b"", "no trace"),
    "not JSON": (b"\x80\x04pickle", "no trace"),
    "a list": (b"[]", "Expected `object`"),
    "another format": (json.dumps({"format": "something"}).encode(), "format"),
    "a later version": (changed(version=2), "version is 2, wants 1"),
    "no ranks": (changed(ranks=0), r"ranks"),
    "ranks without number": (changed(ranks="2"), r"ranks"),
    "a billion ranks": (changed(ranks=10**9), r"ranks"),
    "start of fewer ranks": (changed(start=[[]]), "start is of 1 ranks, wants 2"),
    "unknown collective": (changed(collective="allreduce/../.."), "collective is"),
    "a rank that is not there": (with_event(rank=2), "event 0 is of rank 2"),
    "a peer that is not there": (with_event(peer=7), "peer 7"),
    "a block that is not there": (with_event(holds=[[5, [0], 0, 1]]), "a block 5"),
    "a part too large": (with_event(holds=[[0, [0], 0, 9]]), "a part of a block"),
    "time that goes back": (with_event(start=2.0, end=1.0), "event 0 is from 2.0 to 1.0"),
    "unknown kind": (with_event(kind="steal"), "kind"),
    "deep nesting": (b"[" * 100_000, "no trace"),
    "number too large": (with_event(nbytes=10**400), "no trace"),
    "orders to the terminal": (changed(algorithm="\x1b[2J"), "algorithm"),
    "not UTF-8": (b'{"format": "\xff"}', "no trace"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_no_trace_is_refused_in_a_sentence(name, tmp_path):
    document, message = HOSTILE[name]
    file = tmp_path / "run.json"
    file.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    with pytest.raises(ValueError, match=message) as refused:
        Recording.load(file)
    assert "run.json" in str(refused.value)
    assert "\n" not in str(refused.value)
