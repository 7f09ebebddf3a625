from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from collectives.op import BAND, SUM, as_op
from collectives.sim import Hockney, Phantom, simulate
from collectives.tracing import Trace

LINES = Path(__file__).read_text().splitlines()


def line(mark):
    """Return the number of the line of this file that ends with a mark."""
    (number,) = [i for i, text in enumerate(LINES, start=1) if text.endswith(f"# line: {mark}")]
    return number


def traced(program, size, keep=False, **network):
    """Run ``program(comm, trace)`` with each rank's calls traced; return run and traces."""
    traces = [Trace(keep) for _ in range(size)]
    run = simulate(
        lambda comm: program(traces[comm.rank].comm(comm), traces[comm.rank]),
        size,
        network=Hockney(**network),
    )
    return run, traces


def ring_step(comm, trace):
    outgoing, incoming = np.full(2, comm.rank), np.empty(3, int)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.Sendrecv(outgoing, dest=right, recvbuf=incoming, source=left)  # line: exchange
    own = incoming[:2]
    trace.op(SUM, comm)(outgoing, own, out=own)  # line: combine
    return own.tolist()


def test_an_event_says_who_did_what_with_whom_when_and_where():
    run, traces = traced(ring_step, 3, alpha=2, beta=0.5)
    assert run.results == [[2, 2], [1, 1], [3, 3]]
    assert [
        (
            e.rank,
            e.step,
            e.kind,
            e.call,
            e.peer,
            e.nbytes,
            e.start,
            e.end,
            Path(e.file).name,
            e.line,
        )
        for e in traces[1].events
    ] == [
        (1, 1, "send", "Sendrecv", 2, 16, 0, 10, "test_tracing.py", line("exchange")),
        (1, 1, "receive", "Sendrecv", 0, 16, 0, 10, "test_tracing.py", line("exchange")),
        (1, 1, "combine", "SUM", 1, 16, 10, 10, "test_tracing.py", line("combine")),
    ]
    assert all(event.payload is None for event in traces[1].events)


def test_payloads_are_kept_as_they_were():
    _, traces = traced(ring_step, 3, keep=True)
    send, receive, combined = traces[1].events
    assert send.payload.tolist() == [1, 1]
    assert receive.payload.tolist() == [0, 0]  # what is combined later is not shown
    assert combined.payload.tolist() == [1, 1]


def test_combining_phantoms_takes_its_time():
    def program(comm, trace):
        a = Phantom(2)
        trace.op(SUM, comm)(a, a, out=a)

    _, (trace,) = traced(program, 1, gamma=0.25)
    (event,) = trace.events
    assert (event.start, event.end, event.nbytes) == (0, 4, 16)


def everything(comm, trace):
    """Make each of the calls that are traced, with peers of all kinds."""
    p, rank = comm.size, comm.rank
    for step in range(p):
        outgoing, incoming = np.zeros(step, np.uint8), np.empty(p, np.uint8)
        dest, source = (rank + step) % p, (rank - step) % p
        comm.Sendrecv(outgoing, dest, 1, recvbuf=incoming, source=source, recvtag=1)
        receive = comm.Irecv(incoming, source, 2)
        send = comm.Isend(outgoing, dest, 2)
        receive.Wait()
        send.Wait()
    if rank == 0:
        comm.Send(np.zeros(5), p - 1, 3)
    if rank == p - 1:
        comm.Recv(np.zeros(5), 0, 3)


@pytest.mark.parametrize("p", [2, 5])
def test_counts_are_the_kernels_own(p):
    def program(comm, trace):
        everything(comm.Split(color=0, key=-comm.rank), trace)
        everything(comm.private(), trace)
        everything(comm.Dup(), trace)

    run, traces = traced(program, p)
    trace = Trace.merge(traces)
    assert [trace.messages(rank) for rank in range(p)] == run.messages
    assert [trace.sent(rank) for rank in range(p)] == run.nbytes
    sends = sorted((e.rank, e.peer) for e in trace.events if e.kind == "send")
    receives = sorted((e.peer, e.rank) for e in trace.events if e.kind == "receive")
    assert sends == receives
    assert sum(len(trace.of(rank)) for rank in range(p)) == len(trace.events)


def test_nonblocking_calls_are_recorded_at_their_wait():
    def program(comm, trace):
        request = comm.Irecv(np.empty(1), source=1 - comm.rank)
        other = comm.Isend(np.zeros(1), dest=1 - comm.rank)
        assert trace.events == []
        other.Wait()  # line: first wait
        request.Wait()  # line: second wait
        request.Wait()  # nothing is left to wait for

    _, traces = traced(program, 2)
    for rank in (0, 1):
        assert traces[rank].steps == 2
        assert [
            (e.step, e.kind, e.call, e.peer, e.start, e.end, e.line) for e in traces[rank].events
        ] == [
            (1, "send", "Isend", 1 - rank, 0, 1, line("first wait")),
            (2, "receive", "Irecv", 1 - rank, 0, 1, line("second wait")),
        ]


