"""Bine allgather: Swing's peers, and blocks laid out so that each message is one piece."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.allgather.swing import cost
from collectives.blocks import Counts, split
from collectives.comm import Array, Comm
from collectives.registry import algorithm, power_of_two
from collectives.topology import bine_positions, rounds, swing_peer


@algorithm(
    cost=cost,
    requires=[power_of_two],
    keeps_order=True,
    source="D. De Sensi et al., SC25, arXiv:2508.17311, doi:10.1145/3712285.3759835",
    ships="libbine",
)
def allgather_bine(
    comm: Comm, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> None:
    """Exchange with Swing's peers runs of blocks in another order, and put them in place at last.

    In the order of Bine, short for binomial negabinary, what a rank knows before a step is a run
    of blocks. So each block is copied once, instead of in every step.

    Notes
    -----
    messages : ``p * ceil(log2(p))``
    volume : ``p * (p - 1) * n``
    alphas : ``ceil(log2(p))``
    betas : ``(p - 1) * n``
    gammas : ``0``

    Scratch: one vector, the blocks in that order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(4, int)
    ...     allgather_bine(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    rank, p = comm.rank, comm.size
    blocks, order = split(recvbuf, counts), bine_positions(p)
    held = split(np.empty_like(recvbuf), Counts(blocks[i].size for i in order))
    place = order.index(rank)
    held[place][:] = blocks[rank] if sendbuf is recvbuf else sendbuf
    for step in reversed(range(rounds(p))):
        # Invariant: the aligned run of blocks around this rank's, p / 2**(step + 1) long, is held.
        run = p >> (step + 1)
        first = place // run * run
        theirs = first ^ run
        peer = swing_peer(rank, step, p)
        comm.Sendrecv(
            held[first : first + run], dest=peer, recvbuf=held[theirs : theirs + run], source=peer
        )
    for i, block in zip(order, held, strict=True):
        blocks[i][:] = block
