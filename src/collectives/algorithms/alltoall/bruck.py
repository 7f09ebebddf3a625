"""Bruck all-to-all: blocks travel in hops, together with others that go the same way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.blocks import Blocks, rotate, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm, equal_blocks
from collectives.topology import bruck_skips, largest_power


def cost(p: int, n: int, *, radix: int = 2) -> Cost:
    skips = bruck_skips(p, radix)[:-1]
    hops = sum(len(travellers(p, skip, radix)) for skip in skips)
    return Cost(p * len(skips), p * hops * n, alphas=len(skips), betas=hops * n)


def travellers(p: int, skip: int, radix: int) -> list[int]:
    """Return the distances below p of which `skip`, a digit with zeros behind it, is a part."""
    power = largest_power(radix, skip)
    return [distance for distance in range(p) if distance // power % radix * power == skip]


@algorithm(
    cost=cost,
    requires=[equal_blocks],
    keeps_order=True,
    source="J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, IEEE TPDS 8(11), 1997, "
    "doi:10.1109/71.642949",
    ships="MPICH brucks and k_brucks, Open MPI 3, UCC bruck",
    variants=[{"radix": 3}, {"radix": 4}, {"radix": 8}],
)
def alltoall_bruck(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    *,
    sendcounts: Sequence[int] | None = None,
    recvcounts: Sequence[int] | None = None,
    radix: int = 2,
) -> None:
    """Send each block as far as its distance says, digit by digit in base `radix`.

    The block for rank r + 5 goes 1 and then 4 to the right, along with all others that have to.
    Few messages instead of p - 1, for blocks that travel several times: good for short ones.

    Notes
    -----
    messages : ``p * sum(min(radix - 1, ceil(p / radix**t) - 1) for t in range(ceil(log2(p))))``
    volume : ``p * n * sum(v // radix**t % radix > 0 for v in range(p) for t in range(p))``
    alphas : ``sum(min(radix - 1, ceil(p / radix**t) - 1) for t in range(ceil(log2(p))))``
    betas : ``n * sum(v // radix**t % radix > 0 for v in range(p) for t in range(p))``
    gammas : ``0``

    Scratch: one vector and the blocks of one message.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     incoming = np.empty(3, int)
    ...     alltoall_bruck(comm, np.arange(3) + 10 * comm.rank, incoming)
    ...     return incoming.tolist()
    >>> simulate(program, 3).results
    [[0, 10, 20], [1, 11, 21], [2, 12, 22]]
    """
    rank, p = comm.rank, comm.size
    held, packed = np.empty_like(sendbuf), split(np.empty_like(sendbuf), sendcounts)
    rotate(split(sendbuf, sendcounts), rank, out=held)
    blocks, arrived = split(held, sendcounts), split(recvbuf, recvcounts)
    for skip in bruck_skips(p, radix)[:-1]:
        # Invariant: blocks[d] has come as far as the digits of d below that of skip say.
        moving = travellers(p, skip, radix)
        left, right = (rank - skip) % p, (rank + skip) % p
        forward(comm, blocks, moving, right, left, packed, arrived)
    for distance in range(p):
        arrived[rank - distance][:] = blocks[distance]


def forward(
    comm: Comm, blocks: Blocks, moving: Sequence[int], dest: int, source: int,
    packed: Blocks, arrived: Blocks,
) -> None:  # fmt: skip
    """Send some blocks in one message, and put those that come in, as many, in their places."""
    for place, number in enumerate(moving):
        packed[place][:] = blocks[number]
    outgoing, incoming = packed[: len(moving)], arrived[: len(moving)]
    comm.Sendrecv(outgoing, dest=dest, recvbuf=incoming, source=source)
    for place, number in enumerate(moving):
        blocks[number][:] = arrived[place]
