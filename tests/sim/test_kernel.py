"""The simulator's rules: who gets which message, what is refused, and how a run ends."""

import gc
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from collectives.sim import (
    BufferChangedError,
    DeadlockError,
    Hockney,
    Phantom,
    SimComm,
    SimulationError,
    TruncationError,
    TypeMismatchError,
    UnfinishedError,
    simulate,
)
from collectives.tracing import Trace

EAGER = Hockney(eager_limit=1000)
networks = pytest.mark.parametrize("network", [Hockney(), EAGER], ids=["rendezvous", "eager"])


def start_sends(comm, *messages, dest=0):
    """Start to send (value, tag) pairs, in order; return the requests."""
    return [comm.Isend(np.array([value]), dest=dest, tag=tag) for value, tag in messages]


def receive(comm, source=None, tag=None):
    incoming = np.full(1, -1)
    comm.Recv(incoming, source, tag)
    return incoming.item()


def wait(requests):
    for request in requests:
        request.Wait()


# ------------------------------------------------------------------------------ matching


@networks
@pytest.mark.parametrize(
    ("tags", "received"),
    [
        ((7, 7, 7), [10, 20, 30]),  # messages of one tag do not overtake each other
        ((8, 7, 7), [20, 10, 30]),  # another tag may
        ((None, None, None), [10, 20, 30]),  # any tag: in the order in which they were sent
        ((8, None, None), [20, 10, 30]),
        ((None, 8, 7), [10, 20, 30]),
    ],
)
@pytest.mark.parametrize("receiver_first", [True, False])
def test_messages_match_in_order_per_source_and_tag(network, tags, received, receiver_first):
    def program(comm):
        if (comm.rank == 0) != receiver_first:
            comm.Dup()  # a barrier: the other rank goes first
        if comm.rank == 0:
            buffers = np.full((3, 1), -1)
            requests = [comm.Irecv(b, 1, t) for b, t in zip(buffers, tags, strict=True)]
        else:
            requests = start_sends(comm, (10, 7), (20, 8 if 8 in tags else 7), (30, 7))
        if (comm.rank == 0) == receiver_first:
            comm.Dup()
        wait(requests)
        return buffers.ravel().tolist() if comm.rank == 0 else None

    assert simulate(program, 2, network=network).results[0] == received


@networks
def test_wildcard_and_specific_receives_match_in_the_order_of_their_posts(network):
    def program(comm):
        if comm.rank == 0:
            buffers = np.full((4, 1), -1)
            sources = (None, 1, None, 1)
            requests = [comm.Irecv(b, s, 7) for b, s in zip(buffers, sources, strict=True)]
            comm.Dup()  # the others send only now
            wait(requests)
            return buffers.ravel().tolist()
        comm.Dup()
        wait(start_sends(comm, (10, 7), (20, 7), (30, 7), (40, 7)))
        return None

    assert simulate(program, 2, network=network).results[0] == [10, 20, 30, 40]


@networks
def test_receive_from_any_source_takes_the_message_that_was_sent_first(network):
    def program(comm):
        if comm.rank == 2:
            comm.Dup()
            status = SimpleNamespace()
            seen = []
            for tag in (None, 5, None, None):
                incoming = np.empty(1, int)
                comm.Recv(incoming, tag=tag, status=status)
                seen.append((incoming.item(), status.source, status.tag))
            return seen
        sends = [(comm.rank * 100, 4), (comm.rank * 100 + 1, 5)]
        requests = start_sends(comm, *sends, dest=2)
        comm.Dup()
        wait(requests)
        return None

    seen = simulate(program, 3, network=network).results[2]
    assert seen == [(0, 0, 4), (1, 0, 5), (100, 1, 4), (101, 1, 5)]


@networks
def test_specific_receive_leaves_messages_of_others_alone(network):
    def program(comm):
        if comm.rank:
            return comm.Send(np.array([comm.rank]), dest=0)
        return [receive(comm, 2), receive(comm, 1)]

    assert simulate(program, 3, network=network).results[0] == [2, 1]


