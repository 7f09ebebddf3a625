"""Ring allgather: every rank forwards the block that it received last."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import ring_neighbours


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    return Cost(p * (p - 1), (p - 1) * sum(sizes), alphas=p - 1, betas=(p - 1) * max(sizes))


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH ring, Open MPI 4, NCCL Ring, Gloo, UCC ring, oneCCL ring",
)
def allgather_ring(
    comm: Comm, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> None:
    """Send to the right the block that came from the left in the step before.

    Notes
    -----
    messages : ``p * (p - 1)``
    volume : ``p * (p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``0``

    With `counts`, the longest block sets the time. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(3, int)
    ...     allgather_ring(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 3).results
    [[0, 11, 22], [0, 11, 22], [0, 11, 22]]
    """
    rank, p = comm.rank, comm.size
    left, right = ring_neighbours(rank, p)
    blocks = split(recvbuf, counts)
    if sendbuf is not recvbuf:
        blocks[rank][:] = sendbuf
    for step in range(p - 1):
        # Invariant: blocks rank - step .. rank, counted round the ring, are here.
        missing = blocks[rank - step - 1]
        comm.Sendrecv(blocks[rank - step], dest=right, recvbuf=missing, source=left)
