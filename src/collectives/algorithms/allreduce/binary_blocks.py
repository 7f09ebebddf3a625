"""Binary blocks all-reduce: Rabenseifner's on runs of 2**i ranks, joined by messages of pieces."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from collectives.algorithms.allgather.recursive_doubling import allgather_recursive_doubling
from collectives.algorithms.reduce_scatter.recursive_halving import (
    far_first,
    halving,
    reduce_scatter_recursive_halving,
)
from collectives.blocks import Counts, even, split
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost, in_rounds
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import binary_blocks, largest_power


def cost(p: int, n: int) -> Cost:
    runs = binary_blocks(p)
    there = [
        [(run[a], run[b], size) for a, b, size, _ in messages]
        for run in runs
        for messages in halving(parts(n, p, len(run)), range(len(run)), far_first)
    ]
    for longer, run in reversed(list(pairwise(runs))):
        ratio, sizes = len(longer) // len(run), parts(n, p, len(longer))
        for i in range(ratio):
            pieces = range(i, len(longer), ratio)
            there.append([(run[j // ratio], longer[j], sizes[j]) for j in pieces])
    combining = [[(a, b, size, size) for a, b, size in messages] for messages in there]
    back = [[(b, a, size, 0) for a, b, size in messages] for messages in reversed(there)]
    return in_rounds(p, combining + back)


def parts(n: int, p: int, blocks: int) -> Counts:
    """Return the sizes of the blocks of a run; each is a number of blocks of the longest run."""
    finest = even(n, largest_power(2, p))
    starts = [finest.start(i * len(finest) // blocks) for i in range(blocks + 1)]
    return Counts(stop - start for start, stop in pairwise(starts))


@algorithm(
    cost=cost,
    requires=[commutative],
    source="R. Rabenseifner, J. L. Träff, EuroPVM/MPI 2004, LNCS 3241",
    ships="Gloo halving_doubling (legacy)",
)
def allreduce_binary_blocks(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Reduce-scatter on runs of ranks, pass pieces up to the next longer run and results down.

    p is a sum of powers of two, such as 8 + 4 + 1: on each of these runs of ranks, recursive
    halving leaves a block on every rank. Blocks of shorter runs are longer: each is handed, in
    pieces, to the ranks of the next longer run that work on it, and comes back complete. Nobody
    stays out as in a fold; but from a much shorter run, many pieces go one after the other.

    Notes
    -----
    messages : ``sum(2 * i * 2**i for i in range(32) if p >> i & 1) + 2 * (p - (p & -p))``
    volume : ``2 * (p - 1) * n``

    For p a power of two, this is the Rabenseifner all-reduce. Scratch: two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_binary_blocks(comm, np.array([1, 10, 100]) * comm.rank, total)
    ...     return total.tolist()
    >>> simulate(program, 7).results[0]
    [21, 210, 2100]
    """
    n, runs = recvbuf.size, binary_blocks(comm.size)
    here = next(i for i, run in enumerate(runs) if comm.rank in run)
    group = Subgroup(comm, runs[here])
    counts = parts(n, comm.size, group.size)
    own = split(recvbuf, counts)[group.rank]
    reduce_scatter_recursive_halving(group, sendbuf, own, op, counts=counts)
    shorter = [run[group.rank * len(run) // group.size] for run in runs[here + 1 : here + 2]]
    for peer in shorter:
        incoming = np.empty_like(own)
        comm.Recv(incoming, source=peer)
        op(own, incoming, out=own)
    for run in runs[:here][-1:]:  # the next longer one
        ratio, pieces = len(run) // group.size, split(recvbuf, parts(n, comm.size, len(run)))
        ends = [(run[i], pieces[i]) for i in range(group.rank * ratio, (group.rank + 1) * ratio)]
        for peer, piece in ends:
            comm.Send(piece, dest=peer)
        for peer, piece in reversed(ends):
            comm.Recv(piece, source=peer)
    for peer in shorter:
        comm.Send(own, dest=peer)
    # Invariant: own is complete, on every rank of every run.
    allgather_recursive_doubling(group, recvbuf, recvbuf, counts=counts)
