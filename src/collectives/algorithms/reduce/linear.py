"""Linear reduce: the root receives every vector and combines them in rank order."""

from __future__ import annotations

import numpy as np

from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm


def cost(p: int, n: int) -> Cost:
    return Cost(p - 1, (p - 1) * n, alphas=p - 1, betas=(p - 1) * n, gammas=(p - 1) * n)


@algorithm(cost=cost, keeps_order=True, source="folklore", ships="Open MPI 1, oneCCL direct")
def reduce_linear(
    comm: Comm, sendbuf: Array, recvbuf: Array | None, op: Op = SUM, root: int = 0
) -> None:
    """Receive the vectors of ranks 0, 1, ... on the root and combine each with those before.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``(p - 1) * n``

    The root does all the work. Scratch: two vectors on the root. Operands are combined in rank
    order, from left to right.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.zeros(2, int)
    ...     reduce_linear(comm, np.array([1, 10]) * comm.rank, total, root=1)
    ...     return total.tolist()
    >>> simulate(program, 3).results
    [[0, 0], [3, 30], [0, 0]]
    """
    if recvbuf is None:
        comm.Send(sendbuf, dest=root)
        return
    partial, incoming = np.empty_like(sendbuf), np.empty_like(sendbuf)
    for source in range(comm.size):
        operand = sendbuf if source == root else incoming
        if source != root:
            comm.Recv(incoming, source=source)
        if source == 0:
            np.copyto(partial, operand)
        else:
            op(partial, operand, out=partial)
        # Invariant: partial combines ranks 0 .. source, in this order.
    np.copyto(recvbuf, partial)
