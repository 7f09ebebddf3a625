"""Throttled all-to-all: everyone exchanges with a few ranks at a time."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.algorithms.alltoall.linear import blocks_apart, exchange
from collectives.algorithms.alltoall.linear import cost as linear_cost
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm


def cost(p: int, n: int, *, limit: int = 32) -> Cost:
    return linear_cost(p, n)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="MPICH, coll/alltoall (scattered)",
    ships="MPICH scattered, Open MPI 4",
    variants=[{"limit": 1}, {"limit": 2}, {"limit": 3}],
)
def alltoall_throttled(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    *,
    sendcounts: Sequence[int] | None = None,
    recvcounts: Sequence[int] | None = None,
    limit: int = 32,
) -> None:
    """Exchange with the next `limit` ranks on each side, then with those behind them.

    Keeps the number of messages under way bounded: the linear exchange floods networks and
    matching queues with p of them per rank. Limit 1 is the pairwise exchange.

    Notes
    -----
    messages : ``p * (p - 1)``
    volume : ``p * (p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``0``

    In ``ceil((p - 1) / limit)`` batches. No scratch; IN_PLACE, a copy of the vector.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     incoming = np.empty(3, int)
    ...     alltoall_throttled(comm, np.arange(3) + 10 * comm.rank, incoming)
    ...     return incoming.tolist()
    >>> simulate(program, 3).results
    [[0, 10, 20], [1, 11, 21], [2, 12, 22]]
    """
    rank, p = comm.rank, comm.size
    outgoing, incoming = blocks_apart(sendbuf, recvbuf, sendcounts, recvcounts)
    incoming[rank][:] = outgoing[rank]
    for nearest in range(1, p, limit):
        # Invariant: blocks from and for ranks nearer than this are where they belong.
        exchange(comm, outgoing, incoming, range(nearest, min(nearest + limit, p)))
