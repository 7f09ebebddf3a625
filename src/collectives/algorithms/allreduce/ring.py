"""Ring all-reduce: a ring reduce-scatter, then a ring allgather."""

from __future__ import annotations

from collectives.algorithms.allgather.ring import allgather_ring
from collectives.algorithms.allgather.ring import cost as allgather_cost
from collectives.algorithms.reduce_scatter.ring import cost as reduce_scatter_cost
from collectives.algorithms.reduce_scatter.ring import reduce_scatter_ring
from collectives.blocks import even, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative


def cost(p: int, n: int) -> Cost:
    counts = even(n, p)
    return reduce_scatter_cost(p, counts=counts) + allgather_cost(p, counts=counts)


@algorithm(
    cost=cost,
    requires=[commutative],
    source="P. Patarasuk, X. Yuan, J. Parallel Distrib. Comput. 69, 2009, "
    "doi:10.1016/j.jpdc.2008.09.002",
    ships="MPICH ring, Open MPI 4, libnbc 1, NCCL Ring, Gloo ring_chunked, UCC ring, oneCCL ring",
)
def allreduce_ring(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Reduce and then collect the p blocks of the vector on a ring.

    Each rank sends to its right and receives from its left neighbour in every step, never
    anything else. In p - 1 steps every block is combined on its way round and ends complete on
    the rank with its number; in p - 1 more the complete blocks travel round once again.

    Notes
    -----
    messages : ``2 * p * (p - 1)``
    volume : ``2 * (p - 1) * n``
    alphas : ``2 * (p - 1)``
    betas : ``2 * (p - 1) * ceil(n / p)``
    gammas : ``(p - 1) * ceil(n / p)``

    Nothing moves fewer bytes: every rank sends about ``2 * (p - 1) / p * n``. The price is a
    number of steps that grows with p. Scratch: two blocks. Block j is combined in the order
    j + 1, j + 2, ..., j of the ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_ring(comm, np.array([1, 10, 100]) * comm.rank, total)
    ...     return total.tolist()
    >>> simulate(program, 3).results
    [[3, 30, 300], [3, 30, 300], [3, 30, 300]]
    """
    counts = even(recvbuf.size, comm.size)
    own = split(recvbuf, counts)[comm.rank]
    reduce_scatter_ring(comm, sendbuf, own, op, counts=counts)
    # Invariant: recvbuf holds this rank's block of the result, and only that one.
    allgather_ring(comm, recvbuf, recvbuf, counts=counts)
