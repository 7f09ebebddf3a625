"""Linear exscan: the combination of all ranks so far travels from rank to rank."""

from __future__ import annotations

from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm


def cost(p: int, n: int) -> Cost:
    volume = (p - 1) * n
    return Cost(p - 1, volume, alphas=p - 1, betas=volume, gammas=max(p - 2, 0) * n)


@algorithm(cost=cost, keeps_order=True, source="folklore", ships="Open MPI 1, libnbc 1")
def exscan_linear(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Keep what comes from the left, and send it to the right combined with one's own vector.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``max(p - 2, 0) * n``

    Nothing is sent or combined in vain, but one rank works at a time. Scratch: one vector.
    Operands are combined in rank order, from left to right.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     before = np.zeros(2, int)
    ...     exscan_linear(comm, np.array([1, comm.rank]), before)
    ...     return before.tolist()
    >>> simulate(program, 4).results
    [[0, 0], [1, 0], [2, 1], [3, 3]]
    """
    rank, p = comm.rank, comm.size
    partial = sendbuf.copy()
    if rank > 0:
        comm.Recv(recvbuf, source=rank - 1)
        # Invariant: recvbuf combines ranks 0 .. rank - 1.
    if 0 < rank < p - 1:
        op(recvbuf, partial, out=partial)
    if rank < p - 1:
        comm.Send(partial, dest=rank + 1)
