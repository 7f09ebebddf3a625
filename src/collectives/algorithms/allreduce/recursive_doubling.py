"""Recursive doubling all-reduce: whole vectors, exchanged at distance 1, 2, 4, ..."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.allreduce.fold import cost as fold_cost
from collectives.algorithms.allreduce.fold import fold_in, fold_out
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.topology import largest_power


def cost(p: int, n: int) -> Cost:
    survivors = largest_power(2, p)
    steps = survivors.bit_length() - 1
    messages = steps * survivors
    return fold_cost(p, n) + Cost(messages, messages * n, steps, betas=steps * n, gammas=steps * n)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH recursive_doubling, Open MPI 3, libnbc 4, UCC knomial, oneCCL recursive_doubling",
)
def allreduce_recursive_doubling(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Double the number of vectors in every partial result, on all ranks at the same time.

    In every step a rank exchanges what it has with the rank whose number differs in one bit, so
    that nobody waits for anybody else: the fewest steps there can be, hence best for short
    vectors. Surplus ranks beyond a power of two stay out: each hands its vector to a neighbour
    first and gets the result last.

    Notes
    -----
    messages : ``2 ** floor(log2(p)) * (floor(log2(p)) - 2) + 2 * p``
    volume : ``(2 ** floor(log2(p)) * (floor(log2(p)) - 2) + 2 * p) * n``
    alphas : ``floor(log2(p)) + 2 * (ceil(log2(p)) - floor(log2(p)))``
    betas : ``(floor(log2(p)) + 2 * (ceil(log2(p)) - floor(log2(p)))) * n``
    gammas : ``ceil(log2(p)) * n``

    Scratch: one vector. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(1, int)
    ...     allreduce_recursive_doubling(comm, np.array([comm.rank]), total)
    ...     return total.item()
    >>> simulate(program, 5).results
    [10, 10, 10, 10, 10]
    """
    survivors = fold_in(comm, sendbuf, recvbuf, op)
    if survivors is not None:
        incoming = np.empty_like(recvbuf)
        distance = 1
        while distance < survivors.size:
            # Invariant: recvbuf combines, in order, the aligned group of `distance` survivors
            # that this rank belongs to.
            partner = survivors.rank ^ distance
            survivors.Sendrecv(recvbuf, dest=partner, recvbuf=incoming, source=partner)
            if partner < survivors.rank:
                op(incoming, recvbuf, out=recvbuf)
            else:
                op(recvbuf, incoming, out=recvbuf)
            distance *= 2
    fold_out(comm, recvbuf)
