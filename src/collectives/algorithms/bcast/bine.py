"""Bine broadcast: a binomial broadcast whose hops go both ways and are shorter."""

from __future__ import annotations

from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm, power_of_two
from collectives.topology import bine_children, bine_parent, rounds


def cost(p: int, n: int) -> Cost:
    return Cost(p - 1, (p - 1) * n, alphas=rounds(p), betas=rounds(p) * n)


@algorithm(
    cost=cost,
    requires=[power_of_two],
    keeps_order=True,
    source="D. De Sensi et al., SC25, doi:10.1145/3712285.3759835, arXiv:2508.17311",
    ships="libbine",
)
def bcast_bine(comm: Comm, buf: Array, root: int = 0) -> None:
    """Double the number of ranks that have the vector in every round, over short distances.

    As many rounds as the binomial tree; where that goes p/2, p/4, ... ranks far, this one goes
    about p/3, p/6, ..., to the right and to the left by turns.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    alphas : ``log2(p)``
    betas : ``log2(p) * n``
    gammas : ``0``

    The root sends ``log2(p)`` times, half of the ranks not at all. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8]) if comm.rank == 2 else np.empty(2, int)
    ...     bcast_bine(comm, vector, root=2)
    ...     return vector.tolist()
    >>> simulate(program, 4).results
    [[7, 8], [7, 8], [7, 8], [7, 8]]
    """
    rank, p = comm.rank, comm.size
    parent = bine_parent(rank, root, p)
    if parent is not None:
        comm.Recv(buf, source=parent)
    for child in bine_children(rank, root, p):
        comm.Send(buf, dest=child)
