"""Circulant reduce-scatter: what is left to reduce is halved in every round, for any p."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from collectives.blocks import rotate, run_of, split
from collectives.comm import Array, Comm
from collectives.cost import Cost, in_rounds
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import halving_skips


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    ring = [*counts, *counts] if counts is not None else [n] * (2 * p)
    steps = reversed(list(pairwise(halving_skips(p))))
    return in_rounds(p, (
        [((r - skip) % p, r, sum(ring[r : r + after - skip]), sum(ring[r : r + after - skip]))
         for r in range(p)]
        for skip, after in steps
    ))  # fmt: skip


@algorithm(
    cost=cost,
    requires=[commutative],
    source="J. L. Träff, 2024, arXiv:2410.14234, doi:10.34726/10760",
)
def reduce_scatter_circulant(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Send the far half of the blocks that this rank still works on half the way round the ring.

    Counted from its own, a rank works on the blocks of those to its right: p of them first, then
    p / 2 rounded up, and so on down to its own. The others go as far as that number says, to a
    rank that works on all of them.

    Notes
    -----
    messages : ``p * ceil(log2(p))``
    volume : ``p * (p - 1) * n``
    alphas : ``ceil(log2(p))``
    betas : ``(p - 1) * n``
    gammas : ``(p - 1) * n``

    Nothing takes fewer rounds, or sends or combines less, for any p. Scratch: one and a half
    vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     reduce_scatter_circulant(comm, np.array([1, 10, 100, 1000]) * comm.rank, own)
    ...     return own.item()
    >>> simulate(program, 4).results
    [6, 60, 600, 6000]
    """
    rank, p = comm.rank, comm.size
    held = np.empty_like(sendbuf)
    rotate(split(sendbuf, counts), rank, out=held)
    partial = split(held, run_of(counts, rank, p))
    incoming = np.empty_like(partial[: p // 2])
    for skip, after in reversed(list(pairwise(halving_skips(p)))):
        # Invariant: the partial blocks of ranks rank .. rank + after - 1, round the ring, combine
        # all operands but those that still come from the left.
        kept = partial[: after - skip]
        received = incoming[: kept.size]
        left, right = (rank - skip) % p, (rank + skip) % p
        comm.Sendrecv(partial[skip:after], dest=right, recvbuf=received, source=left)
        op(received, kept, out=kept)
    own = partial[0]
    recvbuf[: own.size] = own
