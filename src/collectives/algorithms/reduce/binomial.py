"""Binomial reduce: the binomial broadcast run backwards, combining at every receive."""

from __future__ import annotations

import numpy as np

from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.topology import binomial_children, binomial_parent, rounds


def cost(p: int, n: int, *, root: int = 0) -> Cost:
    hops = rounds(p) + (root > 0)
    messages = p - 1 + (root > 0)
    return Cost(messages, messages * n, alphas=hops, betas=hops * n, gammas=rounds(p) * n)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH binomial, Open MPI 5, libnbc 2",
)
def reduce_binomial(
    comm: Comm, sendbuf: Array, recvbuf: Array | None, op: Op = SUM, root: int = 0
) -> None:
    """Halve the number of vectors in every round, up a binomial tree under rank 0.

    The tree hangs from rank 0 whatever the root, because there every subtree is a run of ranks:
    operands stay in rank order, and the result has the same bits for every root. Rank 0 then
    hands it to another root in one more message.

    Notes
    -----
    messages : ``p - 1 + (root > 0)``
    volume : ``(p - 1 + (root > 0)) * n``
    alphas : ``ceil(log2(p)) + (root > 0)``
    betas : ``(ceil(log2(p)) + (root > 0)) * n``
    gammas : ``ceil(log2(p)) * n``

    Scratch: up to two vectors. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.zeros(2, int)
    ...     reduce_binomial(comm, np.array([1, 10]) * comm.rank, total, root=1)
    ...     return total.tolist()
    >>> simulate(program, 3).results
    [[0, 0], [3, 30], [0, 0]]
    """
    rank, p = comm.rank, comm.size
    parent, children = binomial_parent(rank, 0, p), binomial_children(rank, 0, p)
    partial = sendbuf.copy() if children else sendbuf
    incoming = np.empty_like(partial)
    for child in reversed(children):
        # Invariant: partial combines ranks rank .. child - 1, in this order.
        comm.Recv(incoming, source=child)
        op(partial, incoming, out=partial)
    if parent is not None:
        comm.Send(partial, dest=parent)
    elif root != 0:
        comm.Send(partial, dest=root)
    if recvbuf is not None and root != 0:
        comm.Recv(recvbuf, source=0)
    elif recvbuf is not None:
        np.copyto(recvbuf, partial)
