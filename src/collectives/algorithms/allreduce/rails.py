"""Rails: the ranks with the same place on their nodes, and the phases of an all-reduce over them.

Not an algorithm: a vector is reduce-scattered on every node and on every rail, then collected the
same way back, every rank exchanging blocks with all others of the group directly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from collectives.blocks import Blocks, Counts, even, split
from collectives.comm import Array, Comm, Request, Subgroup
from collectives.op import Op
from collectives.topology import node_of


def shape(p: int, per_node: int) -> tuple[int, int]:
    """Return how many nodes there are, and how many rails: as many as the last node has ranks."""
    return -(-p // per_node), len(node_of(p - 1, p, per_node))


def whole(segment: int, blocks: int) -> int:
    """Return the length of a segment of `blocks` equal blocks, not shorter than `segment`."""
    return -(-segment // blocks) * blocks


def phases(comm: Comm, vector: Array, op: Op, per_node: int) -> Iterator[list[Request]]:
    """All-reduce `vector` in place; yield what to wait for at the end of each of four phases."""
    rank, p = comm.rank, comm.size
    node = Subgroup(comm, node_of(rank, p, per_node))
    _, leaders = shape(p, per_node)
    rail = Subgroup(comm, range(node.rank, p, per_node) if node.rank < leaders else [rank])
    shares = split(vector, Counts([*even(vector.size, leaders), *[0] * (node.size - leaders)]))
    own = split(shares[node.rank], even(shares[node.rank].size, rail.size))
    yield from reduce_scatter(node, shares, op)
    yield from reduce_scatter(rail, own, op)
    yield from allgather(rail, own)
    yield from allgather(node, shares)


def reduce_scatter(comm: Comm, blocks: Blocks, op: Op) -> Iterator[list[Request]]:
    """Combine each block on the rank with its number, to which all others send it."""
    own, others = blocks[comm.rank], [(comm.rank + i) % comm.size for i in range(1, comm.size)]
    incoming = [np.empty_like(own) for _ in others]
    receives = [comm.Irecv(x, source=peer) for x, peer in zip(incoming, others, strict=True)]
    yield receives + [comm.Isend(blocks[peer], dest=peer) for peer in others]
    for x in incoming:
        op(own, x, out=own)


def allgather(comm: Comm, blocks: Blocks) -> Iterator[list[Request]]:
    """Send the block with this rank's number to all others."""
    others = [(comm.rank + i) % comm.size for i in range(1, comm.size)]
    receives = [comm.Irecv(blocks[peer], source=peer) for peer in others]
    yield receives + [comm.Isend(blocks[comm.rank], dest=peer) for peer in others]
