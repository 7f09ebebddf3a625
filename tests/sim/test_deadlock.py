"""Deadlocks are found at once and explained: who waits, in which call, for whom, on which line."""

from pathlib import Path

import numpy as np
import pytest

from collectives.sim import DeadlockError, Hockney, UnfinishedError, simulate
from collectives.tracing import Trace

LINES = Path(__file__).read_text().splitlines()


def at(mark):
    """Return the place of the line of this file that ends with a mark."""
    (number,) = [i for i, line in enumerate(LINES, start=1) if line.endswith(f"# line: {mark}")]
    return f"at test_deadlock.py:{number}"


def deadlock(program, size, **network):
    with pytest.raises(DeadlockError) as caught:
        simulate(program, size, network=Hockney(**network))
    return caught.value


def ring(comm):
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def send_then_receive(comm):
    right, left = ring(comm)
    comm.Send(np.zeros(2), dest=right)  # line: everyone sends
    comm.Recv(np.zeros(2), source=left)


@pytest.mark.parametrize("eager_limit", [0, 15, 16])
def test_everyone_sends_first(eager_limit):
    error = deadlock(send_then_receive, 3, eager_limit=eager_limit)
    assert error.waiting == {
        rank: f"Send to {(rank + 1) % 3} (tag 0, 16 bytes) {at('everyone sends')}"
        for rank in range(3)
    }
    assert error.cycle == [0, 1, 2]
    assert str(error).splitlines() == [
        "3 of 3 ranks wait forever",
        *(f"  rank {rank}: {text}" for rank, text in error.waiting.items()),
        "  in a circle: 0 -> 1 -> 2 -> 0",
    ]


def test_everyone_sends_first_and_a_buffer_hides_it():
    assert simulate(send_then_receive, 3, network=Hockney(eager_limit=17)).time == 1


@pytest.mark.parametrize("call", ["Ssend", "Issend"])
def test_synchronous_send_is_never_buffered(call):
    def program(comm):
        right, left = ring(comm)
        request = getattr(comm, call)(np.zeros(2), dest=right)
        if request is not None:
            request.Wait()
        comm.Recv(np.zeros(2), source=left)

    error = deadlock(program, 3, eager_limit=1000)
    assert error.waiting[2].startswith(f"{call} to 0 (tag 0, 16 bytes) at ")
    assert error.cycle == [0, 1, 2]


def test_everyone_receives_first():
    def program(comm):
        right, left = ring(comm)
        comm.Recv(np.zeros(2), source=left, tag=6)  # line: everyone receives
        comm.Send(np.zeros(2), dest=right, tag=6)

    error = deadlock(program, 3, eager_limit=1000)
    assert error.waiting == {
        rank: f"Recv from {(rank - 1) % 3} (tag 6) {at('everyone receives')}" for rank in range(3)
    }
    assert error.cycle == [0, 2, 1]


def test_wrong_neighbour_in_one_sendrecv():
    def program(comm):
        right, left = ring(comm)
        comm.Sendrecv(np.zeros(1), dest=right, recvbuf=np.zeros(1), source=left)
        if comm.rank == 2:
            left = right
        comm.Sendrecv(  # line: second step
            np.zeros(1), dest=right, recvbuf=np.zeros(1), source=left
        )

    error = deadlock(program, 4)
    line = at("second step")
    # What is done already is not waited for: rank 0 has sent to 1, rank 3 received nothing.
    assert error.waiting == {
        1: f"Sendrecv to 2 (tag 0, 8 bytes) {line}",
        2: f"Sendrecv from 3 (any tag) {line}",
    }
    assert error.cycle == []


def test_wrong_tag():
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.zeros(1), dest=1, tag=3)  # line: sends tag 3
        else:
            request = comm.Irecv(np.zeros(1), source=0, tag=4)
            request.Wait()  # line: waits for tag 4

    error = deadlock(program, 2)
    assert error.waiting == {
        0: f"Send to 1 (tag 3, 8 bytes) {at('sends tag 3')}",
        1: f"Irecv from 0 (tag 4) {at('waits for tag 4')}",
    }
    assert error.cycle == [0, 1]


