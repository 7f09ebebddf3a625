"""Recursive halving reduce-scatter: in every step, half of the blocks go to a peer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from collectives.algorithms.reduce_scatter.fold import folded, folded_cost
from collectives.blocks import Blocks
from collectives.comm import Array, Comm
from collectives.cost import Cost, Message
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import rounds


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    return folded_cost(sizes, lambda own: halving(own, range(len(own)), far_first))


def halving(
    sizes: Sequence[int], places: Iterable[int], peers: Callable[[int, int], Sequence[int]]
) -> Iterator[list[Message]]:
    """Yield the rounds of `halve`, for the places and peers of all ranks."""
    p, ends = len(sizes), list(enumerate(places))
    for step in range(rounds(p)):
        half = p >> (step + 1)
        kept = [sum(sizes[i // half * half :][:half]) for _, i in ends]
        yield [(peers(rank, p)[step], rank, kept[rank], kept[rank]) for rank, _ in ends]


def far_first(rank: int, p: int) -> list[int]:
    return [rank ^ (p >> step) for step in range(1, rounds(p) + 1)]


@algorithm(
    cost=cost,
    requires=[commutative],
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH recursive_halving, Open MPI 2, Gloo (legacy), UCC knomial",
)
def reduce_scatter_recursive_halving(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Exchange with peers p / 2, p / 4, ..., 1 ranks away the half of the blocks on their side.

    What a rank works on is halved in every step, until only its own block is left. Surplus ranks
    beyond a power of two stay out: each hands its vector to a neighbour first and gets its block
    last.

    Notes
    -----
    messages : ``2 ** floor(log2(p)) * (floor(log2(p)) - 2) + 2 * p``
    alphas : ``floor(log2(p)) + 2 * (ceil(log2(p)) - floor(log2(p)))``

    For p a power of two, the volume is ``p * (p - 1) * n``, and every rank sends and combines
    ``(p - 1) * n``, which is the least. Surplus ranks send ``p * n`` each, and make their
    neighbours' blocks twice as large. Scratch: two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     reduce_scatter_recursive_halving(comm, np.array([1, 10, 100]) * comm.rank, own)
    ...     return own.item()
    >>> simulate(program, 3).results
    [3, 30, 300]
    """
    folded(comm, sendbuf, recvbuf, op, counts, _among)


def _among(comm: Comm, partial: Blocks, op: Op, room: Array) -> Array:
    return halve(comm, partial, op, room, comm.rank, far_first(comm.rank, comm.size))


def halve(
    comm: Comm, partial: Blocks, op: Op, room: Array, place: int, peers: Sequence[int]
) -> Array:
    """Reduce-scatter `partial` in as many halvings as there are peers; return block `place`."""
    half = comm.size
    for peer in peers:
        half //= 2
        # Invariant: this rank works on the aligned run of 2 * half blocks around `place`.
        first = place // half * half
        kept, given = partial[first : first + half], partial[first ^ half : (first ^ half) + half]
        received = room[: kept.size]
        comm.Sendrecv(given, dest=peer, recvbuf=received, source=peer)
        if peer < comm.rank:
            op(received, kept, out=kept)
        else:
            op(kept, received, out=kept)
    return partial[place]
