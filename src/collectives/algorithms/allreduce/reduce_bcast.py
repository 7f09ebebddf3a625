"""All-reduce as a reduction to rank 0 and a broadcast from it."""

from __future__ import annotations

from collectives.algorithms.bcast.binomial import bcast_binomial
from collectives.algorithms.bcast.binomial import cost as bcast_cost
from collectives.algorithms.reduce.binomial import cost as reduce_cost
from collectives.algorithms.reduce.binomial import reduce_binomial
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm


def cost(p: int, n: int) -> Cost:
    return reduce_cost(p, n) + bcast_cost(p, n)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="Open MPI 2, libnbc 2",
)
def allreduce_reduce_bcast(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Reduce to rank 0 along a binomial tree, then broadcast along the same tree.

    Few rounds, so good for short vectors; but whole vectors travel every time, and rank 0 is
    in every round while most ranks wait.

    Notes
    -----
    messages : ``2 * (p - 1)``
    volume : ``2 * (p - 1) * n``
    alphas : ``2 * ceil(log2(p))``
    betas : ``2 * ceil(log2(p)) * n``
    gammas : ``ceil(log2(p)) * n``

    Scratch: up to two vectors. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(1, int)
    ...     allreduce_reduce_bcast(comm, np.array([comm.rank]), total)
    ...     return total.item()
    >>> simulate(program, 5).results
    [10, 10, 10, 10, 10]
    """
    reduce_binomial(comm, sendbuf, recvbuf if comm.rank == 0 else None, op, root=0)
    bcast_binomial(comm, recvbuf, root=0)
