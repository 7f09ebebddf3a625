"""Linear barrier: everyone reports to rank 0, which answers everyone."""

from __future__ import annotations

import numpy as np

from collectives.comm import Comm
from collectives.cost import Cost
from collectives.registry import algorithm


def cost(p: int, n: int = 0) -> Cost:
    return Cost(2 * (p - 1), alphas=2 * (p - 1))


@algorithm(cost=cost, keeps_order=True, source="folklore", ships="Open MPI 1, Gloo (legacy)")
def barrier_linear(comm: Comm) -> None:
    """Collect an empty message from every rank on rank 0, then send one to each.

    Notes
    -----
    messages : ``2 * (p - 1)``
    volume : ``0``
    alphas : ``2 * (p - 1)``
    betas : ``0``
    gammas : ``0``

    Rank 0 handles every message itself, one at a time.

    Examples
    --------
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     barrier_linear(comm)
    ...     return comm.time
    >>> simulate(program, 4).results
    [6.0, 4.0, 5.0, 6.0]
    """
    token = np.empty(0, np.uint8)
    if comm.rank != 0:
        comm.Send(token, dest=0)
        comm.Recv(token, source=0)
        return
    for source in range(1, comm.size):
        comm.Recv(token, source=source)
    # Invariant: every rank has called, and only rank 0 knows.
    for dest in range(1, comm.size):
        comm.Send(token, dest=dest)
