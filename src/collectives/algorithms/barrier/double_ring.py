"""Double ring barrier: a token goes round twice."""

from __future__ import annotations

import numpy as np

from collectives.comm import Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import ring_neighbours


def cost(p: int, n: int = 0) -> Cost:
    return Cost(2 * p, alphas=2 * p)


@algorithm(
    cost=cost, keeps_order=True, source="Open MPI, coll/base (doublering)", ships="Open MPI 2"
)
def barrier_double_ring(comm: Comm) -> None:
    """Pass a token round the ring from rank 0; the first lap collects, the second releases.

    Nothing is slower, but every rank has one message to handle at a time.

    Notes
    -----
    messages : ``2 * p``
    volume : ``0``
    alphas : ``2 * p``
    betas : ``0``
    gammas : ``0``

    Examples
    --------
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     barrier_double_ring(comm)
    ...     return comm.time
    >>> simulate(program, 3).results
    [6.0, 5.0, 6.0]
    """
    token, returned = np.empty(0, np.uint8), np.empty(0, np.uint8)
    left, right = ring_neighbours(comm.rank, comm.size)
    for _lap in range(2):
        # Invariant: in the second lap, whoever gets the token knows that every rank has called.
        if comm.rank == 0:
            comm.Sendrecv(token, dest=right, recvbuf=returned, source=left)
        else:
            comm.Recv(token, source=left)
            comm.Send(token, dest=right)
