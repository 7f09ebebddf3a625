"""Scatter-allgather broadcast: scatter the vector in blocks, then collect them everywhere."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.allgather.recursive_doubling import allgather_recursive_doubling
from collectives.algorithms.allgather.recursive_doubling import cost as allgather_cost
from collectives.algorithms.scatter.binomial import cost as scatter_cost
from collectives.algorithms.scatter.binomial import scatter_binomial
from collectives.blocks import even, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm, power_of_two


def cost(p: int, n: int, *, root: int = 0) -> Cost:
    counts = even(n, p)
    return scatter_cost(p, root=root, counts=counts) + allgather_cost(p, counts=counts)


@algorithm(
    cost=cost,
    requires=[power_of_two],
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH scatter_recursive_doubling_allgather, Open MPI 8, UCC sag_knomial",
)
def bcast_scatter_allgather(comm: Comm, buf: Array, root: int = 0) -> None:
    """Give every rank a block of the vector, then let groups that double exchange theirs.

    Notes
    -----
    messages : ``p - 1 + p * log2(p)``
    alphas : ``2 * log2(p)``
    gammas : ``0``

    A long vector takes about ``2 * n * beta`` instead of the ``log2(p) * n * beta`` of a binomial
    tree. Scratch: on the root two vectors, on others what they scatter.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8]) if comm.rank == 2 else np.empty(2, int)
    ...     bcast_scatter_allgather(comm, vector, root=2)
    ...     return vector.tolist()
    >>> simulate(program, 4).results
    [[7, 8], [7, 8], [7, 8], [7, 8]]
    """
    rank, counts = comm.rank, even(buf.size, comm.size)
    # The root has everything already; what it is sent nonetheless must not touch its vector.
    result = buf if rank != root else np.empty_like(buf)
    own = split(result, counts)[rank]
    scatter_binomial(comm, buf if rank == root else None, own, root, counts=counts)
    # Invariant: this rank's block of the vector is in its place.
    allgather_recursive_doubling(comm, result, result, counts=counts)
