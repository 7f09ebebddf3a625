"""Scatter-ring-allgather broadcast: scatter the vector in blocks, then pass them round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from collectives.algorithms.allgather.ring import allgather_ring
from collectives.algorithms.allgather.ring import cost as allgather_cost
from collectives.algorithms.scatter.binomial import cost as scatter_cost
from collectives.algorithms.scatter.binomial import scatter_binomial
from collectives.blocks import even, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm


def cost(p: int, n: int, *, root: int = 0) -> Cost:
    counts = even(n, p)
    both = scatter_cost(p, root=root, counts=counts) + allgather_cost(p, counts=counts)
    # Of unequal blocks, the longest may be on its way before the last rank begins.
    return replace(both, exact=n % p == 0)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH scatter_ring_allgather, Open MPI 9",
)
def bcast_scatter_ring_allgather(comm: Comm, buf: Array, root: int = 0) -> None:
    """Give every rank a block of the vector, then send the blocks round a ring.

    Notes
    -----
    messages : ``p - 1 + p * (p - 1)``
    alphas : ``ceil(log2(p)) + p - 1``
    gammas : ``0``

    Only neighbours talk to each other after the scatter, and p may be any number; the price is a
    number of steps that grows with p. A long vector takes about ``2 * n * beta``. Scratch: on
    the root two vectors, on others what they scatter.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8]) if comm.rank == 2 else np.empty(2, int)
    ...     bcast_scatter_ring_allgather(comm, vector, root=2)
    ...     return vector.tolist()
    >>> simulate(program, 3).results
    [[7, 8], [7, 8], [7, 8]]
    """
    rank, counts = comm.rank, even(buf.size, comm.size)
    # The root has everything already; what it is sent nonetheless must not touch its vector.
    result = buf if rank != root else np.empty_like(buf)
    own = split(result, counts)[rank]
    scatter_binomial(comm, buf if rank == root else None, own, root, counts=counts)
    # Invariant: this rank's block of the vector is in its place.
    allgather_ring(comm, result, result, counts=counts)