def test_status_names_source_and_tag_also_after_wait_and_sendrecv():
    def program(comm):
        status, other = SimpleNamespace(), SimpleNamespace()
        incoming = np.empty(1, int)
        peer = 1 - comm.rank
        comm.Sendrecv(np.array([1]), peer, comm.rank + 5, incoming, None, None, status)
        send = comm.Isend(np.array([1]), peer, 9)
        comm.Irecv(incoming).Wait(other)
        send.Wait()
        return (status.source, status.tag), (other.source, other.tag)

    assert simulate(program, 2).results == [((1, 6), (1, 9)), ((0, 5), (0, 9))]


def test_status_names_the_source_as_numbered_in_its_communicator():
    def program(comm):
        part = comm.Split(color=0, key=-comm.rank)
        status = SimpleNamespace()
        if part.rank == 0:
            part.Send(np.zeros(1), dest=1)
        elif part.rank == 1:
            part.Recv(np.zeros(1), status=status)
            return status.source
        return None

    assert simulate(program, 3).results == [None, 0, None]


# ------------------------------------------------------------------------------ buffers


@networks
def test_shorter_message_leaves_the_rest_of_the_buffer_alone(network):
    def program(comm):
        if comm.rank:
            return comm.Send(np.array([1, 2]), dest=0)
        incoming = np.full(4, -1)
        comm.Recv(incoming, source=1)
        return incoming.tolist()

    assert simulate(program, 2, network=network).results[0] == [1, 2, -1, -1]


@networks
@pytest.mark.parametrize("make", [np.zeros, Phantom])
def test_longer_message_than_the_buffer_is_refused(network, make):
    def program(comm):
        if comm.rank:
            comm.Send(make(3), dest=0)
        else:
            comm.Recv(make(2), source=1)

    wanted = r"rank 0: Recv from 1 \(any tag\): message of 24 bytes, buffer of 16"
    with pytest.raises(TruncationError, match=wanted):
        simulate(program, 2, network=network)


@pytest.mark.parametrize("make", [np.zeros, Phantom])
def test_message_of_another_dtype_is_refused(make):
    def program(comm):
        if comm.rank:
            comm.Send(make(2, "float64"), dest=0)
        else:
            comm.Recv(make(2, "int64"), source=1)

    with pytest.raises(TypeMismatchError, match=r"rank 0.* message of float64, buffer of int64"):
        simulate(program, 2)


def test_message_without_data_is_not_received_as_data():
    def program(comm):
        if comm.rank:
            comm.Send(Phantom(2), dest=0)
        else:
            comm.Recv(np.zeros(2), source=1)

    with pytest.raises(TypeMismatchError, match="Phantom"):
        simulate(program, 2)


def test_sendrecv_refuses_buffers_that_overlap():
    def program(comm):
        both = np.zeros(4)
        comm.Sendrecv(both[:3], dest=0, recvbuf=both[2:], source=0)

    with pytest.raises(SimulationError, match=r"rank 0: .*overlap"):
        simulate(program, 1)


def test_sendrecv_takes_neighbouring_and_empty_buffers():
    def program(comm):
        both = np.array([1, 2, 0, 0])
        comm.Sendrecv(both[:2], dest=0, recvbuf=both[2:], source=0)
        comm.Sendrecv(both[1:1], dest=0, recvbuf=both, source=0)
        return both.tolist()

    assert simulate(program, 1).results == [[1, 2, 1, 2]]


def test_sendrecv_replace_sends_what_was_there_before():
    def program(comm):
        both = np.array([comm.rank])
        comm.Sendrecv_replace(both, dest=(comm.rank + 1) % 3, source=(comm.rank - 1) % 3)
        return both.item()

    assert simulate(program, 3).results == [2, 0, 1]


@networks
def test_buffer_changed_while_its_isend_is_under_way_is_noticed(network):
    def program(comm):
        if comm.rank == 0:
            outgoing = np.zeros(3)
            request = comm.Isend(outgoing, dest=1, tag=4)
            outgoing[2] = 1
            request.Wait()
        else:
            comm.Recv(np.zeros(3), source=0)

    wanted = r"rank 0: buffer of Isend to 1 \(tag 4, 24 bytes\) was changed before Wait"
    with pytest.raises(BufferChangedError, match=wanted):
        simulate(program, 2, network=network)


