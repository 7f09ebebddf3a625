"""Butterfly reduce-scatter: recursive halving that combines neighbours first, to keep order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.reduce_scatter.fold import folded, folded_cost
from collectives.algorithms.reduce_scatter.recursive_halving import halve, halving
from collectives.blocks import Blocks, Counts, pack, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.topology import mirrored, rounds


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    return folded_cost(
        sizes,
        lambda own: halving([own[i] for i in mirrored(len(own))], mirrored(len(own)), near_first),
    )


def near_first(rank: int, p: int) -> list[int]:
    return [rank ^ (1 << step) for step in range(rounds(p))]


@algorithm(
    cost=cost,
    keeps_order=True,
    source="J. L. Träff, EuroPVM/MPI 2005, doi:10.1007/11557265_20",
    ships="MPICH noncommutative, Open MPI 4",
)
def reduce_scatter_butterfly(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Put blocks in bit-reversed order, then exchange halves with peers 1, 2, 4, ... ranks away.

    Recursive halving combines the farthest ranks first, which mixes up operands. Here the
    distance doubles while the blocks halve, so that always neighbouring runs of ranks are
    combined. A rank's low bits then choose the half it keeps: a block must lie where its number,
    bits reversed, says. Surplus ranks beyond a power of two are folded onto a neighbour.

    Notes
    -----
    messages : ``2 ** floor(log2(p)) * (floor(log2(p)) - 2) + 2 * p``
    alphas : ``floor(log2(p)) + 2 * (ceil(log2(p)) - floor(log2(p)))``

    Volume and time as of recursive halving, where block sizes are equal and p a power of two.
    Scratch: three vectors. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     reduce_scatter_butterfly(comm, np.array([1, 10, 100]) * comm.rank, own)
    ...     return own.item()
    >>> simulate(program, 3).results
    [3, 30, 300]
    """
    folded(comm, sendbuf, recvbuf, op, counts, _among)


def _among(comm: Comm, partial: Blocks, op: Op, room: Array) -> Array:
    order = mirrored(comm.size)
    turned = pack(partial, order, out=np.empty_like(partial.array))
    blocks = split(turned, Counts(partial[i].size for i in order))
    return halve(comm, blocks, op, room, order[comm.rank], near_first(comm.rank, comm.size))
