"""Linear scan: the combination of all ranks so far travels from rank to rank."""

from __future__ import annotations

import numpy as np

from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm


def cost(p: int, n: int) -> Cost:
    volume = (p - 1) * n
    return Cost(p - 1, volume, alphas=p - 1, betas=volume, gammas=volume)


@algorithm(cost=cost, keeps_order=True, source="folklore", ships="Open MPI 1, libnbc 1")
def scan_linear(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Combine what comes from the left with one's own vector, and send it to the right.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``(p - 1) * n``

    Nothing is sent or combined in vain, but one rank works at a time. Scratch: one vector.
    Operands are combined in rank order, from left to right.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(2, int)
    ...     scan_linear(comm, np.array([1, comm.rank]), total)
    ...     return total.tolist()
    >>> simulate(program, 4).results
    [[1, 0], [2, 1], [3, 3], [4, 6]]
    """
    rank, p = comm.rank, comm.size
    if rank == 0:
        np.copyto(recvbuf, sendbuf)
    else:
        before = np.empty_like(sendbuf)
        comm.Recv(before, source=rank - 1)
        # Invariant: before combines ranks 0 .. rank - 1.
        op(before, sendbuf, out=recvbuf)
    if rank + 1 < p:
        comm.Send(recvbuf, dest=rank + 1)
