"""PAT reduce-scatter: parallel aggregated trees, one per block, gone through from the leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.blocks import pack, pieces, split
from collectives.comm import Array, Comm
from collectives.cost import Cost, in_rounds
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import pat_steps


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None, aggregate: int = 4) -> Cost:
    sizes = counts if counts is not None else [n] * p
    schedule = []
    for distance, nodes in reversed(list(pat_steps(p, aggregate))):
        partial = [sum(sizes[(rank - node) % p] for node in nodes) for rank in range(p)]
        schedule.append([((r + distance) % p, r, partial[r], partial[r]) for r in range(p)])
    return in_rounds(p, schedule)


@algorithm(
    cost=cost,
    requires=[commutative],
    variants=[{"aggregate": 1}, {"aggregate": 64}],
    source="S. Jeaugey, 2025, arXiv:2506.20252",
    ships="NCCL PAT",
)
def reduce_scatter_pat(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
    aggregate: int = 4,
) -> None:
    """Reduce every block up a binomial tree to its owner, at most `aggregate` in a message.

    It is the PAT allgather run backwards: the trees of all blocks are the same, shifted by their
    owner, and a step is as long for all ranks. The longest steps come last, when there is little
    left to send.

    Notes
    -----
    messages : ``p * min(sum(max(1, 2**s / aggregate) for s in range(ceil(log2(p)))), p - 1)``
    volume : ``p * (p - 1) * n``
    alphas : ``min(sum(max(1, 2**s / aggregate) for s in range(ceil(log2(p)))), p - 1)``
    betas : ``(p - 1) * n``
    gammas : ``(p - 1) * n``

    An `aggregate` that is no power of two counts as the next lower one. Scratch: one vector, and
    twice as many blocks for what is sent and what is received.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     reduce_scatter_pat(comm, np.array([1, 10, 100, 1000]) * comm.rank, own)
    ...     return own.item()
    >>> simulate(program, 4).results
    [6, 60, 600, 6000]
    """
    rank, p = comm.rank, comm.size
    partial = split(sendbuf.copy(), counts)
    room, incoming = (
        np.empty_like(sendbuf, shape=min(aggregate, p) * partial.largest) for _ in range(2)
    )
    for distance, nodes in reversed(list(pat_steps(p, aggregate))):
        # Invariant: for every node below, the block whose tree has this rank there combines the
        # parts of the subtree that were gone through.
        kept = [rank - node for node in nodes]
        outgoing = pack(partial, [number - distance for number in kept], out=room)
        left, right = (rank - distance) % p, (rank + distance) % p
        comm.Sendrecv(outgoing, dest=left, recvbuf=incoming, source=right)
        for block, piece in pieces(partial, kept, incoming):
            op(block, piece, out=block)
    own = partial[rank]
    recvbuf[: own.size] = own