def test_nonblocking_call_starts_when_it_is_made():
    def program(comm, trace):
        if comm.rank == 0:
            request = comm.Irecv(np.empty(1), source=1)
            comm.Recv(np.empty(1), source=2)
            request.Wait()
        else:
            comm.Send(np.empty(1), dest=0)

    _, traces = traced(program, 3)
    assert [(e.call, e.start, e.end) for e in traces[0].events] == [("Recv", 0, 2), ("Irecv", 0, 2)]


def test_wait_fills_a_status():
    def program(comm, trace):
        status = SimpleNamespace()
        send = comm.Isend(np.zeros(1), dest=0, tag=6)
        comm.Irecv(np.zeros(1), source=0).Wait(status)
        send.Wait()
        return status.tag

    assert traced(program, 1)[0].results == [6]


def test_peers_within_a_part_are_named_by_their_numbers_in_the_whole():
    def program(comm, trace):
        part = comm.Split(color=comm.rank % 2, key=-comm.rank)  # (4, 2, 0) and (5, 3, 1)
        part = part.Split(color=min(part.rank, 1), key=-part.rank)  # (4), (0, 2); (5), (1, 3)
        part = part.private()
        if part.size == 2:
            ring_step(part, trace)
        return part.rank

    run, traces = traced(program, 6)
    assert run.results == [0, 0, 1, 1, 0, 0]
    for rank, peer in ((0, 2), (2, 0), (1, 3), (3, 1)):
        assert [(e.rank, e.peer) for e in traces[rank].events[:2]] == [(rank, peer)] * 2
    assert traces[4].events == []


def test_a_rank_that_takes_no_part_in_a_split_gets_nothing():
    def program(comm, trace):
        return comm.Split(color=-1) is None

    assert traced(program, 2)[0].results == [True, True]


def test_receive_from_any_rank_tells_from_whom_it_was():
    def program(comm, trace):
        if comm.rank:
            comm.Send(np.zeros(1), dest=0)
        else:
            comm.Recv(np.zeros(1), None)

    _, traces = traced(program, 2)
    assert [(e.peer, e.tag, e.number) for e in traces[0].events] == [(1, 0, -2)]


def test_messages_to_nobody_are_no_messages():
    from mpi4py import MPI

    def program(comm, trace):
        nobody = MPI.PROC_NULL
        comm.Send(np.zeros(1), nobody)
        comm.Sendrecv(np.zeros(1), nobody, recvbuf=np.zeros(1), source=nobody)
        comm.Irecv(np.zeros(1), nobody).Wait()

    _, (trace,) = traced(program, 1)
    assert trace.events == []


def test_a_traced_communicator_is_private_where_the_inner_one_is():
    def program(comm, trace):
        own = comm.private()
        return comm.is_private, own.is_private, own.trace is trace, own.rank == comm.rank

    assert traced(program, 2)[0].results == [(False, True, True, True)] * 2


def test_a_traced_operation_is_refused_and_lent_like_the_one_inside():
    from mpi4py import MPI

    def program(comm, trace):
        traced_op = trace.op(BAND, comm)
        assert (traced_op.name, traced_op.commutative) == ("BAND", True)
        assert as_op(traced_op) is traced_op
        with traced_op.mpi(np.dtype(int)) as lent:
            assert lent == MPI.BAND
        with pytest.raises(ValueError, match="op BAND does not work on float64"):
            traced_op.check(np.dtype(float))

    traced(program, 1)


def test_calls_on_a_real_communicator_are_recorded():
    from mpi4py import MPI

    trace = Trace()
    comm = trace.comm(MPI.COMM_SELF)
    for part in (comm, comm.Dup(), comm.Split(color=0), comm.private()):
        request = part.Irecv(np.empty(1), 0, 5)
        part.Send(np.zeros(1), dest=0, tag=5)  # line: real send
        request.Wait()
        if part is not comm and not part.is_private:
            part.Free()
    assert comm.Split(color=MPI.UNDEFINED) == MPI.COMM_NULL
    assert [(e.call, e.kind, e.peer, e.nbytes) for e in trace.events] == [
        ("Send", "send", 0, 8),
        ("Irecv", "receive", 0, 8),
    ] * 4
    assert trace.events[0].line == line("real send")
    assert all(e.start <= e.end for e in trace.events)
    assert comm.Get_size() == 1  # what is not traced goes through
