"""Swing allgather: recursive doubling between peers that swing left and right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.blocks import pack, pieces, split
from collectives.comm import Array, Comm
from collectives.cost import Cost, in_rounds
from collectives.registry import algorithm, power_of_two
from collectives.topology import rounds, swing_peer, swing_reach


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    return in_rounds(p, (
        [(rank, swing_peer(rank, step, p), sum(sizes[i] for i in swing_reach(rank, step + 1, p)), 0)
         for rank in range(p)]
        for step in reversed(range(rounds(p)))
    ))  # fmt: skip


@algorithm(
    cost=cost,
    requires=[power_of_two],
    keeps_order=True,
    source="D. De Sensi, T. Bonato, D. Saam, T. Hoefler, NSDI 2024, arXiv:2401.09356",
    ships="libbine",
)
def allgather_swing(
    comm: Comm, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> None:
    """Exchange all that is known with peers ..., 5, 3, 1, 1 ranks away, farthest first.

    It is the Swing reduce-scatter run backwards: on a ring or torus, the longer the messages, the
    shorter their way, and no way is longer than about a third of the ring. What a rank knows is
    then no run of blocks: it is packed for every message.

    Notes
    -----
    messages : ``p * ceil(log2(p))``
    volume : ``p * (p - 1) * n``
    alphas : ``ceil(log2(p))``
    betas : ``(p - 1) * n``
    gammas : ``0``

    Scratch: one vector, for what is sent and what is received.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(4, int)
    ...     allgather_swing(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    rank, p = comm.rank, comm.size
    blocks = split(recvbuf, counts)
    if sendbuf is not recvbuf:
        blocks[rank][:] = sendbuf
    room = np.empty_like(recvbuf)
    for step in reversed(range(rounds(p))):
        # Invariant: the blocks of all that this rank can reach in the steps after are here.
        peer = swing_peer(rank, step, p)
        known, missing = swing_reach(rank, step + 1, p), swing_reach(peer, step + 1, p)
        outgoing = pack(blocks, known, out=room)
        incoming = room[outgoing.size :]
        comm.Sendrecv(outgoing, dest=peer, recvbuf=incoming, source=peer)
        for block, piece in pieces(blocks, missing, incoming):
            block[:] = piece
