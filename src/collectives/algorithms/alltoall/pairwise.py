"""Pairwise all-to-all: one block out and one block in per step."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.algorithms.alltoall.linear import blocks_apart
from collectives.algorithms.alltoall.linear import cost as cost
from collectives.blocks import Blocks
from collectives.comm import Array, Comm
from collectives.registry import algorithm
from collectives.topology import pairwise_peers


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH pairwise, Open MPI 2, UCC pairwise",
)
def alltoall_pairwise(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    *,
    sendcounts: Sequence[int] | None = None,
    recvcounts: Sequence[int] | None = None,
) -> None:
    """Exchange with one rank per step; all pairs of a step are disjoint.

    For p a power of two, both ranks of a pair exchange with each other, else each sends to a rank
    as far to the right as the one that it receives from is to the left.

    Notes
    -----
    messages : ``p * (p - 1)``
    volume : ``p * (p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``0``

    No scratch; IN_PLACE, a copy of the vector.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     incoming = np.empty(3, int)
    ...     alltoall_pairwise(comm, np.arange(3) + 10 * comm.rank, incoming)
    ...     return incoming.tolist()
    >>> simulate(program, 3).results
    [[0, 10, 20], [1, 11, 21], [2, 12, 22]]
    """
    outgoing, incoming = blocks_apart(sendbuf, recvbuf, sendcounts, recvcounts)
    exchange_pairwise(comm, range(comm.size), outgoing, incoming)


def exchange_pairwise(comm: Comm, ranks: range, outgoing: Blocks, incoming: Blocks) -> None:
    """Exchange among `ranks`: block i of outgoing is for ``ranks[i]``, of incoming from there."""
    own = ranks.index(comm.rank)
    incoming[own][:] = outgoing[own]
    for step in range(1, len(ranks)):
        to, of = pairwise_peers(own, step, len(ranks))
        comm.Sendrecv(outgoing[to], dest=ranks[to], recvbuf=incoming[of], source=ranks[of])
