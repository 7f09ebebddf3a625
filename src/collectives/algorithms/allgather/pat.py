"""PAT allgather: parallel aggregated trees, one per block, a bounded number in a message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.blocks import pack, pieces, split
from collectives.comm import Array, Comm
from collectives.cost import Cost, in_rounds
from collectives.registry import algorithm
from collectives.topology import pat_steps


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None, aggregate: int = 4) -> Cost:
    sizes = counts if counts is not None else [n] * p
    return in_rounds(p, (
        [(rank, (rank + distance) % p, sum(sizes[(rank - node) % p] for node in nodes), 0)
         for rank in range(p)]
        for distance, nodes in pat_steps(p, aggregate)
    ))  # fmt: skip


@algorithm(
    cost=cost,
    keeps_order=True,
    variants=[{"aggregate": 1}, {"aggregate": 64}],
    source="S. Jeaugey, 2025, arXiv:2506.20252",
    ships="NCCL PAT (from 2.23)",
)
def allgather_pat(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    *,
    counts: Sequence[int] | None = None,
    aggregate: int = 4,
) -> None:
    """Send every block down a binomial tree, at most `aggregate` blocks in a message.

    The trees of all blocks are the same, shifted by their owner, so that in a step all ranks send
    equally far: the farthest first, when there is little to send. Once there is as much as fits
    into a message, what is left of the trees is gone through depth first. With room for all, that
    is one message per doubling; with room for one, p - 1 messages as on a ring.

    Notes
    -----
    messages : ``p * min(sum(max(1, 2**s / aggregate) for s in range(ceil(log2(p)))), p - 1)``
    volume : ``p * (p - 1) * n``
    alphas : ``min(sum(max(1, 2**s / aggregate) for s in range(ceil(log2(p)))), p - 1)``
    betas : ``(p - 1) * n``
    gammas : ``0``

    An `aggregate` that is no power of two counts as the next lower one. Scratch: twice as many
    blocks, for what is sent and what is received.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(4, int)
    ...     allgather_pat(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    rank, p = comm.rank, comm.size
    blocks = split(recvbuf, counts)
    if sendbuf is not recvbuf:
        blocks[rank][:] = sendbuf
    room, incoming = (
        np.empty_like(recvbuf, shape=min(aggregate, p) * blocks.largest) for _ in range(2)
    )
    for distance, nodes in pat_steps(p, aggregate):
        # Invariant: this rank has, for every node below, the block whose tree has it there.
        known = [rank - node for node in nodes]
        missing = [number - distance for number in known]
        outgoing = pack(blocks, known, out=room)
        left, right = (rank - distance) % p, (rank + distance) % p
        comm.Sendrecv(outgoing, dest=right, recvbuf=incoming, source=left)
        for block, piece in pieces(blocks, missing, incoming):
            block[:] = piece
