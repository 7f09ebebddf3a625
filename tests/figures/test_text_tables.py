"""The tables of a recording for the terminal: who holds what, who sends, who waits for whom."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from collectives import find
from collectives.draw.steps import contribution_table
from collectives.draw.text import WIDTH, bytes_per_rank, message_list, seconds, waits_table
from collectives.recorder import record
from collectives.recording import Recording
from collectives.sim import Hockney

LAN = Hockney(alpha=5e-6, beta=1e-10, gamma=5e-11)


def send_first(comm, sendbuf, recvbuf, op=None):
    """Everybody sends, then receives: stuck where sends wait for their receivers."""
    comm.Send(sendbuf, dest=(comm.rank + 1) % comm.size)
    comm.Recv(recvbuf, source=(comm.rank - 1) % comm.size)


def tree() -> Recording:
    return record(find("reduce", "binomial"), 6, network=LAN, elements=40_000)


def test_bytes_per_rank_of_a_tree() -> None:
    lines = list(bytes_per_rank(tree()))
    # 40 000 float32 are 160 kB; r0 has three children, r2 and r4 one each.
    assert [line.split() for line in lines] == [
        ["sent", "received"],
        ["rank", "messages", "bytes", "messages", "bytes"],
        ["r0", "0", "0", "B", "3", "480", "kB"],
        ["r1", "1", "160", "kB", "0", "0", "B"],
        ["r2", "1", "160", "kB", "1", "160", "kB"],
        ["r3", "1", "160", "kB", "0", "0", "B"],
        ["r4", "1", "160", "kB", "1", "160", "kB"],
        ["r5", "1", "160", "kB", "0", "0", "B"],
        ["all", "5", "800", "kB", "5", "800", "kB"],
    ]


@pytest.mark.parametrize("name", ["ring", "double_binary_tree", "rabenseifner"])
@pytest.mark.parametrize("p", [1, 2, 5])
def test_messages_per_rank_equal_the_events(name: str, p: int) -> None:
    run = record(find("allreduce", name), p)
    sent = Counter(event.rank for event in run.events if event.kind == "send")
    received = Counter(event.rank for event in run.events if event.kind == "receive")
    rows = [line.split() for line in bytes_per_rank(run)]
    rows = [row for row in rows if row[0].startswith("r") and row[0] != "rank"]
    assert [int(row[1]) for row in rows] == [sent[rank] for rank in range(p)]
    assert [int(row[4]) for row in rows] == [received[rank] for rank in range(p)]


def test_messages_that_never_arrived_are_sent_but_not_received() -> None:
    lines = list(bytes_per_rank(record(send_first, 3, collective="allreduce")))
    assert lines[-2].split()[:2] == ["all", "3"]
    assert lines[-2].split()[4] == "0"
    assert lines[-1] == "3 of the messages sent never arrived"


def test_waits_of_a_tree() -> None:
    # r4 is ready for r0 after 21 us + 8 us of combining; r0 has to hear from r2 first.
    assert list(waits_table(tree())) == [
        "waiting, simulated, of 1 pair of ranks",
        "r4 for r0              29 us",
        "all ranks together 29 us; longest r4 with 29 us",
    ]


def test_only_the_longest_waits_are_written_out_but_all_are_counted() -> None:
    run = record(find("bcast", "chain"), 8, network=LAN, elements=40_000)
    waits = [wait for wait in run.waits() if wait[2] > 0]
    lines = list(waits_table(run, most=2))
    assert len(lines) == 1 + 2 + 1 + 1
    assert lines[1].startswith(f"r{waits[0][0]} for r{waits[0][1]} ")
    rest = sum(time for *_, time in waits[2:])
    assert lines[3].split() == [str(len(waits) - 2), "more", *seconds(rest).split()]
    total = sum(time for *_, time in waits)
    assert lines[4].startswith(f"all ranks together {seconds(total)}; longest r7 with ")
    assert len(list(waits_table(run, most=100))) == 2 + len(waits)


def test_who_waits_forever_is_named() -> None:
    run = record(send_first, 3, collective="allreduce")
    assert [line.split() for line in waits_table(run, most=2)] == [
        ["r0", "for", "r1", "forever"],
        ["r1", "for", "r2", "forever"],
        ["1", "more", "forever"],
    ]


def adds_again_and_again(comm, sendbuf, recvbuf, op=None):
    """Count what is there twice, in more than nine steps."""
    recvbuf[:] = sendbuf
    incoming = np.empty_like(recvbuf)
    for _ in range(10):
        comm.Sendrecv(sendbuf, dest=comm.rank, recvbuf=incoming, source=comm.rank)
        op(recvbuf, incoming, out=recvbuf)


def test_columns_of_steps_never_touch() -> None:
    run = record(adds_again_and_again, 2, collective="allreduce")
    lines = list(contribution_table(run))
    assert lines[-1].split() == ["r1", "1" * 11 + "*", "1" * 11 + "*", "c0-1", "->", "r1"]
    assert lines[-2].startswith("step 10 r0 ")
    assert len({line.index("c0-1") for line in lines[3:]}) == 1


def test_what_is_sent_is_named_or_is_nothing() -> None:
    empty = record(find("allreduce", "ring"), 2, elements=0)
    assert list(contribution_table(empty))[3].endswith("nothing -> r1")
    stuck = record(send_first, 2, collective="allreduce")
    assert list(contribution_table(stuck))[3].endswith("c0-1 -> r1")


def test_messages_are_listed_by_the_steps_of_the_run() -> None:
    run = record(find("allreduce", "rabenseifner"), 3)
    assert [line.split()[:5] for line in message_list(run)] == [
        ["AR", "1", "r0", "->", "r1"],
        ["RS", "1", "r1", "->", "r2"],
        ["RS", "1", "r2", "->", "r1"],
        ["AG", "1", "r1", "->", "r2"],
        ["AG", "1", "r2", "->", "r1"],
        ["AR", "2", "r1", "->", "r0"],
    ]
    assert list(message_list(record(find("allreduce", "ring"), 1))) == []
    stuck = list(message_list(record(send_first, 2, collective="allreduce")))
    assert all(line.endswith("never arrives") for line in stuck)


def test_nobody_waited() -> None:
    run = record(find("allreduce", "ring"), 4)
    assert list(waits_table(run)) == ["nobody waited (simulated)"]
    assert list(waits_table(replace(run, simulated=False))) == ["nobody waited (measured)"]


def test_lines_are_plain_and_fit_the_terminal() -> None:
    for run in (tree(), record(find("allreduce", "ring"), 16, elements=10**9)):
        for line in [*bytes_per_rank(run), *waits_table(run)]:
            assert line.isascii()
            assert len(line) <= WIDTH
