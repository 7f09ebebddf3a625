"""Double binary tree all-reduce: two complementary trees, with half of the vector each."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np

from collectives.algorithms.allreduce.pipeline import cost as pipeline_cost
from collectives.algorithms.allreduce.pipeline import up_and_down
from collectives.blocks import even, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import tree_pair


def cost(p: int, n: int, *, per_node: int = 1, segment: int = 8192) -> Cost:
    return pipeline_cost(p, tree_pair(p, per_node), even(n, 2), segment)


@algorithm(
    cost=cost,
    requires=[commutative],
    variants=[{"segment": 1}, {"segment": 3, "per_node": 2}, {"per_node": 3}],
    source="P. Sanders, J. Speck, J. L. Träff, Parallel Computing 35, 2009, "
    "doi:10.1016/j.parco.2009.09.001; S. Jeaugey, NCCL 2.4, 2019",
    ships="NCCL Tree, UCC dbt, oneCCL double_tree",
)
def allreduce_double_binary_tree(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    per_node: int = 1,
    segment: int = 8192,
) -> None:
    """Reduce and broadcast each half of the vector along a tree of its own, segment by segment.

    In one tree, half of the ranks are leaves, which send and receive a third of what inner ranks
    do. In these two, as NCCL builds them, leaves of one are inner in the other, so that all have
    the same to do. With `per_node` ranks on a node, only one of them per tree has edges to other
    nodes, and the others form a chain behind it.

    Notes
    -----
    messages : ``2 * (p - 1) * (ceil(ceil(n / 2) / segment) + ceil(floor(n / 2) / segment))``
    volume : ``2 * (p - 1) * n``

    With one rank per node, a rank sends four messages per step, for two segments: about ``2 * n``
    for long vectors, a third less than along a single tree. The cost function is a bound, as
    messages may wait at either end. Scratch: up to three segments for each tree.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_double_binary_tree(comm, np.array([1, 10, 100]) * comm.rank, total)
    ...     return total.tolist()
    >>> simulate(program, 5).results[0]
    [10, 100, 1000]
    """
    if sendbuf is not recvbuf:
        np.copyto(recvbuf, sendbuf)
    halves = split(recvbuf, even(recvbuf.size, 2))
    orders = tree_pair(comm.size, per_node)
    trees = [
        up_and_down(comm, half, op, nodes, segment)
        for half, nodes in zip(halves, orders, strict=True)
    ]
    for _ in zip_longest(*trees):
        pass  # each tree has taken one more step
