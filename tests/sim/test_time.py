"""Virtual time: what messages and combinations cost, and in which order messages go."""

from collections import defaultdict
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectives.op import SUM
from collectives.sim import DeadlockError, Hockney, Phantom, simulate

EAGER = 10**9


def clocks(program, size, **network):
    return simulate(program, size, network=Hockney(**network)).clocks


def wait(*requests):
    for request in requests:
        request.Wait()


def compute(seconds):
    """Let this rank's clock go on, where gamma is 1."""
    SUM(*[Phantom(seconds, np.uint8)] * 2, out=Phantom(seconds, np.uint8))


# ----------------------------------------------------------------------- Hockney's model


@pytest.mark.parametrize("eager_limit", [0, EAGER])
@pytest.mark.parametrize("make", [np.zeros, Phantom])
def test_a_message_costs_alpha_and_its_bytes_beta(eager_limit, make):
    def program(comm):
        if comm.rank == 0:
            comm.Send(make(10), dest=1)
        else:
            comm.Recv(make(100), source=0)

    assert clocks(program, 2, alpha=3, beta=0.5, eager_limit=eager_limit) == [43, 43]


def test_a_message_of_nothing_costs_alpha():
    def program(comm):
        comm.Sendrecv(np.zeros(0), dest=0, recvbuf=np.zeros(0), source=0)

    assert clocks(program, 1, alpha=3, beta=0.5) == [3]


@pytest.mark.parametrize("eager_limit", [0, EAGER])
def test_one_rank_sends_one_message_at_a_time(eager_limit):
    def program(comm):
        if comm.rank == 0:
            wait(*(comm.Isend(np.zeros(1), dest=dest) for dest in (1, 2, 3)))
        else:
            comm.Recv(np.zeros(1), source=0)

    assert clocks(program, 4, alpha=2, eager_limit=eager_limit) == [6, 2, 4, 6]


@pytest.mark.parametrize("eager_limit", [0, EAGER])
def test_one_rank_receives_one_message_at_a_time(eager_limit):
    def program(comm):
        if comm.rank == 0:
            wait(*(comm.Irecv(np.zeros(1), source=source) for source in (1, 2, 3)))
        else:
            comm.Send(np.zeros(1), dest=0)

    assert clocks(program, 4, alpha=2, eager_limit=eager_limit) == [6, 2, 4, 6]


@pytest.mark.parametrize("p", [1, 2, 5])
def test_a_step_on_a_ring_costs_one_message(p):
    def program(comm):
        right, left = (comm.rank + 1) % p, (comm.rank - 1) % p
        for _ in range(3):
            comm.Sendrecv(np.zeros(4), dest=right, recvbuf=np.zeros(4), source=left)

    assert clocks(program, p, alpha=1, beta=0.25) == [27] * p


def test_pairs_do_not_disturb_each_other():
    def program(comm):
        if comm.rank % 2:
            comm.Recv(np.zeros(1), source=comm.rank - 1)
        else:
            comm.Send(np.zeros(1), dest=comm.rank + 1)

    assert clocks(program, 6, alpha=2) == [2] * 6


def test_message_starts_when_both_are_there():
    def program(comm):
        if comm.rank == 0:
            compute(5)
            comm.Send(np.zeros(1), dest=1)
            comm.Send(np.zeros(1), dest=1)
        else:
            comm.Recv(np.zeros(1), source=0)
            compute(10)
            comm.Recv(np.zeros(1), source=0)

    assert clocks(program, 2, gamma=1) == [17, 17]


def test_receive_posted_early_lets_the_message_go_on_while_the_rank_computes():
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.zeros(1), dest=1)
        else:
            request = comm.Irecv(np.zeros(1), source=0)
            compute(10)
            request.Wait()

    assert clocks(program, 2, gamma=1) == [1, 10]


def test_buffered_message_starts_at_the_send():
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.zeros(1), dest=1)
        else:
            compute(5)
            comm.Recv(np.zeros(1), source=0)

    assert clocks(program, 2, gamma=1, eager_limit=EAGER) == [1, 5]
    assert clocks(program, 2, gamma=1, eager_limit=8) == [6, 6]


def test_receive_waits_for_a_buffered_message_that_is_under_way():
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.zeros(1), dest=1)
        else:
            compute(2)
            comm.Recv(np.zeros(1), source=0)

    assert clocks(program, 2, alpha=3, gamma=1, eager_limit=EAGER) == [3, 3]


def test_receive_waits_for_a_buffered_message_whose_end_is_known():
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.zeros(10, np.uint8), dest=1)
        elif comm.rank == 1:
            comm.Send(np.zeros(4, np.uint8), dest=2)  # until 4
            comm.Recv(np.zeros(10, np.uint8), source=0)
        else:
            comm.Recv(np.zeros(4, np.uint8), source=1)

    assert clocks(program, 3, alpha=0, beta=1, eager_limit=EAGER) == [10, 10, 4]


