"""Circulant all-reduce: a circulant reduce-scatter, then a circulant allgather."""

from __future__ import annotations

from collectives.algorithms.allgather.circulant import allgather_circulant
from collectives.algorithms.allgather.circulant import cost as allgather_cost
from collectives.algorithms.reduce_scatter.circulant import cost as reduce_scatter_cost
from collectives.algorithms.reduce_scatter.circulant import reduce_scatter_circulant
from collectives.blocks import even, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative


def cost(p: int, n: int) -> Cost:
    counts = even(n, p)
    return reduce_scatter_cost(p, counts=counts) + allgather_cost(p, counts=counts)


@algorithm(
    cost=cost,
    requires=[commutative],
    source="J. L. Träff, 2024, arXiv:2410.14234, doi:10.34726/10760",
)
def allreduce_circulant(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Halve what is left to reduce in every round, then double what is known in every round.

    The distances, p / 2 rounded up, half of that rounded up, ..., 1, are those of the second phase
    backwards. As few rounds and bytes as Rabenseifner's algorithm has where p is a power of two,
    for every p and without a fold.

    Notes
    -----
    messages : ``2 * p * ceil(log2(p))``
    volume : ``2 * (p - 1) * n``
    alphas : ``2 * ceil(log2(p))``

    Where p divides n, betas are ``2 * (p - 1) / p * n`` and gammas ``(p - 1) / p * n``: nothing
    sends or combines less, in fewer rounds. Scratch: one and a half vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_circulant(comm, np.array([1, 10, 100]) * comm.rank, total)
    ...     return total.tolist()
    >>> simulate(program, 5).results[0]
    [10, 100, 1000]
    """
    counts = even(recvbuf.size, comm.size)
    own = split(recvbuf, counts)[comm.rank]
    reduce_scatter_circulant(comm, sendbuf, own, op, counts=counts)
    # Invariant: recvbuf holds this rank's block of the result, and only that one.
    allgather_circulant(comm, recvbuf, recvbuf, counts=counts)
