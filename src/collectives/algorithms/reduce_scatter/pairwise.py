"""Pairwise reduce-scatter: every rank sends every block straight to its owner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.reduce_scatter.ring import cost
from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative


@algorithm(
    cost=cost,
    requires=[commutative],
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH pairwise",
)
def reduce_scatter_pairwise(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Send the block of the rank i to the right, and combine one from the rank i to the left.

    As many steps as on a ring, but to another peer in each, and nothing waits for what came
    before: only blocks of the input are sent.

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
    ...     reduce_scatter_pairwise(comm, np.array([1, 10, 100, 1000]) * comm.rank, own)
    ...     return own.item()
    >>> simulate(program, 4).results
    [6, 60, 600, 6000]
    """
    rank, p = comm.rank, comm.size
    blocks = split(sendbuf, counts)
    partial = blocks[rank].copy()
    incoming = np.empty_like(partial)
    for distance in range(1, p):
        dest, source = (rank + distance) % p, (rank - distance) % p
        comm.Sendrecv(blocks[dest], dest=dest, recvbuf=incoming, source=source)
        # Invariant: partial then combines block rank of this rank and of distance to its left.
        op(incoming, partial, out=partial)
    recvbuf[: partial.size] = partial
