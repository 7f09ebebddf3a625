"""In-order binary tree reduce: a pipelined binary tree that keeps the order of the ranks."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.pipeline import combine_up
from collectives.algorithms.pipeline_cost import up_cost
from collectives.blocks import segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.topology import in_order_tree


def cost(p: int, n: int, *, root: int = 0, segment: int = 8192) -> Cost:
    up = up_cost(p, segment_sizes(n, segment), p - 1, lambda rank: in_order_tree(rank, p)[1])
    return up + Cost(1, n, alphas=1, betas=n) if root != p - 1 else up


@algorithm(
    cost=cost,
    keeps_order=True,
    source="Open MPI, coll/base, in-order binary tree reduce",
    ships="Open MPI 6",
    variants=[{"segment": 1}, {"segment": 3}],
)
def reduce_in_order_binary(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    op: Op = SUM,
    root: int = 0,
    *,
    segment: int = 8192,
) -> None:
    """Pass segments up a binary tree under the last rank whose subtrees are runs of ranks.

    What the two children send is put before the rank's own operand, the lower child's first. So
    the tree must end in rank p - 1; from there another root gets the result in one message.

    Notes
    -----
    messages : ``(p - 1) * max(1, ceil(n / segment)) + (root < p - 1)``
    volume : ``(p - 1 + (root < p - 1)) * n``

    With S segments and p = 2**k - 1 > 1 ranks there are ``2 * (k - 2 + S)`` steps in a row, and
    one more to another root. Scratch: three segments, and a vector where rank p - 1 is not the
    root. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.zeros(2, int)
    ...     reduce_in_order_binary(comm, np.array([1, 10]) * comm.rank, total, root=1, segment=1)
    ...     return total.tolist()
    >>> run = simulate(program, 7)
    >>> run.results[1], run.time
    ([21, 210], 7.0)
    """
    rank, last = comm.rank, comm.size - 1
    sizes = segment_sizes(sendbuf.size, segment)
    complete = recvbuf
    if rank == last and root != last:
        complete = np.empty_like(sendbuf)
    result = None if complete is None else split(complete, sizes)
    combine_up(comm, split(sendbuf, sizes), result, op, in_order_tree(rank, comm.size))
    if complete is not recvbuf:
        comm.Send(complete, dest=root)
    elif recvbuf is not None and root != last:
        comm.Recv(recvbuf, source=last)
