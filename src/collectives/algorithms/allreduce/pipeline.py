"""Pipeline: segments of a vector are reduced up a tree while earlier ones come down again.

Not an algorithm: what the all-reduces along trees have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import Op
from collectives.topology import rounds, tree_of_nodes

Nodes = Sequence[Sequence[int]]


def cost(p: int, trees: Sequence[Nodes], sizes: Sequence[int], segment: int) -> Cost:
    """Return a bound on the cost of `up_and_down` along several trees side by side."""
    steps = max(steps_of(nodes, size, segment) for nodes, size in zip(trees, sizes, strict=True))
    segments, longest = sum(-(-size // segment) for size in sizes), min(segment, max(sizes))
    edges = [[tree_of_nodes(rank, nodes)[:2] for nodes in trees] for rank in range(p)]
    children = [sum(len(below) for _, below in each) for each in edges]
    parents = [sum(above is not None for above, _ in each) for each in edges]
    busiest = max(map(sum, zip(children, parents, strict=True)))
    # In a step, a message waits for all others of its sender and of its receiver, at most.
    alphas = steps * max(2 * busiest - 1, 0)
    gammas = steps * max(children) * longest
    volume = 2 * (p - 1) * sum(sizes)
    return Cost(2 * (p - 1) * segments, volume, alphas, alphas * longest, gammas, exact=False)


def up_and_down(comm: Comm, vector: Array, op: Op, nodes: Nodes, segment: int) -> Iterator[None]:
    """All-reduce `vector` in place along `tree_of_nodes`, pausing where messages are under way."""
    parent, children, depth = tree_of_nodes(comm.rank, nodes)
    parents, height = [] if parent is None else [parent], height_of(nodes)
    rooms = [np.empty_like(vector, shape=min(segment, vector.size)) for _ in children]

    def piece(i: int) -> list[Array]:  # segment i, where there is one
        return [vector[i * segment : (i + 1) * segment]] if 0 <= i * segment < vector.size else []

    for step in range(steps_of(nodes, vector.size, segment)):
        # Invariant: segments to `up` combine this subtree, segments to `down` are complete here.
        up, down = step - height + depth, step - height - depth
        requests = [comm.Isend(x, dest=peer) for x in piece(up) for peer in parents]
        requests += [comm.Irecv(x, source=peer) for x in piece(down + 1) for peer in parents]
        requests += [comm.Isend(x, dest=peer) for x in piece(down) for peer in children]
        incoming = [room[: x.size] for x in piece(up + 1) for room in rooms]
        requests += [comm.Irecv(x, source=c) for c, x in zip(children, incoming, strict=False)]
        yield
        for request in requests:
            request.Wait()
        for child, x in zip(children, incoming, strict=False):
            [partial] = piece(up + 1)
            lower, higher = (x, partial) if child < comm.rank else (partial, x)
            op(lower, higher, out=partial)


def steps_of(nodes: Nodes, size: int, segment: int) -> int:
    return -(-size // segment) + 2 * height_of(nodes) - 1


def height_of(nodes: Nodes) -> int:
    return rounds(len(nodes)) + max(map(len, nodes)) - 1
