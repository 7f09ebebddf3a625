"""Reduce-scatter and allgather digit by digit: Rabenseifner's all-reduce with another radix."""

from __future__ import annotations

from collectives.algorithms.allgather.recursive_exchange import (
    allgather_recursive_exchange,
    schedule,
)
from collectives.algorithms.allreduce.fold import cost as fold_cost
from collectives.algorithms.allreduce.fold import fold_in, fold_out
from collectives.algorithms.reduce_scatter.pairwise import reduce_scatter_pairwise
from collectives.blocks import Counts, even, split
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost, in_rounds
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import largest_power


def cost(p: int, n: int, *, radix: int = 4) -> Cost:
    radix = max(2, min(radix, p))
    survivors = largest_power(radix, p)
    back = list(schedule(even(n, survivors), radix))
    there = [[(b, a, size, size) for a, b, size, _ in messages] for messages in reversed(back)]
    return fold_cost(p, n, radix) + in_rounds(survivors, there + back)


@algorithm(
    cost=cost,
    requires=[commutative],
    variants=[{"radix": 2}, {"radix": 3}],
    source="M. Wilkins et al., CLUSTER 2023",
    ships="MPICH k_reduce_scatter_allgather, UCC sra_knomial",
)
def allreduce_k_reduce_scatter_allgather(
    comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM, *, radix: int = 4
) -> None:
    """Cut the vector into `radix` parts per step while combining, then the same way back.

    Written in base `radix`, the ranks of a group differ in one digit only; they reduce-scatter
    what they all work on. The highest digit goes first, so that the longest messages go farthest.
    As few bytes as with radix 2, in fewer steps of ``radix - 1`` messages each. Surplus ranks
    hand their vectors to a neighbour first and get the result last.

    Notes
    -----
    k : ``max(2, min(radix, p))``
    j : ``floor(log2(p + 0.5) / log2(k))``
    messages : ``2 * p + 2 * (j * (k - 1) - 1) * k**j``
    volume : ``2 * (p - 1) * n``
    alphas : ``2 * j * (k - 1) + 2 * min(k - 1, p - k**j)``

    Where K = k**j divides n, betas are ``2 * (K - 1) / K * n``, gammas half of that, and for the
    fold up to ``2 * (k - 1) * n`` and ``(k - 1) * n`` more. Scratch: up to two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_k_reduce_scatter_allgather(comm, np.array([1, 10, 100]) * comm.rank, total)
    ...     return total.tolist()
    >>> simulate(program, 5).results[0]
    [10, 100, 1000]
    """
    radix = max(2, min(radix, comm.size))
    survivors = fold_in(comm, sendbuf, recvbuf, op, radix)
    if survivors is not None:
        reduce_digits(survivors, recvbuf, op, radix)
        counts = even(recvbuf.size, survivors.size)
        allgather_recursive_exchange(survivors, recvbuf, recvbuf, counts=counts, radix=radix)
    fold_out(comm, recvbuf, radix)


def reduce_digits(comm: Comm, vector: Array, op: Op, radix: int) -> None:
    """Reduce-scatter `vector` in place among a power of `radix` ranks: own blocks stay there."""
    blocks, distance = split(vector, even(vector.size, comm.size)), comm.size // radix
    while distance:
        # Invariant: the aligned run of radix * distance blocks around this rank's combines all
        # ranks that differ from this one in higher digits only.
        first = comm.rank // (radix * distance) * radix * distance
        starts = range(first, first + radix * distance, distance)
        parts = [blocks[start : start + distance] for start in starts]
        group = Subgroup(comm, [start + comm.rank % distance for start in starts])
        whole, own = blocks[first : starts.stop], parts[group.rank]
        counts = Counts(part.size for part in parts)
        reduce_scatter_pairwise(group, whole, own, op, counts=counts)
        distance //= radix
