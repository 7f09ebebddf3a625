"""Circulant reduce: everyone receives in every round, in as few rounds as there can be."""

from __future__ import annotations

import numpy as np

from collectives.algorithms import scheduled
from collectives.blocks import segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.schedules import circulant_rounds


def cost(p: int, n: int, *, segment: int = 8192) -> Cost:
    sizes = segment_sizes(n, segment)
    schedules = [circulant_rounds(rank, 0, p, len(sizes)) for rank in range(p)]
    return scheduled.cost(sizes, schedules, combining=True)


@algorithm(
    cost=cost,
    requires=[commutative],
    source="J. L. Träff, arXiv:2407.18004, doi:10.1145/3735139",
    ships="MPICH circ_graph (main only)",
    variants=[{"segment": 1}, {"segment": 3}],
)
def reduce_circulant(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    op: Op = SUM,
    root: int = 0,
    *,
    segment: int = 8192,
) -> None:
    """Receive in every round from the rank that is a skip to the right, send to the left.

    The circulant broadcast run backwards: where a rank there gets a segment for the first time,
    here it gives it away, combined with all that it has received of it before.

    Notes
    -----
    messages : ``(p - 1) * max(1, ceil(n / segment))``
    volume : ``(p - 1) * n``
    alphas : ``(p > 1) * (max(1, ceil(n / segment)) - 1 + ceil(log2(p)))``

    No reduce of so many segments has fewer rounds. Scratch: a vector and a segment. The order of
    operands differs between segments.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.zeros(2, int)
    ...     reduce_circulant(comm, np.array([1, 10]) * comm.rank, total, root=1, segment=1)
    ...     return total.tolist()
    >>> run = simulate(program, 5)
    >>> run.results[1], run.time
    ([10, 100], 4.0)
    """
    sizes = segment_sizes(sendbuf.size, segment)
    partial = sendbuf.copy()
    schedule = circulant_rounds(comm.rank, root, comm.size, len(sizes))
    scheduled.reduce_by(comm, split(partial, sizes), op, schedule)
    if recvbuf is not None:
        np.copyto(recvbuf, partial)
