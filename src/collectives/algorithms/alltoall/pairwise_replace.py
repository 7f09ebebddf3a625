"""Pairwise all-to-all in place: what arrives takes the place of what leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm, in_place


def cost(p: int, n: int) -> Cost:
    steps = p - (p < 3)
    return Cost(p * (p - 1), p * (p - 1) * n, alphas=steps, betas=steps * n)


@algorithm(
    cost=cost,
    requires=[in_place],
    keeps_order=True,
    source="MPICH, coll/alltoall (pairwise_sendrecv_replace)",
    ships="MPICH pairwise_sendrecv_replace",
)
def alltoall_pairwise_replace(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    *,
    sendcounts: Sequence[int] | None = None,
    recvcounts: Sequence[int] | None = None,
) -> None:
    """Swap one block with each other rank, through a buffer of one block.

    In step s, two ranks exchange whose numbers add up to s, counted round the ring. A rank for
    which that is itself has nothing to do in this step.

    Notes
    -----
    messages : ``p * (p - 1)``
    volume : ``p * (p - 1) * n``
    alphas : ``p - (p < 3)``
    betas : ``(p - (p < 3)) * n``
    gammas : ``0``

    Scratch: one block, where every other algorithm copies the vector.

    Examples
    --------
    >>> from collectives import IN_PLACE
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.arange(3) + 10 * comm.rank
    ...     alltoall_pairwise_replace(comm, IN_PLACE, vector)
    ...     return vector.tolist()
    >>> simulate(program, 3).results
    [[0, 10, 20], [1, 11, 21], [2, 12, 22]]
    """
    rank, p = comm.rank, comm.size
    blocks = split(recvbuf, recvcounts)
    spare = np.empty_like(recvbuf, shape=blocks.largest)
    for step in range(p):
        peer = (step - rank) % p
        if peer != rank:
            # Invariant: blocks of later steps are those that this rank brought.
            outgoing = spare[: blocks[peer].size]
            np.copyto(outgoing, blocks[peer])
            comm.Sendrecv(outgoing, dest=peer, recvbuf=blocks[peer], source=peer)
