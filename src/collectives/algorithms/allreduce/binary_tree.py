"""Binary tree all-reduce: segments go up the tree while earlier ones come down again."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.allreduce.pipeline import cost as pipeline_cost
from collectives.algorithms.allreduce.pipeline import up_and_down
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.topology import tree_pair


def cost(p: int, n: int, *, segment: int = 8192) -> Cost:
    return pipeline_cost(p, tree_pair(p, per_node=1)[:1], [n], segment)


@algorithm(
    cost=cost,
    keeps_order=True,
    variants=[{"segment": 1}, {"segment": 3}],
    source="P. Sanders, J. Speck, J. L. Träff, Parallel Computing 35, 2009, "
    "doi:10.1016/j.parco.2009.09.001",
    ships="MPICH tree",
)
def allreduce_binary_tree(
    comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM, *, segment: int = 8192
) -> None:
    """Reduce the vector up a binary tree, segment by segment, and broadcast down the same tree.

    In every step, a rank combines one segment and passes on another one, which the root has
    completed meanwhile. For long vectors the depth of the tree no longer matters; but ranks with
    two children send each segment three times, while the leaves send it once.

    Notes
    -----
    messages : ``2 * (p - 1) * ceil(n / segment)``
    volume : ``2 * (p - 1) * n``

    There are ``ceil(n / segment) + 2 * ceil(log2(p)) - 1`` steps, of three messages and two
    combinations on most inner ranks. The cost function counts up to five, as a message may have
    to wait at either end: a bound. Scratch: two segments. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_binary_tree(comm, np.array([1, 10, 100]) * comm.rank, total, segment=1)
    ...     return total.tolist()
    >>> simulate(program, 5).results[0]
    [10, 100, 1000]
    """
    if sendbuf is not recvbuf:
        np.copyto(recvbuf, sendbuf)
    nodes, _ = tree_pair(comm.size, per_node=1)
    for _ in up_and_down(comm, recvbuf, op, nodes, segment):
        pass