def test_split_waits_for_the_last_and_costs_nothing():
    def program(comm):
        compute([3, 5, 4][comm.rank])
        comm.Split()

    assert clocks(program, 3, gamma=1) == [5, 5, 5]


def test_a_small_example_worked_by_hand():
    def program(comm):
        if comm.rank == 0:
            wait(comm.Isend(np.zeros(8, np.uint8), dest=1), comm.Isend(np.zeros(2, np.uint8), 2))
        elif comm.rank == 1:
            incoming = Phantom(8, np.uint8)
            comm.Recv(incoming, source=0)  # 0 to 10
            SUM(incoming, incoming, out=incoming)  # to 14
            comm.Send(incoming, dest=2)  # 14 to 24
        else:
            comm.Recv(np.zeros(2, np.uint8), source=0)  # 10 to 14, after the other send of rank 0
            comm.Recv(Phantom(8, np.uint8), source=1)

    assert clocks(program, 3, alpha=2, beta=1, gamma=0.5) == [14, 24, 24]


# --------------------------------------------------------------------- order of messages


def by_role(program, order, **network):
    """Run ``program(comm, role, place)`` with roles given to ranks; return the clock of each role.

    ``place[role]`` is the rank that plays it.
    """
    place = {role: rank for rank, role in enumerate(order)}
    ran = clocks(lambda comm: program(comm, order[comm.rank], place), len(order), **network)
    return [ran[place[role]] for role in range(len(order))]


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_what_comes_later_does_not_delay_what_comes_earlier(order):
    def program(comm, role, place):
        if role == 0:
            wait(*(comm.Irecv(Phantom(1), source=place[role]) for role in (1, 2, 3)))
        else:
            compute(10 - 3 * role)  # until 7, 4, 1
            comm.Send(Phantom(1), dest=place[0])

    assert by_role(program, order, alpha=4, gamma=1) == [13, 13, 9, 5]


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_the_message_that_has_waited_longer_starts_first(order):
    def program(comm, role, place):
        if role == 0:  # both messages can go at once, but there is one port
            wait(comm.Isend(Phantom(1), place[1]), comm.Isend(Phantom(1), place[2]))
        elif role == 1:  # sends from 1 on, when the second can start
            comm.Recv(Phantom(1), source=place[0])
            comm.Send(Phantom(1), dest=place[2])
        else:
            wait(*(comm.Irecv(Phantom(1), source=place[role]) for role in (0, 1)))

    assert by_role(program, order) == [2, 3, 3]


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_a_rank_ahead_of_the_others_does_not_push_in(order):
    def program(comm, role, place):
        if role == 0:
            wait(comm.Isend(Phantom(1), place[1]), comm.Isend(Phantom(1), place[2]))
        elif role == 1:
            comm.Recv(Phantom(1), source=place[0])
        elif role == 2:
            wait(*(comm.Irecv(Phantom(1), source=place[role]) for role in (0, 3)))
        else:
            compute(1)
            comm.Send(Phantom(1), dest=place[2])

    assert by_role(program, order, gamma=1) == [2, 1, 3, 3]


# -------------------------------------------------------------------------------- gamma


def test_gamma_is_charged_for_combining_phantoms_only():
    def program(comm):
        real = np.zeros(10)
        SUM(real, real, out=real)
        after_real = comm.time
        a = Phantom(10)
        a[:3] = a[3:6].copy()
        np.copyto(np.empty_like(a), a)
        after_copies = comm.time
        SUM(a[:4], a[4:8], out=a[:4])
        return after_real, after_copies, comm.time

    assert simulate(program, 1, network=Hockney(gamma=2)).results == [(0, 0, 64)]


def test_phantoms_work_outside_a_simulation():
    a = Phantom(3)
    assert SUM(a, a, out=a) is a


# ----------------------------------------------------------------------------- phantoms


def same(phantom, array):
    return (
        (phantom.size, phantom.dtype, phantom.nbytes, phantom.shape, phantom.ndim, len(phantom))
        == (array.size, array.dtype, array.nbytes, array.shape, array.ndim, len(array))
    )  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 7])
@pytest.mark.parametrize("dtype", ["float32", "u1", np.complex128])
def test_phantom_has_the_sizes_of_an_array(n, dtype):
    phantom, array = Phantom(n, dtype), np.empty(n, dtype)
    assert same(phantom, array)
    assert same(phantom.copy(), array.copy())
    assert same(np.empty_like(phantom), np.empty_like(array))
    assert same(np.empty_like(phantom, shape=3), np.empty_like(array, shape=3))
    assert same(np.empty_like(phantom, "i2", shape=(3,)), np.empty_like(array, "i2", shape=(3,)))
    assert same(np.add(phantom, phantom), np.add(array, array))
    assert same(np.equal(phantom, phantom), np.equal(array, array))
    assert np.size(phantom) == n
    for start in (None, -9, -2, 0, 2, 9):
        for stop in (None, -9, -2, 0, 2, 9):
            assert same(phantom[start:stop], array[start:stop])


