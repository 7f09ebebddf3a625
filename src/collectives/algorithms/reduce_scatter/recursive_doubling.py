"""Recursive doubling reduce-scatter: partial vectors are exchanged, without what is not needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from collectives.algorithms.reduce_scatter.fold import folded, folded_cost
from collectives.blocks import Blocks, pack, pieces
from collectives.comm import Array, Comm
from collectives.cost import Cost, Message
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.topology import rounds


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    return folded_cost(counts if counts is not None else [n] * p, schedule)


def schedule(sizes: Sequence[int]) -> Iterator[list[Message]]:
    p = len(sizes)
    for distance in (1 << step for step in range(rounds(p))):
        groups = [sum(sizes[rank // distance * distance :][:distance]) for rank in range(p)]
        sent = [sum(sizes) - group for group in groups]
        yield [(rank, rank ^ distance, sent[rank], sent[rank]) for rank in range(p)]


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH recursive_doubling, Open MPI 2 (reduce_scatter_block)",
)
def reduce_scatter_recursive_doubling(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Exchange with a peer 1, 2, 4, ... ranks away all blocks but those of one's own group.

    Before the exchange at distance d, the d ranks of a group all have the combination of their
    operands. Nobody outside needs it for the blocks of the group's ranks; everything else is sent,
    far more than in recursive halving. But no block is moved, and neighbours are combined first.
    Surplus ranks beyond a power of two are folded onto a neighbour.

    Notes
    -----
    messages : ``2 ** floor(log2(p)) * (floor(log2(p)) - 2) + 2 * p``
    alphas : ``floor(log2(p)) + 2 * (ceil(log2(p)) - floor(log2(p)))``

    For p a power of two, every rank sends and combines ``(p * log2(p) - (p - 1)) * n``. Scratch:
    three vectors. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     reduce_scatter_recursive_doubling(comm, np.array([1, 10, 100]) * comm.rank, own)
    ...     return own.item()
    >>> simulate(program, 3).results
    [3, 30, 300]
    """
    folded(comm, sendbuf, recvbuf, op, counts, _among)


def _among(comm: Comm, partial: Blocks, op: Op, room: Array) -> Array:
    rank, p, distance = comm.rank, comm.size, 1
    spare = np.empty_like(room)
    while distance < p:
        # Invariant: every block but those of others in the aligned group of distance ranks around
        # this one combines the operands of that group.
        peer = rank ^ distance
        outgoing = pack(partial, _outside(rank, distance, p), out=spare)
        comm.Sendrecv(outgoing, dest=peer, recvbuf=room, source=peer)
        for block, received in pieces(partial, _outside(peer, distance, p), room):
            if peer < rank:
                op(received, block, out=block)
            else:
                op(block, received, out=block)
        distance *= 2
    return partial[rank]


def _outside(rank: int, distance: int, p: int) -> list[int]:
    first = rank // distance * distance
    return [*range(first), *range(first + distance, p)]
