"""Reduce-scatter as a reduction to rank 0 and a scatter from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.reduce.binomial import cost as reduce_cost
from collectives.algorithms.reduce.binomial import reduce_binomial
from collectives.algorithms.scatter.binomial import cost as scatter_cost
from collectives.algorithms.scatter.binomial import scatter_binomial
from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    total = sum(counts) if counts is not None else p * n
    return reduce_cost(p, total) + scatter_cost(p, n, counts=counts)


@algorithm(cost=cost, keeps_order=True, source="folklore", ships="Open MPI 1")
def reduce_scatter_reduce_scatterv(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Reduce to rank 0 along a binomial tree, then scatter the result along the same tree.

    Few rounds, but whole vectors travel in half of them, and rank 0 is in every one.

    Notes
    -----
    messages : ``2 * (p - 1)``
    alphas : ``2 * ceil(log2(p))``
    betas : ``ceil(log2(p)) * p * n + (p - 1) * n``
    gammas : ``ceil(log2(p)) * p * n``

    The reduction alone sends ``(p - 1) * p * n``. Scratch: up to three vectors. Operands are
    combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     reduce_scatter_reduce_scatterv(comm, np.array([1, 10, 100, 1000]) * comm.rank, own)
    ...     return own.item()
    >>> simulate(program, 4).results
    [6, 60, 600, 6000]
    """
    own = recvbuf[: split(sendbuf, counts)[comm.rank].size]
    total = np.empty_like(sendbuf) if comm.rank == 0 else None
    reduce_binomial(comm, sendbuf, total, op)
    scatter_binomial(comm, total, own, counts=counts)
