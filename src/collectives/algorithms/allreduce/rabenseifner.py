"""Rabenseifner's all-reduce: recursive halving, then recursive doubling, within a fold."""

from __future__ import annotations

from collectives.algorithms.allgather.recursive_doubling import allgather_recursive_doubling
from collectives.algorithms.allgather.recursive_doubling import cost as allgather_cost
from collectives.algorithms.allreduce.fold import cost as fold_cost
from collectives.algorithms.allreduce.fold import fold_in, fold_out
from collectives.algorithms.reduce_scatter.recursive_halving import cost as reduce_scatter_cost
from collectives.algorithms.reduce_scatter.recursive_halving import reduce_scatter_recursive_halving
from collectives.blocks import even, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import largest_power


def cost(p: int, n: int) -> Cost:
    return fold_cost(p, n) + halve_and_double_cost(largest_power(2, p), n)


def halve_and_double_cost(p: int, n: int) -> Cost:
    counts = even(n, p)
    return reduce_scatter_cost(p, counts=counts) + allgather_cost(p, counts=counts)


@algorithm(
    cost=cost,
    requires=[commutative],
    source="R. Rabenseifner, ICCS 2004, doi:10.1007/978-3-540-24685-5_1",
    ships="MPICH reduce_scatter_allgather, libnbc 3, Gloo, UCC sra_knomial, oneCCL rabenseifner",
)
def allreduce_rabenseifner(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Exchange halves, quarters, ... of the vector while combining, then the same way back.

    As few rounds as a tree and as few bytes as a ring, for a power of two ranks. Surplus ranks
    stay out: each hands its vector to a neighbour first and gets the result last, which costs
    two more messages of the whole vector.

    Notes
    -----
    messages : ``2 ** floor(log2(p)) * 2 * (floor(log2(p)) - 1) + 2 * p``
    volume : ``2 * (p - 1) * n``
    alphas : ``2 * ceil(log2(p))``

    Where P, the largest power of two up to p, divides n, betas are ``2 * (P - 1) / P * n``, gammas
    half of that, and for p > P ``2 * n`` and n more. Scratch: two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_rabenseifner(comm, np.array([1, 10, 100]) * comm.rank, total)
    ...     return total.tolist()
    >>> simulate(program, 5).results[0]
    [10, 100, 1000]
    """
    survivors = fold_in(comm, sendbuf, recvbuf, op)
    if survivors is not None:
        halve_and_double(survivors, recvbuf, op)
    fold_out(comm, recvbuf)


def halve_and_double(comm: Comm, vector: Array, op: Op) -> None:
    """All-reduce `vector` in place among a power of two ranks."""
    counts = even(vector.size, comm.size)
    own = split(vector, counts)[comm.rank]
    reduce_scatter_recursive_halving(comm, vector, own, op, counts=counts)
    # Invariant: vector holds this rank's block of the result, and only that one.
    allgather_recursive_doubling(comm, vector, vector, counts=counts)
