"""Linear scatter with all sends under way at once."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.algorithms.scatter.linear import cost as cost
from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.registry import algorithm


@algorithm(
    cost=cost, keeps_order=True, source="Open MPI, coll/base (linear_nb)", ships="Open MPI 3"
)
def scatter_linear_nonblocking(
    comm: Comm,
    sendbuf: Array | None,
    recvbuf: Array,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Start to send every rank its block, and wait for all of it afterwards.

    A rank that is late to receive holds up nobody else, and the network may take several messages
    at a time. Where the root has one port, it takes as long as one after the other.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``0``

    No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.arange(3) * 11 if comm.rank == 2 else None
    ...     own = np.empty(1, int)
    ...     scatter_linear_nonblocking(comm, vector, own, root=2)
    ...     return own.item()
    >>> simulate(program, 3).results
    [0, 11, 22]
    """
    rank, p = comm.rank, comm.size
    if sendbuf is None:
        comm.Recv(recvbuf, source=root)
        return
    blocks = split(sendbuf, counts)
    others = [(root + distance) % p for distance in range(1, p)]
    requests = [comm.Isend(blocks[other], dest=other) for other in others]
    if recvbuf is not sendbuf:
        recvbuf[:] = blocks[rank]
    for request in requests:
        request.Wait()
