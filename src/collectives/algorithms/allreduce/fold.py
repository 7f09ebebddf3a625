"""Fold: ranks beyond a power of the radix hand their vectors to a neighbour, and get the result.

Not an algorithm: what those that need a power of 2, 3, ... ranks do first and last.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost
from collectives.op import Op
from collectives.topology import fold_runs, largest_power


def cost(p: int, n: int, radix: int = 2) -> Cost:
    """Return what `fold_in` and `fold_out` cost together."""
    surplus = p - largest_power(radix, p)
    hops = min(surplus, radix - 1)  # the surplus ranks of the longest run
    return Cost(2 * surplus, 2 * surplus * n, 2 * hops, betas=2 * hops * n, gammas=hops * n)


def fold_in(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op, radix: int = 2) -> Comm | None:
    """Combine the vectors of every run of `fold_runs` on its last rank.

    Returns the group of these last ranks, whose operands now lie in `recvbuf`; None on the others.
    """
    runs = fold_runs(comm.size, radix)
    run = runs[bisect_left(runs, comm.rank, key=lambda run: run[-1])]
    if comm.rank != run[-1]:
        comm.Send(sendbuf, dest=run[-1])
        return None
    if sendbuf is not recvbuf:
        np.copyto(recvbuf, sendbuf)
    if len(runs) == comm.size:
        return comm
    incoming = np.empty_like(recvbuf, shape=recvbuf.size if len(run) > 1 else 0)
    for source in reversed(run[:-1]):
        # Invariant: recvbuf combines ranks source + 1 .. run[-1], in this order.
        comm.Recv(incoming, source=source)
        op(incoming, recvbuf, out=recvbuf)
    return Subgroup(comm, [run[-1] for run in runs])


def fold_out(comm: Comm, recvbuf: Array, radix: int = 2) -> None:
    """Send the result, complete on the last rank of every run, to the rest of the run."""
    runs = fold_runs(comm.size, radix)
    run = runs[bisect_left(runs, comm.rank, key=lambda run: run[-1])]
    if comm.rank != run[-1]:
        comm.Recv(recvbuf, source=run[-1])
        return
    for dest in run[:-1]:
        comm.Send(recvbuf, dest=dest)
