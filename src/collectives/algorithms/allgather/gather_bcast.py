"""Allgather as a gather to rank 0 and a broadcast from it."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.algorithms.bcast.binomial import bcast_binomial
from collectives.algorithms.bcast.binomial import cost as bcast_cost
from collectives.algorithms.gather.binomial import cost as gather_cost
from collectives.algorithms.gather.binomial import gather_binomial
from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    total = sum(counts) if counts is not None else p * n
    return gather_cost(p, n, counts=counts) + bcast_cost(p, total)


@algorithm(cost=cost, keeps_order=True, source="folklore", ships="Open MPI 1")
def allgather_gather_bcast(
    comm: Comm, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> None:
    """Gather on rank 0 along a binomial tree, then broadcast everything along the same tree.

    Few rounds, but whole vectors travel in half of them, to ranks that have a block of it already.

    Notes
    -----
    messages : ``2 * (p - 1)``
    alphas : ``2 * ceil(log2(p))``
    betas : ``(p - 1) * n + ceil(log2(p)) * p * n``
    gammas : ``0``

    The broadcast alone sends ``(p - 1) * p * n``. Scratch: the blocks of a subtree of the gather.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(4, int)
    ...     allgather_gather_bcast(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    own = split(recvbuf, counts)[comm.rank] if sendbuf is recvbuf else sendbuf
    if comm.rank == 0:
        gather_binomial(comm, sendbuf, recvbuf, counts=counts)
    else:
        gather_binomial(comm, own, None, counts=counts)
    bcast_binomial(comm, recvbuf)
