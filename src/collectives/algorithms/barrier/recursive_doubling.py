"""Recursive doubling barrier: signals across the dimensions of a hypercube."""

from __future__ import annotations

import numpy as np

from collectives.comm import Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import largest_power, rounds


def cost(p: int, n: int = 0) -> Cost:
    power = largest_power(2, p)
    return Cost(power * rounds(power) + 2 * (p - power), alphas=rounds(power) + 2 * (power < p))


@algorithm(
    cost=cost,
    keeps_order=True,
    source="folklore",
    ships="MPICH sched_recursive_doubling, Open MPI 3",
)
def barrier_recursive_doubling(comm: Comm) -> None:
    """Exchange signals with ranks 1, 2, 4, ... away, each time with the whole other half.

    The largest power of two of the ranks form the hypercube. Each of the others reports to the
    rank that far below it before, and gets its answer afterwards.

    Notes
    -----
    messages : ``2 ** floor(log2(p)) * (floor(log2(p)) - 2) + 2 * p``
    volume : ``0``
    alphas : ``floor(log2(p)) + 2 * (2 ** floor(log2(p)) < p)``
    betas : ``0``
    gammas : ``0``

    Examples
    --------
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     barrier_recursive_doubling(comm)
    ...     return comm.time
    >>> simulate(program, 5).results
    [4.0, 3.0, 3.0, 3.0, 4.0]
    """
    rank, p = comm.rank, comm.size
    token, answer = np.empty(0, np.uint8), np.empty(0, np.uint8)
    power = largest_power(2, p)
    if rank >= power:
        comm.Send(token, dest=rank - power)
        comm.Recv(token, source=rank - power)
        return
    if rank + power < p:
        comm.Recv(token, source=rank + power)
    for step in range(rounds(power)):
        # Invariant: the ranks that agree with this one from bit `step` on have called.
        peer = rank ^ 1 << step
        comm.Sendrecv(token, dest=peer, recvbuf=answer, source=peer)
    if rank + power < p:
        comm.Send(token, dest=rank + power)
