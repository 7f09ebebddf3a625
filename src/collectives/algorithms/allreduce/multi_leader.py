"""Multi-leader all-reduce: each rank of a node takes its part of the vector to the other nodes."""

from __future__ import annotations

from dataclasses import replace

from collectives.algorithms.allgather.ring import allgather_ring
from collectives.algorithms.allgather.ring import cost as allgather_cost
from collectives.algorithms.allreduce.rabenseifner import allreduce_rabenseifner
from collectives.algorithms.allreduce.rabenseifner import cost as rail_cost
from collectives.algorithms.reduce_scatter.pairwise import reduce_scatter_pairwise
from collectives.algorithms.reduce_scatter.ring import cost as reduce_scatter_cost
from collectives.blocks import Counts, even, split
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import node_of


def cost(p: int, n: int, *, per_node: int = 4) -> Cost:
    leaders = len(node_of(p - 1, p, per_node))
    on_nodes = []
    for first in range(0, p, per_node):
        ranks = len(node_of(first, p, per_node))
        counts = [*even(n, leaders), *[0] * (ranks - leaders)]
        on_nodes.append(
            reduce_scatter_cost(ranks, counts=counts) + allgather_cost(ranks, counts=counts)
        )
    rails = [rail_cost(len(on_nodes), part) for part in even(n, leaders)]
    total = on_nodes[0] + rails[0]  # the longest path
    messages = sum(each.messages for each in on_nodes + rails)
    volume = sum(each.volume for each in on_nodes + rails)
    return replace(total, messages=messages, volume=volume)


@algorithm(
    cost=cost,
    requires=[commutative],
    variants=[{"per_node": 1}, {"per_node": 2}, {"per_node": 3}],
    source="M. Bayatpour et al., SC 2017, doi:10.1145/3126908.3126954",
    ships="MPICH composition 4, UCC split_rail",
)
def allreduce_multi_leader(
    comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM, *, per_node: int = 4
) -> None:
    """Reduce-scatter on every node, all-reduce each block among the nodes, allgather on the nodes.

    Ranks ``i * per_node`` and up are on a node. Those with the same place on their nodes form a
    rail, which reduces their block: a node sends no more than with one leader, but through all
    of its network cards, and nobody waits. Where the last node has fewer ranks, there are only as
    many rails, and other ranks have empty blocks.

    Notes
    -----
    N : ``ceil(p / per_node)``
    P : ``2 ** floor(log2(N))``
    L : ``(p - 1) % per_node + 1``
    messages : ``2 * ((N - 1) * per_node * (per_node - 1) + L * (L - 1 + P * (log2(P) - 1) + N))``
    volume : ``2 * (p - 1) * n``
    alphas : ``2 * (min(per_node, p) - 1 + ceil(log2(N)))``

    N nodes are joined by L rails, Rabenseifner all-reduces. Scratch: two blocks on the node, two
    on the rail.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_multi_leader(comm, np.array([1, 10, 100]) * comm.rank, total, per_node=2)
    ...     return total.tolist()
    >>> simulate(program, 4).results[0]
    [6, 60, 600]
    """
    rank, p = comm.rank, comm.size
    node = Subgroup(comm, node_of(rank, p, per_node))
    leaders = len(node_of(p - 1, p, per_node))
    counts = Counts([*even(recvbuf.size, leaders), *[0] * (node.size - leaders)])
    own = split(recvbuf, counts)[node.rank]
    reduce_scatter_pairwise(node, sendbuf, own, op, counts=counts)
    if node.rank < leaders:
        # Invariant: own combines this node, and is the same part of the vector on all of the rail.
        rail = Subgroup(comm, range(node.rank, p, per_node))
        allreduce_rabenseifner(rail, own, own, op)
    allgather_ring(node, recvbuf, recvbuf, counts=counts)
