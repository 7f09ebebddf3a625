"""Linear gather: the root receives everyone's block in turn."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.algorithms.scatter.linear import cost as cost
from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.registry import algorithm


@algorithm(
    cost=cost,
    keeps_order=True,
    source="folklore",
    ships="MPICH linear (gatherv), Open MPI 1, NCCL, Gloo, UCC linear (gatherv)",
)
def gather_linear(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Receive the blocks of all ranks on the root, one after the other.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``0``

    No block travels twice, but the root receives every message itself. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.zeros(3, int)
    ...     gather_linear(comm, np.array([comm.rank * 11]), everything, root=1)
    ...     return everything.tolist()
    >>> simulate(program, 3).results[1]
    [0, 11, 22]
    """
    rank, p = comm.rank, comm.size
    if recvbuf is None:
        comm.Send(sendbuf, dest=root)
        return
    blocks = split(recvbuf, counts)
    if sendbuf is not recvbuf:
        blocks[rank][:] = sendbuf
    for distance in range(1, p):
        comm.Recv(blocks[root + distance], source=(root + distance) % p)