@networks
def test_buffer_may_change_after_wait_and_its_receiver_has_the_old_data(network):
    def program(comm):
        if comm.rank == 0:
            outgoing = np.array([5])
            comm.Isend(outgoing, dest=1).Wait()
            outgoing[0] = 6
            comm.Send(outgoing, dest=1)
            return None
        return [receive(comm, 0), receive(comm, 0)]

    assert simulate(program, 2, network=network).results[1] == [5, 6]


class Incomparable:
    def __eq__(self, other):
        raise AssertionError("payloads are not compared by value")


@pytest.mark.parametrize(
    "payload",
    [
        np.array([np.nan, -0.0]),
        np.array([complex(np.nan, 1)]),
        np.array([Incomparable(), None], object),
        np.zeros(0),
    ],
    ids=["nan", "complex nan", "object", "empty"],
)
def test_unchanged_buffer_raises_no_false_alarm(payload):
    def program(comm):
        incoming = np.empty_like(payload)
        send = comm.Isend(payload, dest=0)
        comm.Irecv(incoming, source=0).Wait()
        send.Wait()
        return incoming

    (incoming,) = simulate(program, 1).results
    assert incoming.tobytes() == payload.tobytes()


@networks
def test_message_of_an_irecv_is_in_the_buffer_only_after_wait(network):
    def program(comm):
        incoming = np.zeros(1, int)
        request = comm.Irecv(incoming, source=1 - comm.rank)
        comm.Send(np.array([7]), dest=1 - comm.rank)
        comm.Dup()  # the message has arrived on both ranks
        before = incoming.item()
        request.Wait()
        request.Wait()  # a second time changes nothing
        return before, incoming.item()

    assert simulate(program, 2, network=network).results == [(0, 7), (0, 7)]


def test_read_only_receive_buffer_is_refused():
    def program(comm):
        fixed = np.zeros(2)
        fixed.flags.writeable = False
        comm.Irecv(fixed, source=0)

    with pytest.raises(SimulationError, match="rank 0: Irecv into a read-only buffer"):
        simulate(program, 1)


@pytest.mark.parametrize("buffer", [np.zeros(6)[::2], np.zeros((3, 3))[:, 1]])
@pytest.mark.parametrize("call", ["Isend", "Irecv"])
def test_buffer_that_is_not_contiguous_is_refused(buffer, call):
    with pytest.raises(BufferError, match=r"float64\(3,\) is not contiguous"):
        simulate(lambda comm: getattr(comm, call)(buffer, 0), 1)


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (lambda a: [a], [1, 2, 3, 4]),
        (lambda a: [a, 2], [1, 2, 0, 0]),
        (lambda a: (a, np.int64(2), "d"), [1, 2, 0, 0]),
        (lambda a: [a, 2, 1], [2, 3, 0, 0]),
        (lambda a: [a, (2, 1), "d"], [2, 3, 0, 0]),
        (lambda a: [a, "d"], [1, 2, 3, 4]),
        (lambda a: a.reshape(2, 2), [1, 2, 3, 4]),
    ],
)
def test_buffers_are_described_as_in_mpi4py(spec, wanted):
    def program(comm):
        incoming = np.zeros(4)
        request = comm.Irecv([incoming, 4], source=0)
        comm.Send(spec(np.array([1.0, 2, 3, 4])), dest=0)
        request.Wait()
        return incoming.tolist()

    assert simulate(program, 1).results == [wanted]


def test_receive_specification_writes_where_it_says():
    def program(comm):
        incoming = bytearray(4)
        request = comm.Irecv([incoming, 2, 1], source=0)
        comm.Send(b"ab", dest=0)
        request.Wait()
        return bytes(incoming)

    assert simulate(program, 1).results == [b"\0ab\0"]


