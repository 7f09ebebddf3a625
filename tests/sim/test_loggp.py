"""LogGP: every time here is worked out by hand from the rules in the class's docstring."""

import numpy as np
import pytest

from collectives.op import SUM
from collectives.sim import LogGP, Phantom, simulate

NETWORK = {"L": 5, "o": 2, "g": 4, "G": 1}
ONE_MESSAGE = 2 + 9 + 5 + 2
"""Seconds from call to return for 10 bytes: o, the bytes after the first, L, o."""


def clocks(program, size, **network):
    return simulate(program, size, network=LogGP(**{**NETWORK, **network})).clocks


def data(nbytes=10):
    return Phantom(nbytes, np.uint8)


def compute(seconds):
    """Let this rank's clock go on, where gamma is 1."""
    SUM(data(seconds), data(seconds), out=data(seconds))


def one_message(nbytes, *, late=0):
    """Rank 0 sends to rank 1, which receives from `late` seconds on."""

    def program(comm):
        if comm.rank == 0:
            comm.Send(data(nbytes), dest=1)
        else:
            compute(late)
            comm.Recv(data(nbytes), source=0)

    return program


def scatter(receivers, nbytes=10):
    """Rank 0 sends to all others, one after the other."""

    def program(comm):
        if comm.rank == 0:
            for dest in range(1, receivers + 1):
                comm.Send(data(nbytes), dest=dest)
        else:
            comm.Recv(data(nbytes), source=0)

    return program


@pytest.mark.parametrize(("nbytes", "rest"), [(0, 0), (1, 0), (2, 1), (10, 9)])
def test_single_message_costs_overhead_bytes_latency_overhead(nbytes, rest):
    assert clocks(one_message(nbytes), 2) == [2, 2 + rest + 5 + 2]


def test_rendezvous_holds_the_sender_until_the_last_byte_has_left():
    assert clocks(one_message(10), 2, eager_limit=0) == [2 + 9, ONE_MESSAGE]
    assert clocks(one_message(10), 2, eager_limit=10) == [2 + 9, ONE_MESSAGE]
    assert clocks(one_message(10), 2, eager_limit=11) == [2, ONE_MESSAGE]


def test_rendezvous_starts_when_both_are_there():
    late = one_message(10, late=6)  # the first byte goes at 6
    assert clocks(late, 2, gamma=1, eager_limit=0) == [6 + 9, 6 + 9 + 5 + 2]


def test_receive_after_the_arrival_still_costs_the_receiver_its_overhead():
    late = one_message(10, late=20)  # the message is there at 16
    assert clocks(late, 2, gamma=1) == [2, 22]


def test_message_that_was_there_before_its_receive_was_posted():
    def program(comm):
        if comm.rank == 0:
            comm.Send(data(), dest=1)  # there at 16
        else:
            compute(20)
        comm.Dup()  # a barrier
        if comm.rank == 1:
            comm.Recv(data(), source=0)

    assert clocks(program, 2, gamma=1) == [20, 22]


@pytest.mark.parametrize("limit", [0, 10**9], ids=["rendezvous", "eager"])
def test_ping_pong_costs_two_messages(limit):
    def program(comm):
        for turn in (0, 1):
            if comm.rank == turn:
                comm.Send(data(), dest=1 - turn)
            else:
                comm.Recv(data(), source=turn)

    back = clocks(program, 2, eager_limit=limit)[0]
    assert back == 2 * ONE_MESSAGE


@pytest.mark.parametrize("g", [0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize("limit", [0, 10**9], ids=["rendezvous", "eager"])
def test_messages_of_a_sender_start_a_gap_and_their_bytes_apart(g, limit):
    every = max(2, g) + 9
    expected = [ONE_MESSAGE + i * every for i in range(3)]
    assert clocks(scatter(3), 4, g=g, eager_limit=limit)[1:] == expected


def test_scatter_takes_what_the_paper_says():
    p, k = 6, 10  # Alexandrov et al.: 2o + (P - 1)(k - 1)G + (P - 2)g + L, where o <= g
    assert max(clocks(scatter(p - 1, k), p)) == 2 * 2 + (p - 1) * (k - 1) * 1 + (p - 2) * 4 + 5


def test_short_messages_leave_every_overhead_where_the_gap_is_less():
    assert clocks(scatter(3, nbytes=1), 4, o=4, g=2) == [12, 13, 17, 21]


def test_nonblocking_sends_cost_their_overhead_at_once_and_the_gaps_later():
    def program(comm):
        if comm.rank:
            return comm.Recv(data(), source=0)
        requests = [comm.Isend(data(), dest=dest) for dest in (1, 2, 3)]
        posted = comm.time
        for request in requests:
            request.Wait()
        return posted, comm.time

    run = simulate(program, 4, network=LogGP(**NETWORK, eager_limit=0))
    assert run.results[0] == (3 * 2, 2 + 2 * 13 + 9)
    assert run.clocks[1:] == [18, 31, 44]


@pytest.mark.parametrize(("k", "gap"), [(10, 4 + 9), (1, 4)])
def test_two_messages_enter_a_receiver_a_gap_and_their_bytes_apart(k, gap):
    def program(comm):
        if comm.rank == 2:
            for source in (0, 1):
                comm.Recv(data(k), source=source)
        else:
            comm.Send(data(k), dest=2)

    first = 2 + (k - 1) + 5 + 2
    assert clocks(program, 3) == [2, 2, first + gap]


def test_receiver_takes_first_what_was_sent_first():
    def program(comm):
        if comm.rank == 2:
            requests = [comm.Irecv(data(), source=source) for source in (1, 0)]
            requests[0].Wait()
            first = comm.time
            requests[1].Wait()
            return first, comm.time
        compute(comm.rank)  # rank 1 sends a second later
        return comm.Send(data(), dest=2)

    run = simulate(program, 3, network=LogGP(**NETWORK, gamma=1))
    assert run.results[2] == (ONE_MESSAGE + 13, ONE_MESSAGE + 13)


def test_both_directions_at_the_same_time_take_no_longer():
    def program(comm):
        peer = 1 - comm.rank
        comm.Sendrecv(data(), dest=peer, recvbuf=data(), source=peer)

    assert clocks(program, 2) == [ONE_MESSAGE, ONE_MESSAGE]


def test_optimal_broadcast_of_the_paper():
    # Culler et al., figure 3: P = 8, L = 6, g = 4, o = 2; the last processor has it at 24.
    children = {0: [1, 2, 3, 5], 1: [4, 6], 2: [7]}
    parents = {child: parent for parent, them in children.items() for child in them}

    def program(comm):
        if comm.rank:
            comm.Recv(data(1), source=parents[comm.rank])
        received = comm.time
        for child in children.get(comm.rank, ()):
            comm.Send(data(1), dest=child)
        return received

    network = LogGP(L=6, o=2, g=4, G=0)
    assert simulate(program, 8, network=network).results == [0, 10, 14, 18, 20, 22, 24, 24]


def test_message_to_oneself():
    def program(comm):
        comm.Sendrecv(data(), dest=0, recvbuf=data(), source=0)

    assert clocks(program, 1) == [ONE_MESSAGE]


@pytest.mark.parametrize("name", ["L", "o", "g", "G", "gamma", "eager_limit"])
@pytest.mark.parametrize("value", [-1, float("nan"), "1"])
def test_bad_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value!r}, wants a (finite )?number >= 0"):
        LogGP(**{**NETWORK, name: value})
