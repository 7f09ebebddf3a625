"""Linear scatter: the root sends everyone its block in turn."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm


def cost(p: int, n: int = 0, *, root: int = 0, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    away = sum(sizes) - sizes[root]
    return Cost(p - 1, away, alphas=p - 1, betas=away)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="folklore",
    ships="MPICH linear (scatterv), Open MPI 1, NCCL, Gloo, UCC linear (scatterv)",
)
def scatter_linear(
    comm: Comm,
    sendbuf: Array | None,
    recvbuf: Array,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Send every rank its block from the root, one after the other.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``0``

    No block travels twice, but the root sends every message itself. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     scatter_linear(comm, np.arange(3) * 11 if comm.rank == 2 else None, own, root=2)
    ...     return own.item()
    >>> simulate(program, 3).results
    [0, 11, 22]
    """
    rank, p = comm.rank, comm.size
    if sendbuf is None:
        comm.Recv(recvbuf, source=root)
        return
    blocks = split(sendbuf, counts)
    for distance in range(1, p):
        comm.Send(blocks[root + distance], dest=(root + distance) % p)
    if recvbuf is not sendbuf:
        recvbuf[:] = blocks[rank]
