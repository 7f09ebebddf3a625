"""Ring reduce-scatter: partial blocks travel round and grow by one operand per hop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import ring_neighbours


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    longest = (p - 1) * max(sizes)
    return Cost(p * (p - 1), (p - 1) * sum(sizes), alphas=p - 1, betas=longest, gammas=longest)


@algorithm(
    cost=cost,
    requires=[commutative],
    source="P. Patarasuk, X. Yuan, J. Parallel Distrib. Comput. 69, 2009, "
    "doi:10.1016/j.jpdc.2008.09.002",
    ships="Open MPI 3, NCCL Ring, Gloo, UCC ring, oneCCL ring",
)
def reduce_scatter_ring(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Send partial blocks to the right; each rank adds its own part and passes them on.

    Block j starts on rank j + 1 and, after p - 1 hops, has met every rank and rests on rank j.

    Notes
    -----
    messages : ``p * (p - 1)``
    volume : ``p * (p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``(p - 1) * n``

    With `counts`, the longest block sets the time. Scratch: two blocks. Block j is combined in
    the order j + 1, j + 2, ..., j of the ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     reduce_scatter_ring(comm, np.array([1, 10, 100]) * comm.rank, own)
    ...     return own.item()
    >>> simulate(program, 3).results
    [3, 30, 300]
    """
    rank, p = comm.rank, comm.size
    left, right = ring_neighbours(rank, p)
    blocks = split(sendbuf, counts)
    incoming, spare = (np.empty_like(sendbuf, shape=blocks.largest) for _ in range(2))
    partial = blocks[rank - 1]
    for step in range(1, p):
        own = blocks[rank - 1 - step]
        received = incoming[: own.size]
        comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)
        # Invariant: received combines the own blocks of the step ranks to the left.
        op(received, own, out=received)
        partial, incoming, spare = received, spare, incoming
    recvbuf[: partial.size] = partial
