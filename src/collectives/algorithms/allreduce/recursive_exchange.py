"""Recursive exchange all-reduce: recursive multiplying with a fold that keeps rank order."""

from __future__ import annotations

from collectives.algorithms.allreduce.fold import cost as fold_cost
from collectives.algorithms.allreduce.fold import fold_in, fold_out
from collectives.algorithms.allreduce.recursive_multiplying import cost as multiplying_cost
from collectives.algorithms.allreduce.recursive_multiplying import multiply
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.topology import largest_power


def cost(p: int, n: int, *, radix: int = 4) -> Cost:
    radix = max(2, min(radix, p))
    survivors = largest_power(radix, p)
    return fold_cost(p, n, radix) + multiplying_cost(survivors, n, radix=radix)


@algorithm(
    cost=cost,
    keeps_order=True,
    variants=[{"radix": 2}, {"radix": 3}],
    source="P. Sack, W. Gropp, PPoPP 2012",
    ships="MPICH recexch",
)
def allreduce_recursive_exchange(
    comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM, *, radix: int = 4
) -> None:
    """Fold neighbours onto a power of the radix, then exchange vectors digit by digit.

    Surplus ranks are the first ones of runs of up to `radix` neighbours and hand their vectors
    to the last one of their run. What is then combined, distance 1 first, are always
    neighbouring runs of ranks, so that operands stay in order for every p. With radix 2 this is
    recursive doubling.

    Notes
    -----
    k : ``max(2, min(radix, p))``
    j : ``floor(log2(p + 0.5) / log2(k))``
    messages : ``2 * p + (j * (k - 1) - 2) * k**j``
    volume : ``messages * n``
    alphas : ``j * (k - 1) + 2 * min(k - 1, p - k**j)``
    betas : ``alphas * n``
    gammas : ``(j * (k - 1) + min(k - 1, p - k**j)) * n``

    Scratch: `radix` vectors and, during the fold, one more. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(1, int)
    ...     allreduce_recursive_exchange(comm, np.array([comm.rank]), total, radix=3)
    ...     return total.item()
    >>> simulate(program, 5).results
    [10, 10, 10, 10, 10]
    """
    radix = max(2, min(radix, comm.size))
    survivors = fold_in(comm, sendbuf, recvbuf, op, radix)
    if survivors is not None:
        multiply(survivors, recvbuf, op, radix)
    fold_out(comm, recvbuf, radix)
