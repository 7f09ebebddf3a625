"""Tree barrier: a signal up a binomial tree, and one down again."""

from __future__ import annotations

import numpy as np

from collectives.comm import Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import binomial_children, binomial_parent, rounds


def cost(p: int, n: int = 0) -> Cost:
    return Cost(2 * (p - 1), alphas=2 * rounds(p))


@algorithm(cost=cost, keeps_order=True, source="folklore", ships="Open MPI 6, UCC knomial")
def barrier_tree(comm: Comm) -> None:
    """Report to the parent when all children have, then wait for its answer and pass it on.

    An empty reduction to rank 0, followed by an empty broadcast.

    Notes
    -----
    messages : ``2 * (p - 1)``
    volume : ``0``
    alphas : ``2 * ceil(log2(p))``
    betas : ``0``
    gammas : ``0``

    Examples
    --------
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     barrier_tree(comm)
    ...     return comm.time
    >>> simulate(program, 4).results
    [4.0, 4.0, 4.0, 4.0]
    """
    token = np.empty(0, np.uint8)
    parent = binomial_parent(comm.rank, 0, comm.size)
    children = binomial_children(comm.rank, 0, comm.size)
    for child in reversed(children):
        comm.Recv(token, source=child)
    # Invariant: every rank in the subtree has called.
    if parent is not None:
        comm.Send(token, dest=parent)
        comm.Recv(token, source=parent)
    for child in children:
        comm.Send(token, dest=child)
