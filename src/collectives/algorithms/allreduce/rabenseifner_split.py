"""Rabenseifner's all-reduce with a fold in which both neighbours work."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.allreduce.rabenseifner import halve_and_double, halve_and_double_cost
from collectives.blocks import even, split
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import fold_runs, largest_power


def cost(p: int, n: int) -> Cost:
    surplus = p - largest_power(2, p)
    folded = surplus > 0
    half = even(n, 2)[0]  # the longer one
    fold = Cost(
        4 * surplus, surplus * (2 * n + even(n, 2)[1]), 3 * folded, 2 * n * folded, half * folded
    )
    return fold + halve_and_double_cost(p - surplus, n)


@algorithm(
    cost=cost,
    requires=[commutative],
    source="R. Rabenseifner, ICCS 2004, doi:10.1007/978-3-540-24685-5_1",
    ships="Open MPI 6",
)
def allreduce_rabenseifner_split(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Fold by halves: both ranks of a pair combine one half, then one of them goes on with both.

    The pair exchanges halves, and the higher rank hands its combined half back. One message more
    than where the lower rank hands over its whole vector, but each combines only half of it.

    Notes
    -----
    P : ``2 ** floor(log2(p))``
    messages : ``2 * P * (log2(P) - 2) + 4 * p``
    volume : ``2 * (P - 1) * n + (p - P) * (2 * n + n // 2)``
    alphas : ``2 * log2(P) + 3 * (p > P)``

    Where P divides n, betas are ``2 * (P - 1) / P * n``, gammas half of that, and for p > P
    ``2 * n`` and ``n / 2`` more. Scratch: two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(3, int)
    ...     allreduce_rabenseifner_split(comm, np.array([1, 10, 100]) * comm.rank, total)
    ...     return total.tolist()
    >>> simulate(program, 5).results[0]
    [10, 100, 1000]
    """
    rank, runs = comm.rank, fold_runs(comm.size)
    lower, higher = next((run[0], run[-1]) for run in runs if rank in run)
    if sendbuf is not recvbuf:
        np.copyto(recvbuf, sendbuf)
    if lower != higher:
        low, high = split(recvbuf, even(recvbuf.size, 2))
        kept, given = (low, high) if rank == lower else (high, low)
        peer, incoming = lower + higher - rank, np.empty_like(kept)
        comm.Sendrecv(given, dest=peer, recvbuf=incoming, source=peer)
        op(*((kept, incoming) if rank == lower else (incoming, kept)), out=kept)
        if rank == higher:
            comm.Send(high, dest=lower)
            comm.Recv(recvbuf, source=lower)
            return
        comm.Recv(high, source=higher)
    # Invariant: the lowest rank of every run holds the combination of the run.
    halve_and_double(Subgroup(comm, [run[0] for run in runs]), recvbuf, op)
    if lower != higher:
        comm.Send(recvbuf, dest=higher)