def test_phantom_has_a_size_that_an_array_may_have():
    assert Phantom(np.int64(3)).nbytes == 24
    for size, error in ((-1, ValueError), (2.5, TypeError), ("3", TypeError)):
        for make in (np.empty, Phantom):
            with pytest.raises(error):
                make(size)


def test_phantom_takes_what_fits():
    a = Phantom(4)
    a[...] = np.zeros(4)
    a[:2] = Phantom(2)
    a[1:] = 0.0
    np.copyto(a, Phantom(4))
    for key, value in ((..., Phantom(3)), (slice(2), np.zeros(3))):
        with pytest.raises(ValueError, match="cannot put 3 elements into"):
            a[key] = value


@pytest.mark.parametrize(
    "act",
    [
        lambda a: a[0],
        lambda a: a[::2],
        lambda a: a[[0, 1]],
        lambda a: list(a),
        lambda a: a + a,
        lambda a: a[...],
        lambda a: np.asarray(a),
        lambda a: np.copyto(np.zeros(4), a),
        lambda a: np.sum(a),
        lambda a: np.add.reduce(a),
        lambda a: np.concatenate([a, a]),
        lambda a: np.add(a, 1),
        lambda a: np.add(a, np.zeros(4)),
        lambda a: np.add(a, a[1:]),
        lambda a: np.add(a, Phantom(4, "float32")),
        lambda a: np.add(a, a, out=Phantom(3)),
        lambda a: np.add(a, a, out=np.zeros(4)),
        lambda a: np.add(a, a, where=True, out=a),
        lambda a: np.bitwise_and(a, a),
        lambda a: np.bitwise_and(a, a, out=a),
        lambda a: np.modf(a),
        lambda a: np.modf(a, out=(a, a)),
        lambda a: np.true_divide(Phantom(4, "i8"), Phantom(4, "i8"), out=Phantom(4, "i8")),
    ],
)
def test_phantom_refuses_what_it_cannot_do(act):
    with pytest.raises(TypeError):
        act(Phantom(4))


# ------------------------------------------------------- any traffic, against a model of MPI

RANKS = 3

messages = st.lists(
    st.fixed_dictionaries(
        {
            "source": st.integers(0, RANKS - 1),
            "dest": st.integers(0, RANKS - 1),
            "comm": st.integers(0, 1),
            "tag": st.integers(0, 1),
            "size": st.integers(0, 3),
            "any_tag": st.booleans(),
            "sent": st.integers(0, 2),  # in which round
            "received": st.integers(0, 2),
            "place": st.integers(0, 9),  # among the receives of the round
        }
    ),
    max_size=12,
)


def model(sends, receives):
    """Return which message each receive gets, by MPI's rules; None where it gets none.

    `sends` and `receives` stand in the order of their posts, per communicator and pair of ranks.
    """
    matched = {}
    for pair, outgoing in sends.items():
        for message in outgoing:
            for receive in receives[pair]:
                fits = receive["any_tag"] or receive["tag"] == message["tag"]
                if fits and receive["id"] not in matched:
                    matched[receive["id"]] = message
                    break
    return matched


@pytest.mark.parametrize("eager_limit", [0, 10, EAGER])
@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(traffic=messages)
def test_any_traffic_is_delivered_as_mpi_says(eager_limit, traffic):
    traffic = [{**message, "id": i} for i, message in enumerate(traffic)]
    in_send_order = sorted(traffic, key=lambda m: m["sent"])
    in_receive_order = sorted(traffic, key=lambda m: (m["received"], m["place"]))
    sends, receives = defaultdict(list), defaultdict(list)
    for message in in_send_order:
        sends[message["comm"], message["source"], message["dest"]].append(message)
    for message in in_receive_order:
        receives[message["comm"], message["source"], message["dest"]].append(message)
    matched = model(sends, receives)

    def program(comm):
        comms = comm, comm.Dup()
        requests, buffers = [], {}
        for now in range(3):
            for m in in_send_order:
                if (m["source"], m["sent"]) == (comm.rank, now):
                    outgoing = np.full(m["size"], m["id"])
                    requests.append(comms[m["comm"]].Isend(outgoing, m["dest"], m["tag"]))
            for m in in_receive_order:
                if (m["dest"], m["received"]) == (comm.rank, now):
                    tag = None if m["any_tag"] else m["tag"]
                    buffers[m["id"]] = incoming = np.full(3, -1)
                    requests.append(comms[m["comm"]].Irecv(incoming, m["source"], tag))
            comm.Dup()  # a barrier
        wait(*requests[::-1])
        return {receive: buffer.tolist() for receive, buffer in buffers.items()}

    network = Hockney(beta=0.25, eager_limit=eager_limit)
    if len(matched) < len(traffic):
        with pytest.raises(DeadlockError):
            simulate(program, RANKS, network=network)
        return
    delivered = {}
    for result in simulate(program, RANKS, network=network).results:
        delivered |= result
    assert delivered == {
        receive: [message["id"]] * message["size"] + [-1] * (3 - message["size"])
        for receive, message in matched.items()
    }
