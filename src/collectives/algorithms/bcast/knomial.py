"""K-nomial broadcast: the binomial one to any base, with fewer and fuller rounds."""

from __future__ import annotations

from collectives.algorithms.pipeline_cost import down_cost
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import knomial_children, knomial_parent


def cost(p: int, n: int, *, radix: int = 4) -> Cost:
    return down_cost(p, [n], lambda rank: knomial_children(rank, 0, p, radix))


@algorithm(
    cost=cost,
    keeps_order=True,
    source="M. Wilkins, H. Wang, P. Liu, B. Pham, Y. Guo, R. Thakur, P. Dinda, N. Hardavellas, "
    "CLUSTER 2023, doi:10.1109/CLUSTER52292.2023.00013",
    ships="MPICH tree, Open MPI 7, libnbc 4, UCC knomial",
    variants=[{"radix": 2}, {"radix": 3}, {"radix": 16}],
)
def bcast_knomial(comm: Comm, buf: Array, root: int = 0, *, radix: int = 4) -> None:
    """Let every rank that has the vector send it to ``radix - 1`` others in every round.

    The tree is ``log(p) / log(radix)`` levels deep, so few hops follow each other; but a rank
    that can send only one message at a time needs ``radix - 1`` steps for a round. Base 2 is the
    binomial tree, base p the linear broadcast.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    gammas : ``0``

    For p = radix**k there are ``(radix - 1) * k`` steps in a row. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8]) if comm.rank == 2 else np.empty(2, int)
    ...     bcast_knomial(comm, vector, root=2, radix=3)
    ...     return vector.tolist()
    >>> run = simulate(program, 9)
    >>> run.results[1], run.time
    ([7, 8], 4.0)
    """
    rank, p = comm.rank, comm.size
    parent = knomial_parent(rank, root, p, radix)
    if parent is not None:
        comm.Recv(buf, source=parent)
    # The children with the largest subtrees go first: they have the most rounds before them.
    for child in knomial_children(rank, root, p, radix):
        comm.Send(buf, dest=child)
