"""Bruck allgather: each rank collects the blocks of those to its right, a growing run of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from collectives.blocks import rotate, run_of, split
from collectives.comm import Array, Comm
from collectives.cost import Cost, in_rounds
from collectives.registry import algorithm
from collectives.topology import bruck_skips


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None, radix: int = 2) -> Cost:
    return skips_cost(counts if counts is not None else [n] * p, bruck_skips(p, radix))


def skips_cost(sizes: Sequence[int], skips: Sequence[int]) -> Cost:
    p, ring = len(sizes), [*sizes, *sizes]
    return in_rounds(p, (
        [(r, (r - skip) % p, sum(ring[r : r + after - skip]), 0) for r in range(p)]
        for skip, after in pairwise(skips)
    ))  # fmt: skip


@algorithm(
    cost=cost,
    keeps_order=True,
    variants=[{"radix": 3}, {"radix": 4}],
    source="J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, IEEE TPDS 8(11), 1997, "
    "doi:10.1109/71.642949",
    ships="MPICH brucks and k_brucks, Open MPI 2, UCC bruck",
)
def allgather_bruck(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    *,
    counts: Sequence[int] | None = None,
    radix: int = 2,
) -> None:
    """Send the run of blocks known so far to the left, and append what comes from the right.

    Runs grow by a factor of `radix` per round, with radix - 1 messages. For any p, nothing is
    sent twice: the last runs are cut to what is missing.

    Notes
    -----
    messages : ``p * sum(min(radix - 1, ceil(p / radix**t) - 1) for t in range(ceil(log2(p))))``
    volume : ``p * (p - 1) * n``
    alphas : ``sum(min(radix - 1, ceil(p / radix**t) - 1) for t in range(ceil(log2(p))))``
    betas : ``(p - 1) * n``
    gammas : ``0``

    Radix 2 takes ``ceil(log2(p))`` rounds of one message per rank. A higher radix takes fewer
    rounds, but at least as many messages: it is for ranks that can send several at once. Scratch:
    one vector, in which the own block comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(4, int)
    ...     allgather_bruck(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    collect_by_skips(comm, sendbuf, recvbuf, counts, bruck_skips(comm.size, radix))


def collect_by_skips(
    comm: Comm, sendbuf: Array, recvbuf: Array, counts: Sequence[int] | None, skips: Sequence[int]
) -> None:
    """Let runs of known blocks grow from skip to skip, from 1 to p, at most twice as long."""
    rank, p = comm.rank, comm.size
    held = np.empty_like(recvbuf)
    blocks = split(held, run_of(counts, rank, p))
    blocks[0][:] = split(recvbuf, counts)[rank] if sendbuf is recvbuf else sendbuf
    for skip, after in pairwise(skips):
        # Invariant: the blocks of ranks rank .. rank + skip - 1, round the ring, are in held.
        left, right = (rank - skip) % p, (rank + skip) % p
        comm.Sendrecv(blocks[: after - skip], dest=left, recvbuf=blocks[skip:after], source=right)
    rotate(blocks, p - rank, out=recvbuf)
