"""Multi-ring all-reduce: several rings at the same time, each with its part of the vector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from collectives.algorithms.allreduce.ring import cost as ring_cost
from collectives.blocks import even, split
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import channel_ring, ring_neighbours


def cost(p: int, n: int, *, channels: int = 2) -> Cost:
    total = sum((ring_cost(p, part) for part in even(n, channels)), Cost())
    if n % (p * channels) == 0:
        return total
    # A message waits at either end for those of the other channels, at most.
    longest = even(even(n, channels).largest, p).largest
    return replace(total, betas=2 * (p - 1) * (2 * channels - 1) * longest, exact=False)


@algorithm(
    cost=cost,
    requires=[commutative],
    variants=[{"channels": 1}, {"channels": 3, "per_node": 3}],
    source="Z. Hu et al., Demystifying NCCL, 2025, arXiv:2507.04786",
    ships="NCCL Ring (a ring per channel)",
)
def allreduce_multi_ring(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    channels: int = 2,
    per_node: int = 4,
) -> None:
    """Cut the vector into as many parts as there are channels, one ring for each.

    All rings go from node to node, but each leaves a node, ranks ``i * per_node`` and up, at
    another rank: with one network card per rank, one ring uses one card of a node, several rings
    use several. While one channel combines, the messages of the others are under way.

    Notes
    -----
    messages : ``2 * channels * p * (p - 1)``
    volume : ``2 * (p - 1) * n``
    alphas : ``2 * channels * (p - 1)``

    Where all blocks are of one size, betas are ``2 * (p - 1) / p * n`` and gammas half of that,
    as on one ring. Scratch: two blocks of each channel, combined in the order of its ring.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_multi_ring(comm, np.array([1, 10, 100]) * comm.rank, total, per_node=2)
    ...     return total.tolist()
    >>> simulate(program, 3).results[0]
    [3, 30, 300]
    """
    if sendbuf is not recvbuf:
        np.copyto(recvbuf, sendbuf)
    parts = split(recvbuf, even(recvbuf.size, channels))
    orders = (channel_ring(channel, comm.size, per_node) for channel in range(channels))
    rings = [ring(Subgroup(comm, o), part, op) for o, part in zip(orders, parts, strict=True)]
    for _ in zip_longest(*rings):
        pass  # each ring has taken one more step


def ring(comm: Comm, vector: Array, op: Op) -> Iterator[None]:
    """All-reduce `vector` in place on a ring, pausing wherever messages are under way."""
    rank, p = comm.rank, comm.size
    left, right = ring_neighbours(rank, p)
    blocks = split(vector, even(vector.size, p))
    incoming, spare = (np.empty_like(vector, shape=blocks.largest) for _ in range(2))
    partial = blocks[rank - 1]
    for step in range(1, 2 * p - 1):
        missing = blocks[rank - 1 - step]
        received = incoming[: missing.size] if step < p else missing
        requests = comm.Irecv(received, source=left), comm.Isend(partial, dest=right)
        yield
        for request in requests:
            request.Wait()
        # Invariant: received combines the own blocks of the step ranks to the left.
        if step < p:
            op(received, missing, out=received)
            incoming, spare = spare, incoming
        if step == p - 1:
            np.copyto(missing, received)
        partial = received
