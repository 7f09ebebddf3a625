"""Algorithms send on a duplicate of their own: the caller's messages and theirs never meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from collectives import UnsupportedError, allreduce_ring
from collectives.comm import Array, is_private, private
from collectives.oracle.buffers import Buffers
from collectives.oracle.differences import difference
from collectives.oracle.forms import FORMS
from collectives.oracle.grids import one_per_size
from collectives.oracle.payloads import UINT64, exact
from collectives.registry import Algorithm, algorithms, commutative, mpi

pytestmark = pytest.mark.mpi

ENTRIES = [entry for entry in algorithms() if not FORMS[entry.collective].on_grid]
each = pytest.mark.parametrize("entry", ENTRIES, ids=str)


def run(entry: Algorithm, comm: Any) -> list[str]:
    """Run `entry` once, where it can, and return what is wrong with the result."""
    (case,) = one_per_size(entry.collective, [comm.size])
    inputs = exact(case, UINT64)
    try:
        got = Buffers(case, comm.rank, inputs[comm.rank]).run(entry.function, comm)
    except UnsupportedError:
        return []
    wrong = difference(case, comm.rank, got, case.expected(inputs)[comm.rank])
    return [f"{entry} {case}: {wrong}"] if wrong else []


# ------------------------------------------------------------------ the caller's own messages


def message(source: int, dest: int, tag: int) -> Array:
    return np.array([source, dest, tag], np.uint64)


def misdelivered(got: Array, wanted: Array) -> list[str]:
    if np.array_equal(got, wanted):
        return []
    return [f"(source, dest, tag) {wanted.tolist()} of the caller arrived as {got.tolist()}"]


@each
def test_the_callers_messages(entry: Algorithm, world: Any, agree: Any) -> None:
    """All of them arrive, where they shall, and so do those of the algorithm."""
    found = messages_on_their_way(entry, world) + receives_that_wait(entry, world)
    world.Barrier()
    for name, comm in {"comm": world, "its duplicate": private(world)}.items():
        found += [f"{entry} leaves a message on {name}"] * comm.Iprobe()
    agree(found)


def messages_on_their_way(entry: Algorithm, comm: Any) -> list[str]:
    """Send before the call, receive after it, with all kinds of tags."""
    from mpi4py import MPI

    tags = (0, 1, 4711, MPI.COMM_WORLD.Get_attr(MPI.TAG_UB))
    others = [(peer, tag) for peer in range(comm.size) if peer != comm.rank for tag in tags]
    requests = [
        comm.Isend(message(comm.rank, peer, tag), dest=peer, tag=tag) for peer, tag in others
    ]
    found = run(entry, comm)
    for peer, tag in others:
        got = np.zeros(3, np.uint64)
        comm.Recv(got, source=peer, tag=tag)
        found += misdelivered(got, message(peer, comm.rank, tag))
    MPI.Request.Waitall(requests)
    return found


def receives_that_wait(entry: Algorithm, comm: Any) -> list[str]:
    """Start to receive, from certain ranks and from any, before the call; send after it."""
    from mpi4py import MPI

    others = [rank for rank in range(comm.size) if rank != comm.rank]
    certain = {peer: np.zeros(3, np.uint64) for peer in others}
    anything = [np.zeros(3, np.uint64) for _ in others]
    requests = [comm.Irecv(buffer, source=peer, tag=0) for peer, buffer in certain.items()]
    requests += [comm.Irecv(buffer, MPI.ANY_SOURCE, MPI.ANY_TAG) for buffer in anything]
    found = run(entry, comm)
    for tag in (0, 5):
        requests += [
            comm.Isend(message(comm.rank, peer, tag), dest=peer, tag=tag) for peer in others
        ]
    MPI.Request.Waitall(requests)
    for peer, buffer in certain.items():
        found += misdelivered(buffer, message(peer, comm.rank, 0))
    for peer, buffer in zip(others, sorted(anything, key=lambda x: x.tolist()), strict=True):
        found += misdelivered(buffer, message(peer, comm.rank, 5))
    return found


def test_communicators_in_turn(world: Any, agree: Any) -> None:
    """Ranks of one half are a call ahead of the other when both meet in all of them."""
    half = world.Split(color=world.rank % 2)
    agree(
        fault
        for entry in ENTRIES
        for comm in [half] * (1 + world.rank % 2) + [world, half]
        for fault in run(entry, comm)
    )
    half.Free()


# ------------------------------------------------------------------------------ the duplicate


def test_one_duplicate_for_each_communicator(world: Any) -> None:
    from mpi4py import MPI

    class Counting(MPI.Intracomm):
        duplicates = 0

        def Dup(self, info: Any = None) -> Any:
            self.duplicates += 1
            return super().Dup(info)

    comm = Counting(world.Dup())
    found = [fault for _ in range(2) for entry in ENTRIES for fault in run(entry, comm)]
    duplicate = private(comm)

    assert not found
    assert comm.duplicates == 1
    assert is_private(duplicate)
    assert not is_private(comm)
    assert private(duplicate) is duplicate
    assert private(MPI.Intracomm(comm)) is duplicate  # cached on what MPI has, not on the object
    assert MPI.Comm.Compare(comm, duplicate) == MPI.CONGRUENT
    assert private(world) is not duplicate
    comm.Free()
    assert duplicate == MPI.COMM_NULL


def test_communicators_do_not_run_out(world: Any) -> None:
    """MPICH has about 2,000 at a time: duplicates go with the communicators that they are of."""
    from mpi4py import MPI

    ones, total = np.ones(3, np.uint64), np.ones(3, np.uint64)
    for _ in range(2500 if world.rank == 0 else 0):
        comm = MPI.COMM_SELF.Dup()
        allreduce_ring(comm, ones, total)
        comm.Free()
    assert np.array_equal(total, ones)


@pytest.mark.mpi(min_size=2)
def test_inter_communicators_are_refused(world: Any, agree: Any) -> None:
    half = world.Split(color=world.rank % 2)
    inter = half.Create_intercomm(0, world, 1 - world.rank % 2)
    found = []
    for entry in ENTRIES:
        said = "nothing"
        try:
            run(entry, inter)
        except ValueError as error:
            said = str(error)
        if {*entry.requires} <= {commutative, mpi} and "an inter-communicator, wants" not in said:
            found.append(f"{entry} says {said}, wants 'comm is an inter-communicator, ...'")
    inter.Free()
    half.Free()
    agree(found)
