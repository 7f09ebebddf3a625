"""Multi-tree all-reduce: several double binary trees at once, each with its part of the vector."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from collectives.algorithms.allreduce.pipeline import Nodes, up_and_down
from collectives.algorithms.allreduce.pipeline import cost as pipeline_cost
from collectives.blocks import even, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import tree_pair


def cost(p: int, n: int, *, channels: int = 2, per_node: int = 4, segment: int = 8192) -> Cost:
    return pipeline_cost(p, trees(channels, p, per_node), even(n, 2 * channels), segment)


@algorithm(
    cost=cost,
    requires=[commutative],
    variants=[{"channels": 1, "segment": 1}, {"channels": 3, "per_node": 3, "segment": 2}],
    source="S. Jeaugey, NCCL 2.4, 2019; Z. Hu et al., Demystifying NCCL, 2025, arXiv:2507.04786",
    ships="NCCL Tree (a pair of trees per network card)",
)
def allreduce_multi_tree(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    channels: int = 2,
    per_node: int = 4,
    segment: int = 8192,
) -> None:
    """Cut the vector into as many parts as there are channels, a double binary tree for each.

    Ranks ``i * per_node`` and up are on a node. The trees of a channel join the nodes at one rank
    of each, those of the next channel at the next rank: with one network card per rank, each
    channel uses one card of a node, and the card has as much to send in all nodes but the roots'.

    Notes
    -----
    parts : ``2 * channels``
    messages : ``2 * (p - 1) * sum(ceil((n + i) // parts / segment) for i in range(parts))``
    volume : ``2 * (p - 1) * n``

    For long vectors, a network card sends about ``2 / channels * n``, whatever p is. The cost
    function is a bound, as messages may wait at either end. Scratch: up to three segments for
    each tree.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_multi_tree(comm, np.array([1, 10, 100]) * comm.rank, total, per_node=2)
    ...     return total.tolist()
    >>> simulate(program, 5).results[0]
    [10, 100, 1000]
    """
    if sendbuf is not recvbuf:
        np.copyto(recvbuf, sendbuf)
    parts = split(recvbuf, even(recvbuf.size, 2 * channels))
    pipelines = [
        up_and_down(comm, part, op, nodes, segment)
        for part, nodes in zip(parts, trees(channels, comm.size, per_node), strict=True)
    ]
    for _ in zip_longest(*pipelines):
        pass  # each tree has taken one more step


def trees(channels: int, p: int, per_node: int) -> list[Nodes]:
    """Return the first tree of every channel, then the second one, with chains begun at its rank.

    In this order a network card takes turns between its two trees.
    """
    pair = tree_pair(p, per_node)
    return [[begun_at(c, node) for node in nodes] for nodes in pair for c in range(channels)]


def begun_at(channel: int, node: Sequence[int]) -> list[int]:
    """Return the chain of a node from its rank number `channel` on, counted round."""
    first = node.index(min(node) + channel % len(node))
    return [*node[first:], *node[:first]]
