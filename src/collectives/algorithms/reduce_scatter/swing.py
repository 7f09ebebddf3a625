"""Swing reduce-scatter: recursive halving between peers that swing left and right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.blocks import pack, pieces, split
from collectives.comm import Array, Comm
from collectives.cost import Cost, in_rounds
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative, power_of_two
from collectives.topology import rounds, swing_peer, swing_reach


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    schedule = []
    for step in range(rounds(p)):
        kept = [sum(sizes[i] for i in swing_reach(rank, step + 1, p)) for rank in range(p)]
        schedule.append([(swing_peer(r, step, p), r, kept[r], kept[r]) for r in range(p)])
    return in_rounds(p, schedule)


@algorithm(
    cost=cost,
    requires=[power_of_two, commutative],
    source="D. De Sensi, T. Bonato, D. Saam, T. Hoefler, NSDI 2024, arXiv:2401.09356",
    ships="libbine",
)
def reduce_scatter_swing(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Halve the blocks to work on with peers 1, 1, 3, 5, 11, ... ranks away, left and right.

    A peer gets the blocks of all ranks that can still be reached through it. On a ring or torus,
    the longer the messages, the shorter their way; the longest is about a third of the ring.

    Notes
    -----
    messages : ``p * ceil(log2(p))``
    volume : ``p * (p - 1) * n``
    alphas : ``ceil(log2(p))``
    betas : ``(p - 1) * n``
    gammas : ``(p - 1) * n``

    What is sent is no run of blocks: it is packed for every message. Scratch: two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     reduce_scatter_swing(comm, np.array([1, 10, 100, 1000]) * comm.rank, own)
    ...     return own.item()
    >>> simulate(program, 4).results
    [6, 60, 600, 6000]
    """
    rank, p = comm.rank, comm.size
    partial = split(sendbuf.copy(), counts)
    room = np.empty_like(sendbuf)
    for step in range(rounds(p)):
        # Invariant: the blocks of all that this rank can reach from this step on combine the parts
        # of all that could reach it in the steps before.
        peer = swing_peer(rank, step, p)
        outgoing = pack(partial, swing_reach(peer, step + 1, p), out=room)
        incoming = room[outgoing.size :]
        comm.Sendrecv(outgoing, dest=peer, recvbuf=incoming, source=peer)
        for block, piece in pieces(partial, swing_reach(rank, step + 1, p), incoming):
            op(block, piece, out=block)
    own = partial[rank]
    recvbuf[: own.size] = own