@pytest.mark.parametrize("spec", [(5,), (2, 3), (-1,), (1, -1)])
def test_specification_of_more_than_there_is_is_refused(spec):
    with pytest.raises(ValueError, match="of a buffer of 4"):
        simulate(lambda comm: comm.Isend([np.zeros(4), *spec], dest=0), 1)


@pytest.mark.parametrize(("call", "name"), [("Send", "dest"), ("Recv", "source")])
def test_peer_outside_the_communicator_is_refused(monkeypatch, call, name):
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    for peer in (2, -1):
        with pytest.raises(SimulationError, match=rf"{name} is {peer}, wants 0\.\.1"):
            simulate(lambda comm, peer=peer: getattr(comm, call)(np.zeros(1), peer), 2)


def test_negative_tag_of_a_send_is_refused():
    with pytest.raises(SimulationError, match="rank 0: Isend with tag -1"):
        simulate(lambda comm: comm.Isend(np.zeros(1), 0, tag=-1), 1)


def test_constants_of_mpi4py_are_understood():
    from mpi4py import MPI

    def program(comm):
        incoming = np.full(1, -1)
        comm.Send(incoming, dest=MPI.PROC_NULL)
        comm.Recv(incoming, source=MPI.PROC_NULL)
        comm.Isend(incoming, dest=MPI.PROC_NULL).Wait()
        untouched = incoming.item()
        send = comm.Isend(np.array([3]), dest=0, tag=8)
        status = MPI.Status()
        comm.Recv(incoming, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        send.Wait()
        assert comm.Split(MPI.UNDEFINED) is None
        return untouched, incoming.item(), status.source, status.tag

    run = simulate(program, 1)
    assert run.results == [(-1, 3, 0, 8)]
    assert run.messages == [1]


# ------------------------------------------------------------------------- communicators


def test_split_orders_ranks_by_key_then_by_old_rank():
    keys = [5, 0, 5, 0, -1]

    def program(comm):
        part = comm.Split(color=0, key=keys[comm.rank])
        order = np.empty(part.size, int)
        for source in range(part.size):
            send = part.Isend(np.array([comm.rank]), dest=source)
            part.Recv(order[source : source + 1], source=source)
            send.Wait()
        return part.rank, order.tolist()

    results = simulate(program, 5).results
    assert results == [(rank, [4, 1, 3, 0, 2]) for rank in (3, 1, 4, 2, 0)]


def test_negative_color_takes_no_part():
    def program(comm):
        part = comm.Split(color=-1 if comm.rank == 1 else 7)
        return None if part is None else (part.rank, part.size)

    assert simulate(program, 3).results == [(0, 2), None, (1, 2)]


def test_split_of_a_reversed_half_talks_within_itself():
    def program(comm):
        half = comm.Split(color=comm.rank % 2, key=-comm.rank)
        pair = half.Split(color=half.rank // 2)
        incoming = np.empty(1, int)
        pair.Sendrecv(
            np.array([comm.rank]),
            dest=(pair.rank + 1) % pair.size,
            recvbuf=incoming,
            source=(pair.rank - 1) % pair.size,
        )
        return half.Get_rank(), pair.Get_rank(), pair.Get_size(), incoming.item()

    assert simulate(program, 6).results == [
        (2, 0, 1, 0),  # half (4, 2, 0): pairs (4, 2) and (0)
        (2, 0, 1, 1),
        (1, 1, 2, 4),
        (1, 1, 2, 5),
        (0, 0, 2, 2),
        (0, 0, 2, 3),
    ]


class Counted(int):
    """A key that counts how often it is compared."""

    compared = 0

    def __lt__(self, other):
        Counted.compared += 1
        return int(self) < int(other)

    __eq__, __hash__ = int.__eq__, int.__hash__


def test_each_part_of_a_split_is_worked_out_once():
    p = 64

    def program(comm):
        part = comm.Split(color=0, key=Counted(-comm.rank))
        return part.rank

    assert simulate(program, p).results == list(reversed(range(p)))
    assert 0 < Counted.compared < 10 * p  # on every rank, it would be p times that


@networks
@pytest.mark.parametrize("derive", [SimComm.Dup, SimComm.private, SimComm.Split])
def test_traffic_on_a_derived_communicator_never_matches_the_parents(network, derive):
    def program(comm):
        other = derive(comm)
        if comm.rank == 0:
            requests = start_sends(comm, (1, 0), dest=1) + start_sends(other, (2, 0), dest=1)
            wait(requests)
            return None
        return [receive(other), receive(comm)]  # from any source, with any tag

    assert simulate(program, 2, network=network).results[1] == [2, 1]


def test_private_duplicate_is_one_and_its_own():
    def program(comm):
        own = comm.private()
        assert not comm.is_private
        assert own.is_private
        assert not own.Dup().is_private
        assert own.private().group is own.group is comm.private().group
        return own.group

    first, second = simulate(program, 2).results
    assert first is second


def test_different_collective_calls_do_not_meet():
    def program(comm):
        if comm.rank == 1:
            comm.Dup()
        else:
            comm.Split()

    with pytest.raises(SimulationError, match="rank 1 calls Dup, others of its group Split"):
        simulate(program, 2)


# ------------------------------------------------------------------------ ends of a run


def test_message_never_received_is_reported():
    def program(comm):
        if comm.rank == 1:
            comm.Send(np.zeros(2), dest=0, tag=3)

    wanted = r"rank 1: Send to 0 \(tag 3, 16 bytes\) was never received"
    with pytest.raises(UnfinishedError, match=wanted):
        simulate(program, 2, network=EAGER)


def test_message_never_received_on_a_private_communicator_is_reported():
    with pytest.raises(UnfinishedError, match=r"rank 0: Isend to 0 .* was never received"):
        simulate(lambda comm: comm.private().Isend(np.zeros(1), 0).Wait(), 1, network=EAGER)


def test_each_request_never_waited_for_is_named():
    def program(comm):
        comm.Isend(np.zeros(1), dest=0)
        comm.Irecv(np.zeros(1), source=0)

    with pytest.raises(UnfinishedError) as caught:
        simulate(program, 1)
    assert str(caught.value).splitlines()[1:] == [
        "  rank 0: Isend to 0 (tag 0, 8 bytes) was never waited for",
        "  rank 0: Irecv from 0 (any tag) was never waited for",
    ]


class Marker:
    """Something to hold a weak reference to."""


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("at_once", [True, False])
def test_error_on_one_rank_ends_the_others(error, at_once):
    ranks, cleaned, alive = [], [], []

    def program(comm):
        marker = Marker()
        alive.append(weakref.ref(marker))
        ranks.append(comm.me)
        if comm.rank == 1:
            if not at_once:
                receive(comm, 0)
            raise error("told to")
        try:
            if comm.rank == 0 and not at_once:
                comm.Send(np.zeros(1, int), dest=1)
            receive(comm, 1)
        finally:
            cleaned.append(comm.rank)
            receive(comm, 1)  # ends the rank at once rather than wait

    with pytest.raises(error, match="told to") as caught:
        simulate(program, 4)
    assert sorted(cleaned) == ([0] if at_once else [0, 2, 3])  # 2 and 3 had not begun
    assert all(rank.dead for rank in ranks)
    assert caught.value.__notes__ == ["on simulated rank 1 of 4"]
    del caught
    ranks.clear()
    gc.collect()
    assert not any(marker() for marker in alive)


def test_error_while_a_rank_is_ended_does_not_hide_the_first():
    cleaned = []

    def program(comm):
        if comm.rank == 2:
            raise ValueError("first")
        try:
            receive(comm, 2)
        finally:
            cleaned.append(comm.rank)
            raise RuntimeError("second")

    with pytest.raises(ValueError, match="first"):
        simulate(program, 3)
    assert cleaned == [0, 1]


def test_ranks_of_a_deadlock_are_ended():
    cleaned = []

    def program(comm):
        try:
            receive(comm, (comm.rank + 1) % comm.size)
        finally:
            cleaned.append(comm.rank)

    with pytest.raises(DeadlockError):
        simulate(program, 3)
    assert cleaned == [0, 1, 2]


def ring_step(comm):
    incoming = np.empty(1, int)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.Sendrecv(np.array([comm.rank]), dest=right, recvbuf=incoming, source=left)
    return incoming.item()


def test_run_after_an_error_is_a_run_like_any_other():
    with pytest.raises(DeadlockError):
        simulate(receive, 2)
    assert simulate(ring_step, 3).results == [2, 0, 1]


def test_settings_of_the_garbage_collector_come_back():
    thresholds = gc.get_threshold()
    gc.set_threshold(1234, *thresholds[1:])
    try:
        simulate(ring_step, 3)
        with pytest.raises(DeadlockError):
            simulate(receive, 2)
        assert gc.get_threshold()[0] == 1234
    finally:
        gc.set_threshold(*thresholds)


def test_the_same_run_twice_gives_identical_events_and_clocks():
    p = 7
    network = Hockney(alpha=0.1, beta=0.003, gamma=0.01, eager_limit=20)

    def run():
        traces = [Trace() for _ in range(p)]

        def program(comm):
            rank, comm = comm.rank, traces[comm.rank].comm(comm)
            for step in range(1, 4):
                payload = Phantom(step * rank)
                np.add(payload, payload, out=payload)
                sends = [
                    comm.Isend(payload, dest) for dest in range(p) if (rank + dest) % step == 0
                ]
                for source in range(p):
                    if (source + rank) % step == 0:
                        comm.Recv(Phantom(99), source)
                wait(sends)

        return simulate(program, p, network=network), [trace.events for trace in traces]

    assert run() == run()


def test_one_rank_alone():
    run = simulate(ring_step, 1)
    assert (run.results, run.clocks, run.messages, run.nbytes) == ([0], [1.0], [1], [8])


def test_messages_to_oneself():
    def program(comm):
        incoming = np.empty(2, int)
        receives = [comm.Irecv(incoming[i : i + 1], source=comm.rank) for i in range(2)]
        sends = start_sends(comm, (1, 0), (2, 0), dest=comm.rank)
        wait(sends + receives)
        return incoming.tolist()

    assert simulate(program, 2).results == [[1, 2], [1, 2]]


def test_counters_are_of_messages_and_bytes_sent():
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.zeros(3, np.float32), dest=1)
            comm.Send(np.zeros(0), dest=1)
        else:
            comm.Recv(np.zeros(3, np.float32), source=0)
            comm.Recv(np.zeros(0), source=0)

    run = simulate(program, 2)
    assert (run.messages, run.nbytes) == ([2, 0], [12, 0])


def test_thousands_of_ranks_do_not_reach_the_recursion_limit():
    p = 3 * sys.getrecursionlimit()

    def program(comm):  # a token goes from rank to rank, and each wakes the next
        token = np.zeros(1, int)
        if comm.rank:
            comm.Recv(token, source=comm.rank - 1)
        token += 1
        if comm.rank + 1 < p:
            comm.Send(token, dest=comm.rank + 1)
        return token.item()

    run = simulate(program, p)
    assert run.results[-1] == p
    assert run.time == p - 1


def test_simulation_inside_a_simulation():
    def program(comm):
        inner = simulate(ring_step, 2 + comm.rank)
        return ring_step(comm), inner.results

    run = simulate(program, 2)
    assert run.results == [(1, [1, 0]), (0, [2, 0, 1])]
    assert run.clocks == [1.0, 1.0]


def test_error_of_an_inner_simulation_is_an_error_of_its_rank():
    def program(comm):
        if comm.rank == 1:
            simulate(receive, 1)
        receive(comm, 1)

    with pytest.raises(DeadlockError) as caught:
        simulate(program, 2)
    assert list(caught.value.waiting) == [0]
    assert caught.value.__notes__ == ["on simulated rank 1 of 2"]


def test_a_run_needs_a_rank():
    with pytest.raises(ValueError, match="size is 0, wants at least 1"):
        simulate(ring_step, 0)
