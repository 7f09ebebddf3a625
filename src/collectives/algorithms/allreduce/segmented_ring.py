"""Segmented ring all-reduce: the ring, with blocks reduced segment by segment."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.allgather.ring import allgather_ring
from collectives.algorithms.allgather.ring import cost as allgather_cost
from collectives.blocks import even, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import ring_neighbours


def cost(p: int, n: int, *, segment: int = 8192) -> Cost:
    counts = even(n, p)
    phases = -(-counts.largest // segment)
    hops, longest = phases * (p - 1), (p - 1) * counts.largest
    reduce_scatter = Cost(p * hops, (p - 1) * n, alphas=hops, betas=longest, gammas=longest)
    return reduce_scatter + allgather_cost(p, counts=counts)


@algorithm(
    cost=cost,
    requires=[commutative],
    variants=[{"segment": 1}, {"segment": 2}],
    source="Open MPI, coll/tuned, allreduce algorithm 5",
    ships="Open MPI 5, Gloo",
)
def allreduce_segmented_ring(
    comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM, *, segment: int = 8192
) -> None:
    """Send the first segments of all blocks round the ring, then the second ones, and so on.

    What is combined is `segment` elements at a time: they and the operand fit into the cache,
    where a whole block would not, and scratch no longer grows with the vector. The complete
    blocks are then collected in one piece.

    Notes
    -----
    messages : ``p * (p - 1) * (ceil(n / (p * segment)) + 1)``
    volume : ``2 * (p - 1) * n``
    alphas : ``(p - 1) * (ceil(n / (p * segment)) + 1)``
    betas : ``2 * (p - 1) * ceil(n / p)``
    gammas : ``(p - 1) * ceil(n / p)``

    Scratch: two segments. Block j is combined in the order j + 1, j + 2, ..., j of the ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(5, int)
    ...     allreduce_segmented_ring(comm, np.arange(5) * comm.rank, total, segment=1)
    ...     return total.tolist()
    >>> simulate(program, 3).results[1]
    [0, 3, 6, 9, 12]
    """
    rank, p = comm.rank, comm.size
    left, right = ring_neighbours(rank, p)
    counts = even(recvbuf.size, p)
    blocks = split(sendbuf, counts)
    longest = min(segment, counts.largest)
    incoming, spare = (np.empty_like(recvbuf, shape=longest) for _ in range(2))
    for start in range(0, counts.largest, segment):
        stop = start + segment
        partial = blocks[rank - 1][start:stop]
        for step in range(1, p):
            own = blocks[rank - 1 - step][start:stop]
            received = incoming[: own.size]
            comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)
            # Invariant: received combines this segment of the step ranks to the left.
            op(received, own, out=received)
            partial, incoming, spare = received, spare, incoming
        split(recvbuf, counts)[rank][start:stop] = partial
    allgather_ring(comm, recvbuf, recvbuf, counts=counts)
