"""Exscan by shifts: every vector moves one rank to the right, then those ranks scan by shifts."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.scan.shift_doubling import cost as scan_cost
from collectives.algorithms.scan.shift_doubling import shift
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm


def cost(p: int, n: int) -> Cost:
    if p == 1:
        return Cost()
    return Cost(p - 1, (p - 1) * n, alphas=1, betas=n) + scan_cost(p - 1, n)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="W. D. Hillis, G. L. Steele, Commun. ACM 29(12), 1986, doi:10.1145/7902.7903",
)
def exscan_shift_doubling(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Hand one's own vector to the right neighbour, then scan what came, without rank 0.

    Notes
    -----
    messages : ``p - 1 + sum(max(p - 1 - 2**t, 0) for t in range(p))``
    volume : ``(p - 1 + sum(max(p - 1 - 2**t, 0) for t in range(p))) * n``
    alphas : ``(p > 1) + ceil(log2(max(p - 1, 1)))``
    betas : ``((p > 1) + ceil(log2(max(p - 1, 1)))) * n``
    gammas : ``ceil(log2(max(p - 1, 1))) * n``

    The shift is a step in which nothing is combined. Scratch: one vector. Operands are combined
    in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     before = np.zeros(2, int)
    ...     exscan_shift_doubling(comm, np.array([1, comm.rank]), before)
    ...     return before.tolist()
    >>> simulate(program, 4).results
    [[0, 0], [1, 0], [2, 1], [3, 3]]
    """
    outgoing = sendbuf.copy() if sendbuf is recvbuf else sendbuf
    incoming = np.empty_like(sendbuf)
    shift(comm, outgoing, recvbuf, distance=1)
    distance = 1
    while distance < comm.size - 1:
        # Invariant: recvbuf combines the last distance ranks before this one, or all there are.
        if shift(comm, recvbuf, incoming, distance, first=1):
            op(incoming, recvbuf, out=recvbuf)
        distance *= 2
