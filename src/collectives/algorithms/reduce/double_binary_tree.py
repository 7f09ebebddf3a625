"""Double binary tree reduce: half of the segments on each of two trees, all links busy."""

from __future__ import annotations

import numpy as np

from collectives.algorithms import scheduled
from collectives.blocks import segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.schedules import double_tree_rounds


def cost(p: int, n: int, *, root: int = 0, segment: int = 8192) -> Cost:
    sizes = segment_sizes(n, segment)
    schedules = [double_tree_rounds(rank, 0, p, len(sizes)) for rank in range(p)]
    up = scheduled.cost(sizes, schedules, combining=True)
    return up + Cost(1, n, alphas=1, betas=n) if root != 0 else up


@algorithm(
    cost=cost,
    keeps_order=True,
    source="P. Sanders, J. Speck, J. L. Träff, Parallel Computing 35, 2009, "
    "doi:10.1016/j.parco.2009.09.001",
    ships="UCC dbt, oneCCL double_tree",
    variants=[{"segment": 1}, {"segment": 3}],
)
def reduce_double_binary_tree(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    op: Op = SUM,
    root: int = 0,
    *,
    segment: int = 8192,
) -> None:
    """Combine even segments up one binary tree and odd ones up another.

    The double tree broadcast run backwards: no rank is inner in both trees, so that all of them
    receive, combine and send about the same. Both trees hang from rank 0, as there all subtrees
    are runs of ranks; another root gets the result from it in one more message.

    Notes
    -----
    messages : ``(p - 1) * max(1, ceil(n / segment)) + (root > 0)``
    volume : ``(p - 1 + (root > 0)) * n``

    With S segments there are fewer than ``S + 2 * ceil(log2(p))`` rounds, so that under root 0 a
    long vector takes hardly more than ``n * beta``. Scratch: a vector and a segment. Operands are
    combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.zeros(2, int)
    ...     reduce_double_binary_tree(comm, np.array([1, 10]) * comm.rank, total, segment=1)
    ...     return total.tolist()
    >>> run = simulate(program, 7)
    >>> run.results[0], run.time
    ([21, 210], 7.0)
    """
    sizes = segment_sizes(sendbuf.size, segment)
    partial = sendbuf.copy()
    schedule = double_tree_rounds(comm.rank, 0, comm.size, len(sizes))
    scheduled.reduce_by(comm, split(partial, sizes), op, schedule)
    if comm.rank == 0 and root != 0:
        comm.Send(partial, dest=root)
    elif recvbuf is not None and root != 0:
        comm.Recv(recvbuf, source=0)
    elif recvbuf is not None:
        np.copyto(recvbuf, partial)
