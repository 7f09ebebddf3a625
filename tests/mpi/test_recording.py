"""What a recording says on MPI is what it says simulated: the same calls with the same contents."""

import pytest
from mpi4py import MPI

from collectives.recorder import assemble, record, record_rank, subject
from collectives.registry import UnsupportedError, find

COMM = MPI.COMM_WORLD
NAMES = [
    "allreduce/ring", "allreduce/double_binary_tree", "allreduce/multi_ring", "bcast/chain",
    "alltoall/bruck", "scan/recursive_doubling", "reduce_scatter/recursive_halving",
    "gather/binomial", "neighbor_alltoall/linear", "barrier/dissemination",
]  # fmt: skip


@pytest.mark.mpi
@pytest.mark.parametrize("name", NAMES)
def test_a_recording_on_mpi_holds_what_a_simulated_one_holds(name):
    entry = find(*name.split("/"))
    what = subject(entry, COMM.size)
    try:
        part = record_rank(what, COMM)
    except UnsupportedError as refusal:
        pytest.skip(str(refusal))
    run = assemble(what, COMM.allgather(part), "MPI")
    twin = record(what, COMM.size)
    assert run.end == twin.end
    assert [contents(event) for event in run.events] == [contents(event) for event in twin.events]
    assert len(run.messages()) == len(twin.messages())
    assert run.states()[-1] == twin.states()[-1]
    assert not run.simulated
    assert all(event.start <= event.end for event in run.events)


def contents(event):
    return event.rank, event.step, event.kind, event.call, event.peer, event.nbytes, event.holds
