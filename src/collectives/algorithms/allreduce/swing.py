"""Swing all-reduce: recursive halving and doubling between peers left and right."""

from __future__ import annotations

from collectives.algorithms.allgather.swing import allgather_swing
from collectives.algorithms.allgather.swing import cost as allgather_cost
from collectives.algorithms.reduce_scatter.swing import cost as reduce_scatter_cost
from collectives.algorithms.reduce_scatter.swing import reduce_scatter_swing
from collectives.blocks import even, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative, power_of_two


def cost(p: int, n: int) -> Cost:
    counts = even(n, p)
    return reduce_scatter_cost(p, counts=counts) + allgather_cost(p, counts=counts)


@algorithm(
    cost=cost,
    requires=[power_of_two, commutative],
    source="D. De Sensi, T. Bonato, D. Saam, T. Hoefler, NSDI 2024, arXiv:2401.09356",
)
def allreduce_swing(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Halve and then double blocks with peers 1, 1, 3, 5, 11, ... ranks away, left and right.

    Rounds and bytes are Rabenseifner's; the ways are shorter. On a torus, where messages that pass
    through the same link slow each other down, that is what counts.

    Notes
    -----
    messages : ``2 * p * ceil(log2(p))``
    volume : ``2 * (p - 1) * n``
    alphas : ``2 * ceil(log2(p))``

    Where p divides n, betas are ``2 * (p - 1) / p * n`` and gammas ``(p - 1) / p * n``. Scratch:
    two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_swing(comm, np.array([1, 10, 100]) * comm.rank, total)
    ...     return total.tolist()
    >>> simulate(program, 4).results[0]
    [6, 60, 600]
    """
    counts = even(recvbuf.size, comm.size)
    own = split(recvbuf, counts)[comm.rank]
    reduce_scatter_swing(comm, sendbuf, own, op, counts=counts)
    # Invariant: recvbuf holds this rank's block of the result, and only that one.
    allgather_swing(comm, recvbuf, recvbuf, counts=counts)
