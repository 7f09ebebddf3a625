"""Linear broadcast: the root sends to everyone in turn."""

from __future__ import annotations

from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm


def cost(p: int, n: int) -> Cost:
    return Cost(p - 1, (p - 1) * n, alphas=p - 1, betas=(p - 1) * n)


@algorithm(
    cost=cost, keeps_order=True, source="folklore", ships="Open MPI 1, libnbc 1, oneCCL direct"
)
def bcast_linear(comm: Comm, buf: Array, root: int = 0) -> None:
    """Send the vector from the root to every other rank, one after the other.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``0``

    The root does all the work. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8]) if comm.rank == 2 else np.empty(2, int)
    ...     bcast_linear(comm, vector, root=2)
    ...     return vector.tolist()
    >>> simulate(program, 3).results
    [[7, 8], [7, 8], [7, 8]]
    """
    rank, p = comm.rank, comm.size
    if rank != root:
        comm.Recv(buf, source=root)
        return
    for distance in range(1, p):
        comm.Send(buf, dest=(root + distance) % p)
