"""Hierarchical all-to-all: one rank per node speaks for all ranks on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.alltoall.pairwise import exchange_pairwise
from collectives.blocks import Blocks, Counts, split
from collectives.comm import Array, Comm
from collectives.cost import Cost, in_rounds
from collectives.registry import algorithm, equal_blocks
from collectives.topology import node_of, pairwise_peers


def cost(p: int, n: int, *, per_node: int = 4) -> Cost:
    nodes = [node_of(leader, p, per_node) for leader in range(0, p, per_node)]
    up = [[(a[i], a.start, p * n, 0) for a in nodes if i < len(a)] for i in range(1, per_node)]
    down = [[(b, a, sent, 0) for a, b, sent, _ in messages] for messages in up]
    steps = range(1, len(nodes))
    pairs = ([(i, pairwise_peers(i, s, len(nodes))[0]) for i, _ in enumerate(nodes)] for s in steps)
    between = ([(nodes[i], nodes[j]) for i, j in step] for step in pairs)
    across = [[(a.start, b.start, len(a) * len(b) * n, 0) for a, b in step] for step in between]
    return in_rounds(p, [*up, *across, *down])


@algorithm(
    cost=cost,
    requires=[equal_blocks],
    keeps_order=True,
    source="P. Sanders, J. L. Träff, Euro-Par, 2002",
    ships="MPICH multi-leaders, HAN smsc, NCCL PXN, UCC node_split",
    variants=[{"per_node": 1}, {"per_node": 2}, {"per_node": 3}],
)
def alltoall_hierarchical(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    *,
    sendcounts: Sequence[int] | None = None,
    recvcounts: Sequence[int] | None = None,
    per_node: int = 4,
) -> None:
    """Gather the vectors of a node on its first rank, exchange between nodes, hand out again.

    Two nodes exchange one message each way instead of one for every pair of ranks. A node is
    `per_node` consecutive ranks, the last one what is left.

    Notes
    -----
    messages : ``2 * (p - ceil(p / per_node)) + ceil(p / per_node) * (ceil(p / per_node) - 1)``
    alphas : ``2 * (min(p, per_node) - 1) + ceil(p / per_node) - 1``
    gammas : ``0``

    Inside nodes, whole vectors travel up and down. Scratch: 3 * per_node vectors on first ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     incoming = np.empty(3, int)
    ...     alltoall_hierarchical(comm, np.arange(3) + 10 * comm.rank, incoming)
    ...     return incoming.tolist()
    >>> simulate(program, 3).results
    [[0, 10, 20], [1, 11, 21], [2, 12, 22]]
    """
    rank, node = comm.rank, node_of(comm.rank, comm.size, per_node)
    if rank != node.start:
        comm.Send(sendbuf, dest=node.start)
        comm.Recv(recvbuf, source=node.start)
        return
    sizes = Counts(sendbuf.size for _ in node)
    vectors = split(np.empty_like(sendbuf, shape=sum(sizes)), sizes)
    vectors[0][:] = sendbuf
    for mate in node[1:]:
        comm.Recv(vectors[mate - rank], source=mate)
    # Invariant: vectors has what the ranks on this node bring; next, what they get.
    exchange_between_nodes(comm, vectors, per_node)
    recvbuf[:] = vectors[0]
    for mate in node[1:]:
        comm.Send(vectors[mate - rank], dest=mate)


def exchange_between_nodes(comm: Comm, vectors: Blocks, per_node: int) -> None:
    """Exchange the blocks of all ranks on a node, one message for each other node."""
    p, mates, n = comm.size, len(vectors), vectors.largest // comm.size
    nodes = [node_of(leader, p, per_node) for leader in range(0, p, per_node)]
    sizes = Counts(mates * len(there) * n for there in nodes)
    outgoing, incoming = (split(np.empty_like(vectors.array), sizes) for _ in range(2))
    for place, there in enumerate(nodes):
        rows = split(outgoing[place], [len(there) * n] * mates)
        for row, vector in zip(rows, vectors, strict=True):
            row[:] = vector[there.start * n : there.stop * n]
    exchange_pairwise(comm, range(0, p, per_node), outgoing, incoming)
    # Invariant: incoming has, rank by rank, the blocks from there for the ranks on this node.
    for place, block in enumerate(split(incoming.array, [n] * mates * p)):
        source, mate = divmod(place, mates)
        vectors[mate][source * n : (source + 1) * n] = block
