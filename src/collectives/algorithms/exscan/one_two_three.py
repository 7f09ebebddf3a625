"""1-2-3 doubling exscan: shifts by 1, 2, 3, 6, 12, ..., in all of which something is combined."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.scan.shift_doubling import shift
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm


def cost(p: int, n: int) -> Cost:
    skips = [skip for skip in (1, 2) if skip < p]
    skips += [skip for skip in (3 << t for t in range(p)) if skip < p - 1]
    messages, steps = sum(p - skip - (skip > 2) for skip in skips), len(skips)
    combined = steps - 1 if p < 4 else steps
    return Cost(messages, messages * n, steps, betas=steps * n, gammas=max(combined, 0) * n)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="J. L. Träff, 2025, arXiv:2507.04785",
)
def exscan_one_two_three(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Send one's own vector 1, then with what has come 2, then only what has come 3, 6, ... on.

    After the first step, own vectors would have to be combined into everything sent, or, as in
    the exscan by shifts, progress is lost. Here they are once, in the second step: what has come
    then combines 3 ranks, and doubles in every step without any more of them.

    Notes
    -----
    messages : ``p - 1 + max(p - 2, 0) + sum(max(p - 1 - 3 * 2**t, 0) for t in range(p))``
    volume : ``(p - 1 + max(p - 2, 0) + sum(max(p - 1 - 3 * 2**t, 0) for t in range(p))) * n``
    alphas : ``ceil(log2(max(p - 1, 0.75) * 4 / 3))``
    betas : ``ceil(log2(max(p - 1, 0.75) * 4 / 3)) * n``
    gammas : ``max(ceil(log2(max(p - 1, 0.75) * 4 / 3)) - (p < 4), 0) * n``

    Scratch: two vectors. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     before = np.zeros(2, int)
    ...     exscan_one_two_three(comm, np.array([1, comm.rank]), before)
    ...     return before.tolist()
    >>> simulate(program, 4).results
    [[0, 0], [1, 0], [2, 1], [3, 3]]
    """
    rank, p = comm.rank, comm.size
    outgoing, incoming = sendbuf.copy(), np.empty_like(sendbuf)
    shift(comm, outgoing, recvbuf, distance=1)
    if 0 < rank < p - 2:
        op(recvbuf, outgoing, out=outgoing)
    if shift(comm, outgoing, incoming, distance=2):
        op(incoming, recvbuf, out=recvbuf)
    skip = 3
    while skip < p - 1:
        # Invariant: recvbuf combines the last skip ranks before this one, or all there are.
        if shift(comm, recvbuf, incoming, skip, first=1):
            op(incoming, recvbuf, out=recvbuf)
        skip *= 2
