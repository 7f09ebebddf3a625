"""Hierarchical all-reduce: on the nodes to a leader, among the leaders, on the nodes back."""

from __future__ import annotations

from collectives.algorithms.allreduce.recursive_doubling import allreduce_recursive_doubling
from collectives.algorithms.allreduce.recursive_doubling import cost as leaders_cost
from collectives.algorithms.bcast.binomial import bcast_binomial
from collectives.algorithms.bcast.binomial import cost as bcast_cost
from collectives.algorithms.reduce.binomial import cost as reduce_cost
from collectives.algorithms.reduce.binomial import reduce_binomial
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.topology import node_of


def cost(p: int, n: int, *, per_node: int = 4) -> Cost:
    first, nodes = min(per_node, p), -(-p // per_node)
    total = reduce_cost(first, n) + leaders_cost(nodes, n) + bcast_cost(first, n)
    elsewhere = 2 * (p - nodes - (first - 1))  # messages on the other nodes, at the same time
    return total + Cost(elsewhere, elsewhere * n)


@algorithm(
    cost=cost,
    keeps_order=True,
    variants=[{"per_node": 1}, {"per_node": 2}, {"per_node": 3}],
    source="X. Luo et al., HAN, CLUSTER 2020",
    ships="MPICH smp, HAN, XHC, acoll, UCC rab",
)
def allreduce_hierarchical(
    comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM, *, per_node: int = 4
) -> None:
    """Reduce to the first rank of every node, all-reduce among these leaders, and broadcast.

    Ranks ``i * per_node`` and up are on a node, the last of which may have fewer. One vector
    leaves a node and one arrives for each step among the leaders, however many ranks it has; the
    others wait meanwhile.

    Notes
    -----
    N : ``ceil(p / per_node)``
    P : ``2 ** floor(log2(N))``
    messages : ``2 * p + P * (log2(P) - 2)``
    volume : ``messages * n``
    alphas : ``2 * ceil(log2(min(per_node, p))) + 2 * ceil(log2(N)) - log2(P)``
    betas : ``alphas * n``
    gammas : ``(ceil(log2(min(per_node, p))) + ceil(log2(N))) * n``

    Scratch: up to two vectors. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(1, int)
    ...     allreduce_hierarchical(comm, np.array([comm.rank]), total, per_node=2)
    ...     return total.item()
    >>> simulate(program, 5).results
    [10, 10, 10, 10, 10]
    """
    members = node_of(comm.rank, comm.size, per_node)
    node, is_leader = Subgroup(comm, members), comm.rank == members[0]
    reduce_binomial(node, sendbuf, recvbuf if is_leader else None, op, root=0)
    if is_leader:
        leaders = Subgroup(comm, range(0, comm.size, per_node))
        allreduce_recursive_doubling(leaders, recvbuf, recvbuf, op)
    bcast_binomial(node, recvbuf, root=0)
