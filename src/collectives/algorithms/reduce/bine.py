"""Bine reduce: a binomial reduce whose hops go both ways and are shorter."""

from __future__ import annotations

import numpy as np

from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative, power_of_two
from collectives.topology import bine_children, bine_parent, rounds


def cost(p: int, n: int) -> Cost:
    steps = rounds(p)
    return Cost(p - 1, (p - 1) * n, alphas=steps, betas=steps * n, gammas=steps * n)


@algorithm(
    cost=cost,
    requires=[power_of_two, commutative],
    source="D. De Sensi et al., SC25, doi:10.1145/3712285.3759835, arXiv:2508.17311",
    ships="libbine",
)
def reduce_bine(
    comm: Comm, sendbuf: Array, recvbuf: Array | None, op: Op = SUM, root: int = 0
) -> None:
    """Halve the number of vectors in every round, over distances that grow to about p/3.

    The Bine broadcast run backwards, combining at every receive.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``
    alphas : ``log2(p)``
    betas : ``log2(p) * n``
    gammas : ``log2(p) * n``

    Scratch: up to two vectors. A child may be on either side, so that operands are not combined
    in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.zeros(2, int)
    ...     reduce_bine(comm, np.array([1, 10]) * comm.rank, total, root=1)
    ...     return total.tolist()
    >>> simulate(program, 4).results
    [[0, 0], [6, 60], [0, 0], [0, 0]]
    """
    rank, p = comm.rank, comm.size
    parent, children = bine_parent(rank, root, p), bine_children(rank, root, p)
    partial = sendbuf.copy() if children else sendbuf
    incoming = np.empty_like(partial)
    for child in reversed(children):
        # Invariant: partial combines this rank and the subtrees of the children before.
        comm.Recv(incoming, source=child)
        op(partial, incoming, out=partial)
    if parent is not None:
        comm.Send(partial, dest=parent)
    elif recvbuf is not None:
        np.copyto(recvbuf, partial)
