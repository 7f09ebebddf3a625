"""Bucket all-reduce on a two-dimensional torus: rings along rows, then along columns."""

from __future__ import annotations

from dataclasses import replace

from collectives.algorithms.allgather.ring import allgather_ring
from collectives.algorithms.allgather.ring import cost as allgather_cost
from collectives.algorithms.allreduce.ring import allreduce_ring
from collectives.algorithms.allreduce.ring import cost as ring_cost
from collectives.algorithms.reduce_scatter.ring import cost as reduce_scatter_cost
from collectives.algorithms.reduce_scatter.ring import reduce_scatter_ring
from collectives.blocks import even, split
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import torus_shape


def cost(p: int, n: int) -> Cost:
    rows, columns = torus_shape(p)
    counts = even(n, columns)
    along_row = reduce_scatter_cost(columns, counts=counts) + allgather_cost(columns, counts=counts)
    total = along_row + ring_cost(rows, counts.largest)
    return replace(total, messages=2 * p * (rows + columns - 2), volume=2 * (p - 1) * n)


@algorithm(
    cost=cost,
    requires=[commutative],
    source="N. Jain, Y. Sabharwal, ICS 2010",
    ships="oneCCL 2d",
)
def allreduce_torus_2d(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Reduce-scatter along the rows, all-reduce along the columns, allgather along the rows.

    Ranks stand row by row in the grid that is nearest to a square; if p is prime, that is one
    ring. As few bytes as one ring through all ranks, in far fewer steps, and between neighbours
    on the torus only.

    Notes
    -----
    rows : ``max(d for d in range(1, p + 1) if d * d <= p and p % d == 0)``
    messages : ``2 * p * (rows + p // rows - 2)``
    volume : ``2 * (p - 1) * n``
    alphas : ``2 * (rows + p // rows - 2)``

    Where p divides n, betas are ``2 * (p - 1) / p * n`` and gammas half of that. Scratch: two
    blocks of a row.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_torus_2d(comm, np.array([1, 10, 100]) * comm.rank, total)
    ...     return total.tolist()
    >>> simulate(program, 6).results[0]
    [15, 150, 1500]
    """
    rank, p = comm.rank, comm.size
    _, columns = torus_shape(p)
    row = Subgroup(comm, range(rank // columns * columns, p)[:columns])
    column = Subgroup(comm, range(rank % columns, p, columns))
    counts = even(recvbuf.size, columns)
    own = split(recvbuf, counts)[row.rank]
    reduce_scatter_ring(row, sendbuf, own, op, counts=counts)
    # Invariant: own combines this row, and the blocks of a column are the same part of the vector.
    allreduce_ring(column, own, own, op)
    allgather_ring(row, recvbuf, recvbuf, counts=counts)
