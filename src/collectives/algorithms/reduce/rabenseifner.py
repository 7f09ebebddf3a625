"""Rabenseifner's reduce: recursive halving, then a binomial gather of the pieces, after a fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from collectives.algorithms.allreduce.fold import fold_in
from collectives.algorithms.gather.binomial import gather_binomial
from collectives.algorithms.reduce_scatter.recursive_halving import (
    far_first,
    halving,
    reduce_scatter_recursive_halving,
)
from collectives.blocks import even, split
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost, Message, in_rounds
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import fold_runs


def cost(p: int, n: int) -> Cost:
    return in_rounds(p, _rounds(p, n))


def _rounds(p: int, n: int) -> Iterator[Sequence[Message]]:
    """Yield the messages of every round, with the ranks in the order in which they are folded."""
    runs = fold_runs(p)
    yield [(run[0], run[-1], n, n) for run in runs if len(run) > 1]
    last, counts = [run[-1] for run in reversed(runs)], even(n, len(runs))
    rounds = list(halving(counts, range(len(runs)), far_first))
    for step in range(len(rounds)):
        tops = range(1 << step, len(runs), 2 << step)
        rounds.append([(top, top ^ 1 << step, sum(counts[top:][: 1 << step]), 0) for top in tops])
    for messages in rounds:
        yield [(last[a], last[b], sent, combined) for a, b, sent, combined in messages]


@algorithm(
    cost=cost,
    requires=[commutative],
    source="R. Rabenseifner, ICCS 2004, doi:10.1007/978-3-540-24685-5_1",
    ships="MPICH reduce_scatter_gather, Open MPI 7, libnbc 3, UCC srg, oneCCL rabenseifner",
)
def reduce_rabenseifner(
    comm: Comm, sendbuf: Array, recvbuf: Array | None, op: Op = SUM, root: int = 0
) -> None:
    """Exchange halves, quarters, ... of the vector while combining, then collect the pieces.

    As few rounds as two trees, but all ranks combine, and no whole vector travels, for a power of
    two ranks. Surplus ranks hand their vectors to a neighbour first and are done.

    Notes
    -----
    messages : ``p - 1 + 2 ** floor(log2(p)) * floor(log2(p))``
    alphas : ``floor(log2(p)) + ceil(log2(p))``

    Where P, the largest power of two up to p, divides n, betas are ``2 * (P - 1) / P * n``, gammas
    half of that, and for p > P each ``n`` more. Scratch: three vectors. Far ranks are combined
    first, so that operands are not combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.zeros(2, int)
    ...     reduce_rabenseifner(comm, np.array([1, 10]) * comm.rank, total, root=1)
    ...     return total.tolist()
    >>> simulate(program, 3).results
    [[0, 0], [3, 30], [0, 0]]
    """
    p, partial = comm.size, np.empty_like(sendbuf)
    # A fold hands on the vectors of ranks at the start of the group: the root is put at its end.
    ring = Subgroup(comm, [(root + i) % p for i in range(1, p + 1)])
    if fold_in(ring, sendbuf, partial, op) is None:
        return
    # Invariant: the vectors of all ranks are in those of a power of two of them, root the first.
    group = Subgroup(ring, [run[-1] for run in reversed(fold_runs(p))])
    counts = even(partial.size, group.size)
    own = split(partial, counts)[group.rank]
    reduce_scatter_recursive_halving(group, partial, own, op, counts=counts)
    gather_binomial(group, own, recvbuf, counts=counts)
