"""Linear gather in which nobody sends before the root is ready for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.scatter.linear import cost as linear_cost
from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm


def cost(
    p: int, n: int = 0, *, root: int = 0, counts: Sequence[int] | None = None, segment: int = 1024
) -> Cost:
    once = linear_cost(p, n, root=root, counts=counts)
    return Cost(3 * (p - 1), once.volume, alphas=2 * p - 1 - (p == 1), betas=once.betas)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="Open MPI, coll/base (linear_sync)",
    ships="Open MPI 3",
    variants=[{"segment": 1}, {"segment": 3}],
)
def gather_linear_sync(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
    segment: int = 1024,
) -> None:
    """Call for each block with an empty message, and take it in two parts.

    Without the call, p - 1 ranks would all send at once and flood the root. The second part of a
    block, what is left after `segment` elements, arrives while the next rank is called.

    Notes
    -----
    messages : ``3 * (p - 1)``
    volume : ``(p - 1) * n``
    alphas : ``2 * p - 1 - (p == 1)``
    betas : ``(p - 1) * n``
    gammas : ``0``

    No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.zeros(3, int)
    ...     gather_linear_sync(comm, np.array([comm.rank * 11]), everything, root=1)
    ...     return everything.tolist()
    >>> simulate(program, 3).results[1]
    [0, 11, 22]
    """
    rank, p = comm.rank, comm.size
    if recvbuf is None:
        comm.Recv(np.empty_like(sendbuf, shape=0), source=root)
        comm.Send(sendbuf[:segment], dest=root)
        comm.Send(sendbuf[segment:], dest=root)
        return
    blocks = split(recvbuf, counts)
    if sendbuf is not recvbuf:
        blocks[rank][:] = sendbuf
    second_part = None
    for source in [(root + distance) % p for distance in range(1, p)]:
        # Invariant: of the rank before, the second part may still be on its way, and no more.
        comm.Send(recvbuf[:0], dest=source)
        comm.Recv(blocks[source][:segment], source=source)
        if second_part is not None:
            second_part.Wait()
        second_part = comm.Irecv(blocks[source][segment:], source=source)
    if second_part is not None:
        second_part.Wait()
