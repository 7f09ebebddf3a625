"""Binomial broadcast: every rank that has the vector sends it on in every round."""

from __future__ import annotations

from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import binomial_children, binomial_parent, rounds


def cost(p: int, n: int) -> Cost:
    return Cost(p - 1, (p - 1) * n, alphas=rounds(p), betas=rounds(p) * n)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH binomial, Open MPI 6, libnbc 2, Gloo",
)
def bcast_binomial(comm: Comm, buf: Array, root: int = 0) -> None:
    """Double the number of ranks that have the vector in every round.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    alphas : ``ceil(log2(p))``
    betas : ``ceil(log2(p)) * n``
    gammas : ``0``

    The root sends ``ceil(log2(p))`` times, half of the ranks not at all. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8]) if comm.rank == 2 else np.empty(2, int)
    ...     bcast_binomial(comm, vector, root=2)
    ...     return vector.tolist()
    >>> simulate(program, 3).results
    [[7, 8], [7, 8], [7, 8]]
    """
    rank, p = comm.rank, comm.size
    parent = binomial_parent(rank, root, p)
    if parent is not None:
        comm.Recv(buf, source=parent)
    # The child with the largest subtree goes first: it has the most rounds before it.
    for child in binomial_children(rank, root, p):
        comm.Send(buf, dest=child)
