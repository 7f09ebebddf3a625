"""Bine all-reduce: recursive halving and doubling in negabinary order."""

from __future__ import annotations

from collectives.algorithms.allgather.bine import allgather_bine
from collectives.algorithms.allreduce.swing import cost
from collectives.algorithms.reduce_scatter.bine import reduce_scatter_bine
from collectives.blocks import even, split
from collectives.comm import Array, Comm
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative, power_of_two


@algorithm(
    cost=cost,
    requires=[power_of_two, commutative],
    source="D. De Sensi et al., SC25, arXiv:2508.17311, doi:10.1145/3712285.3759835",
    ships="libbine",
)
def allreduce_bine(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Halve and then double runs of blocks with the peers of Swing, nearest first.

    As the Swing all-reduce, but blocks are put in an order in which every rank sends one run of
    them: nothing is packed for a message.

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
    ...     allreduce_bine(comm, np.array([1, 10, 100]) * comm.rank, total)
    ...     return total.tolist()
    >>> simulate(program, 4).results[0]
    [6, 60, 600]
    """
    counts = even(recvbuf.size, comm.size)
    own = split(recvbuf, counts)[comm.rank]
    reduce_scatter_bine(comm, sendbuf, own, op, counts=counts)
    # Invariant: recvbuf holds this rank's block of the result, and only that one.
    allgather_bine(comm, recvbuf, recvbuf, counts=counts)
