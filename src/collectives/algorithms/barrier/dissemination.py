"""Dissemination barrier: signals at growing distances round the ring."""

from __future__ import annotations

import numpy as np

from collectives.comm import Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import bruck_skips


def cost(p: int, n: int = 0, *, radix: int = 2) -> Cost:
    signals = len(bruck_skips(p, radix)) - 1
    return Cost(p * signals, alphas=signals)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="D. Hensgen, R. Finkel, U. Manber, Int. J. Parallel Program. 17(1), 1988, "
    "doi:10.1007/BF01379320",
    ships="MPICH k_dissemination, Open MPI 4, Gloo",
    variants=[{"radix": 3}, {"radix": 4}, {"radix": 8}],
)
def barrier_dissemination(comm: Comm, *, radix: int = 2) -> None:
    """Signal ranks 1, 2, 4, ... to the right, waiting each time for the rank as far to the left.

    Works for any p as for a power of two. With another radix k, a round has k - 1 signals, at
    distances 1, ..., k - 1, then k, 2k, ... : fewer rounds for networks that take several
    messages at a time.

    Notes
    -----
    messages : ``p * sum(min(radix - 1, ceil(p / radix**t) - 1) for t in range(ceil(log2(p))))``
    volume : ``0``
    alphas : ``sum(min(radix - 1, ceil(p / radix**t) - 1) for t in range(ceil(log2(p))))``
    betas : ``0``
    gammas : ``0``

    Radix 2 takes ``ceil(log2(p))`` steps.

    Examples
    --------
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     barrier_dissemination(comm)
    ...     return comm.time
    >>> simulate(program, 5).results
    [3.0, 3.0, 3.0, 3.0, 3.0]
    """
    rank, p = comm.rank, comm.size
    token, answer = np.empty(0, np.uint8), np.empty(0, np.uint8)
    for distance in bruck_skips(p, radix)[:-1]:
        # Invariant: the ranks to the left, up to the last power of radix before, have called.
        left, right = (rank - distance) % p, (rank + distance) % p
        comm.Sendrecv(token, dest=right, recvbuf=answer, source=left)