def test_partner_that_has_returned():
    def program(comm):
        if comm.rank == 1:
            comm.Recv(np.zeros(1), source=2)  # line: nobody sends

    error = deadlock(program, 3)
    assert error.waiting == {1: f"Recv from 2 (any tag) {at('nobody sends')}"}
    assert error.cycle == []
    assert str(error).splitlines()[-1] == "  rank 2: has returned"


def test_receive_from_any_rank_waits_for_nobody_in_particular():
    error = deadlock(lambda comm: comm.Recv(np.zeros(1)), 2)
    assert [text.partition(" at ")[0] for text in error.waiting.values()] == [
        "Recv from any rank (any tag)"
    ] * 2
    assert error.cycle == []


def test_split_that_one_rank_does_not_call():
    def program(comm):
        if comm.rank == 1:
            comm.Recv(np.zeros(1), source=0)  # line: misses the split
        else:
            comm.Split(color=0)  # line: splits

    error = deadlock(program, 3)
    split = f"Split of 3 ranks (not there: 1) {at('splits')}"
    assert error.waiting == {
        0: split,
        1: f"Recv from 0 (any tag) {at('misses the split')}",
        2: split,
    }
    assert error.cycle == [0, 1]


def test_circle_of_three_among_more_ranks():
    circle = {1: 4, 4: 2, 2: 1}

    def program(comm):
        source = circle.get(comm.rank, 4)
        comm.Recv(np.zeros(1), source=source)  # line: circle

    error = deadlock(program, 6)
    assert list(error.waiting) == [0, 1, 2, 3, 4, 5]
    assert error.waiting[5] == f"Recv from 4 (any tag) {at('circle')}"
    assert error.cycle == [1, 4, 2]


def test_many_ways_to_wait_without_a_circle():
    p = 60  # rank 0 can be followed to the end in some 10**12 ways

    def program(comm):
        if comm.rank + 2 < p:
            one, two = np.zeros((2, 1))
            comm.Sendrecv(one, dest=comm.rank + 1, recvbuf=two, source=comm.rank + 2)

    error = deadlock(program, p)
    assert len(error.waiting) == p - 2
    assert error.cycle == []


def test_message_to_oneself_is_a_circle_of_one():
    error = deadlock(lambda comm: comm.Send(np.zeros(1), dest=comm.rank), 1)
    assert error.cycle == [0]


def test_ranks_are_named_by_their_numbers_in_the_world():
    def program(comm):
        part = comm.Split(color=comm.rank % 2, key=-comm.rank)
        if comm.rank % 2:
            part.Recv(np.zeros(1), source=1)

    error = deadlock(program, 4)  # rank 1 of (3, 1) is rank 1
    assert [text.partition(" at ")[0] for text in error.waiting.values()] == [
        "Recv from 1 (any tag)"
    ] * 2
    assert error.cycle == [1]


def test_line_of_a_function_called_by_the_program():
    def helper(comm):
        comm.Recv(np.zeros(1), source=0)  # line: in a function

    error = deadlock(lambda comm: helper(comm.private()), 1)
    assert error.waiting[0].endswith(at("in a function"))


def test_line_of_a_traced_call_is_the_programs():
    def program(comm):
        comm = Trace().comm(comm)
        if comm.rank:
            comm.Recv(np.zeros(1), source=0)  # line: traced call
        else:
            comm.Irecv(np.zeros(1), source=1).Wait()  # line: traced wait

    error = deadlock(program, 2)
    assert error.waiting[0].endswith(at("traced wait"))
    assert error.waiting[1].endswith(at("traced call"))


def test_deadlock_late_in_a_run():
    def program(comm):
        right, left = ring(comm)
        for step in range(3):
            source = left if (comm.rank, step) != (1, 2) else right  # once
            comm.Sendrecv(np.zeros(1), dest=right, recvbuf=np.zeros(1), source=source)

    error = deadlock(program, 3)
    assert [text.partition(" at ")[0] for text in error.waiting.values()] == [
        "Sendrecv to 1 (tag 0, 8 bytes)",
        "Sendrecv from 2 (any tag)",
    ]


def test_a_message_left_over_is_not_a_deadlock():
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.zeros(1), dest=1)

    with pytest.raises(UnfinishedError):
        simulate(program, 2, network=Hockney(eager_limit=9))
