"""Bine reduce-scatter: Swing's peers, and blocks laid out so that each message is one piece."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.reduce_scatter.recursive_halving import halve
from collectives.algorithms.reduce_scatter.swing import cost
from collectives.blocks import Counts, pack, split
from collectives.comm import Array, Comm
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative, power_of_two
from collectives.topology import bine_positions, rounds, swing_peer


@algorithm(
    cost=cost,
    requires=[power_of_two, commutative],
    source="D. De Sensi et al., SC25, arXiv:2508.17311, doi:10.1145/3712285.3759835",
    ships="libbine",
)
def reduce_scatter_bine(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Put the blocks in another order, then exchange halves of runs of them with Swing's peers.

    In the order of Bine, short for binomial negabinary, the blocks that a rank still works on are
    a run in every step, as in recursive halving, but peers are as near as in Swing.

    Notes
    -----
    messages : ``p * ceil(log2(p))``
    volume : ``p * (p - 1) * n``
    alphas : ``ceil(log2(p))``
    betas : ``(p - 1) * n``
    gammas : ``(p - 1) * n``

    Scratch: two vectors, the blocks in that order and what is received.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     reduce_scatter_bine(comm, np.array([1, 10, 100, 1000]) * comm.rank, own)
    ...     return own.item()
    >>> simulate(program, 4).results
    [6, 60, 600, 6000]
    """
    rank, p = comm.rank, comm.size
    blocks, order = split(sendbuf, counts), bine_positions(p)
    partial = pack(blocks, order, out=np.empty_like(sendbuf))
    turned = split(partial, Counts(blocks[i].size for i in order))
    peers = [swing_peer(rank, step, p) for step in range(rounds(p))]
    own = halve(comm, turned, op, np.empty_like(sendbuf), order.index(rank), peers)
    recvbuf[: own.size] = own
