"""Pipelined multi-leader all-reduce: on the nodes and between them at the same time."""

from __future__ import annotations

import math

import numpy as np

from collectives.algorithms.allreduce.rails import phases, shape, whole
from collectives.blocks import even
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative


def cost(p: int, n: int, *, per_node: int = 4, segment: int = 8192) -> Cost:
    nodes, leaders = shape(p, per_node)
    ranks, segments = min(p, per_node), -(-n // whole(segment, nodes * leaders))
    on_nodes = (nodes - 1) * per_node * (per_node - 1) + leaders * (leaders - 1)
    messages = segments * 2 * (on_nodes + leaders * nodes * (nodes - 1))
    share = even(n, leaders).largest
    gammas = (ranks - 1) * share + (nodes - 1) * even(share, nodes).largest
    alphas, betas = segments * 2 * (ranks + nodes - 2), 2 * gammas
    if ranks == leaders and n % p == 0:
        return Cost(messages, 2 * (p - 1) * n, alphas, betas, gammas)
    # A message waits for all others of its sender and of its receiver, at most.
    return Cost(messages, 2 * (p - 1) * n, 2 * alphas, 2 * betas, gammas, exact=False)


@algorithm(
    cost=cost,
    requires=[commutative],
    variants=[{"segment": 1}, {"segment": 3, "per_node": 2}, {"segment": 2, "per_node": 3}],
    source="X. Luo et al., HAN, CLUSTER 2020; M. Bayatpour et al., SC 2017, "
    "doi:10.1145/3126908.3126954",
    ships="UCC split_rail (pipelined)",
)
def allreduce_pipelined_multi_leader(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    per_node: int = 4,
    segment: int = 8192,
) -> None:
    """Do as multi-leader does, segment by segment, each a phase behind the one before.

    Ranks ``i * per_node`` and up are on a node. While one segment is reduced between the nodes,
    the next is reduced on the nodes and an earlier one collected there: where a rank has a port
    for each, both are busy. In a phase, a rank exchanges blocks with all of its node or rail
    directly. A segment is made long enough to be cut into equal blocks, one for each of L ranks
    of N nodes.

    Notes
    -----
    N : ``ceil(p / per_node)``
    L : ``(p - 1) % per_node + 1``
    segments : ``ceil(n / (ceil(segment / (N * L)) * N * L))``
    blocks : ``(N - 1) * per_node * (per_node - 1) + L * (L - 1 + N * (N - 1))``
    messages : ``2 * segments * blocks``
    volume : ``2 * (p - 1) * n``

    The cost function is exact where all blocks are of one size, on full nodes, and a bound
    elsewhere. Scratch: a vector's block from every other rank of the node and of the rail, for
    one segment each.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total, vector = np.empty(3, int), np.array([1, 10, 100]) * comm.rank
    ...     allreduce_pipelined_multi_leader(comm, vector, total, per_node=2, segment=2)
    ...     return total.tolist()
    >>> simulate(program, 4).results[0]
    [6, 60, 600]
    """
    if sendbuf is not recvbuf:
        np.copyto(recvbuf, sendbuf)
    length = whole(segment, math.prod(shape(comm.size, per_node)))
    segments = [recvbuf[i : i + length] for i in range(0, recvbuf.size, length)]
    started = [phases(comm, each, op, per_node) for each in segments]
    for step in range(len(started) + 3):
        # Invariant: a segment in phase i has taken i steps, the one before it one more.
        in_phases = started[max(step - 3, 0) : step + 1]
        for request in [request for each in in_phases for request in next(each)]:
            request.Wait()
