"""Recursive exchange allgather: recursive doubling in base k, with a fold for any p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from collectives.algorithms.allgather.fold import folded, folded_cost
from collectives.blocks import Blocks
from collectives.comm import Array, Comm
from collectives.cost import Cost, Message
from collectives.registry import algorithm
from collectives.topology import digit_peers


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None, radix: int = 4) -> Cost:
    radix = max(2, min(radix, p))
    sizes = counts if counts is not None else [n] * p
    return folded_cost(sizes, radix, lambda own: schedule(own, radix))


def schedule(sizes: Sequence[int], radix: int) -> Iterator[list[Message]]:
    p, distance = len(sizes), 1
    while distance < p:
        known = [sum(sizes[first : first + distance]) for first in range(0, p, distance)]
        for step in range(1, radix):
            dests = [digit_peers(rank, step, distance, radix)[0] for rank in range(p)]
            yield [(rank, dest, known[rank // distance], 0) for rank, dest in enumerate(dests)]
        distance *= radix


@algorithm(
    cost=cost,
    keeps_order=True,
    variants=[{"radix": 2}, {"radix": 3}],
    source="P. Sack, W. Gropp, PPoPP 2012",
    ships="MPICH recexch_doubling and recexch_halving, UCC knomial",
)
def allgather_recursive_exchange(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    *,
    counts: Sequence[int] | None = None,
    radix: int = 4,
) -> None:
    """Hand blocks to a power of `radix` ranks, exchange among these digit by digit, hand back.

    Surplus ranks are the first ones of runs of up to `radix` neighbours, and their blocks go to
    the last one of their run. Since runs follow each other, so do the blocks that a group of them
    knows: every message is one piece of the result.

    Notes
    -----
    k : ``max(2, min(radix, p))``
    j : ``floor(log2(p + 0.5) / log2(k))``
    messages : ``2 * p + (j * (k - 1) - 2) * k**j``
    alphas : ``j * (k - 1) + 2 * min(k - 1, p - k**j)``
    gammas : ``0``

    For p a power of k, the volume is ``p * (p - 1) * n`` and every rank sends ``(p - 1) * n``,
    which is the least. Otherwise surplus ranks get whole vectors, and where runs differ in length
    those that know less wait for longer messages. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(4, int)
    ...     allgather_recursive_exchange(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    radix = max(2, min(radix, comm.size))
    folded(comm, sendbuf, recvbuf, counts, radix, partial(exchange_digits, radix=radix))


def exchange_digits(comm: Comm, blocks: Blocks, radix: int) -> None:
    """Let a power of `radix` ranks, each with its own block, collect all of them."""
    distance = 1
    while distance < comm.size:
        # Invariant: the blocks of the aligned group of distance ranks around this one are here.
        first = comm.rank // distance * distance
        known = blocks[first : first + distance]
        for step in range(1, radix):
            dest, source = digit_peers(comm.rank, step, distance, radix)
            first = source // distance * distance
            missing = blocks[first : first + distance]
            comm.Sendrecv(known, dest=dest, recvbuf=missing, source=source)
        distance *= radix
