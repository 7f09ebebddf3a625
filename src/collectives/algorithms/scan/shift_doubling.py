"""Scan by shifts: what a rank has combined goes 1, 2, 4, ... ranks to the right."""

from __future__ import annotations

import numpy as np

from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.topology import rounds


def cost(p: int, n: int) -> Cost:
    steps = rounds(p)
    messages = p * steps - (1 << steps) + 1
    return Cost(messages, messages * n, alphas=steps, betas=steps * n, gammas=steps * n)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="W. D. Hillis, G. L. Steele, Commun. ACM 29(12), 1986, doi:10.1145/7902.7903",
)
def scan_shift_doubling(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Double the number of ranks combined by what comes from as many ranks to the left.

    In every step all but the first ranks combine a run of ranks that ends with themselves with the
    run before it. Half as much is combined as in recursive doubling on the busiest rank, and only
    one partial result kept.

    Notes
    -----
    messages : ``p * ceil(log2(p)) - 2 ** ceil(log2(p)) + 1``
    volume : ``(p * ceil(log2(p)) - 2 ** ceil(log2(p)) + 1) * n``
    alphas : ``ceil(log2(p))``
    betas : ``ceil(log2(p)) * n``
    gammas : ``ceil(log2(p)) * n``

    Scratch: one vector. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(2, int)
    ...     scan_shift_doubling(comm, np.array([1, comm.rank]), total)
    ...     return total.tolist()
    >>> simulate(program, 4).results
    [[1, 0], [2, 1], [3, 3], [4, 6]]
    """
    incoming = np.empty_like(sendbuf)
    np.copyto(recvbuf, sendbuf)
    distance = 1
    while distance < comm.size:
        # Invariant: recvbuf combines the last distance ranks up to this one, or all there are.
        if shift(comm, recvbuf, incoming, distance):
            op(incoming, recvbuf, out=recvbuf)
        distance *= 2


def shift(comm: Comm, outgoing: Array, incoming: Array, distance: int, first: int = 0) -> bool:
    """Send to the right, among the ranks from `first` on; tell whether anything has come.

    Examples
    --------
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     return shift(comm, np.zeros(1), np.empty(1), distance=2, first=1)
    >>> simulate(program, 5).results
    [False, False, False, True, True]
    """
    rank = comm.rank
    source, dest = rank - distance, rank + distance
    comes, goes = source >= first, rank >= first and dest < comm.size
    if comes and goes:
        comm.Sendrecv(outgoing, dest=dest, recvbuf=incoming, source=source)
    elif comes:
        comm.Recv(incoming, source=source)
    elif goes:
        comm.Send(outgoing, dest=dest)
    return comes
