"""Recursive multiplying all-reduce: groups of k exchange vectors, at distance 1, k, k**2, ..."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.allreduce.allgather_reduce import combine
from collectives.blocks import even, split
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import digit_peers, largest_power


def cost(p: int, n: int, *, radix: int = 4) -> Cost:
    radix = max(2, min(radix, p))
    members, steps = largest_power(radix, p), 0
    while radix**steps < members:
        steps += 1
    surplus, hops = p - members, -(-p // members) - 1
    messages = steps * (radix - 1) * members + 2 * surplus
    alphas, gammas = steps * (radix - 1) + 2 * hops, steps * (radix - 1) + hops
    return Cost(messages, messages * n, alphas, betas=alphas * n, gammas=gammas * n)


def multiply(comm: Comm, partial: Array, op: Op, radix: int) -> None:
    """All-reduce `partial` in place, in rank order, among a power of `radix` ranks."""
    counts = even(radix * partial.size, radix)
    vectors = split(np.empty_like(partial, shape=counts.n), counts)
    distance = 1
    while distance < comm.size:
        # Invariant: partial combines the aligned group of `distance` ranks around this one;
        # vectors are cut by digit, counted on from 0 after radix - 1.
        vectors[comm.rank // distance][:] = partial
        for step in range(1, radix):
            dest, source = digit_peers(comm.rank, step, distance, radix)
            incoming = vectors[source // distance]
            comm.Sendrecv(partial, dest=dest, recvbuf=incoming, source=source)
        combine(vectors, op, out=partial)
        distance *= radix


@algorithm(
    cost=cost,
    requires=[commutative],
    variants=[{"radix": 2}, {"radix": 3}],
    source="M. Ruefenacht, M. Bull, S. Booth, Parallel Computing 69, 2017",
    ships="MPICH recursive_multiplying",
)
def allreduce_recursive_multiplying(
    comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM, *, radix: int = 4
) -> None:
    """Multiply the number of vectors in every partial result by `radix` in every step.

    Written in base `radix`, the ranks of a group differ in one digit only, and each sends its
    vector to all others of its group. Fewer steps than recursive doubling, of ``radix - 1``
    messages each: that is faster where these overlap. Ranks from the largest power of `radix` on
    hand their vectors to a lower one first and get the result last.

    Notes
    -----
    k : ``max(2, min(radix, p))``
    j : ``floor(log2(p + 0.5) / log2(k))``
    messages : ``2 * p + (j * (k - 1) - 2) * k**j``
    volume : ``messages * n``
    alphas : ``j * (k - 1) + 2 * (ceil(p / k**j) - 1)``
    betas : ``alphas * n``
    gammas : ``(j * (k - 1) + ceil(p / k**j) - 1) * n``

    Scratch: `radix` vectors. Where p is a power of the radix, operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(1, int)
    ...     allreduce_recursive_multiplying(comm, np.array([comm.rank]), total, radix=3)
    ...     return total.item()
    >>> simulate(program, 4).results
    [6, 6, 6, 6]
    """
    rank, p = comm.rank, comm.size
    radix = max(2, min(radix, p))
    members = largest_power(radix, p)
    if rank >= members:
        comm.Send(sendbuf, dest=rank % members)
        comm.Recv(recvbuf, source=rank % members)
        return
    if sendbuf is not recvbuf:
        np.copyto(recvbuf, sendbuf)
    surplus = range(rank + members, p, members)
    incoming = np.empty_like(recvbuf, shape=recvbuf.size if surplus else 0)
    for source in surplus:
        comm.Recv(incoming, source=source)
        op(recvbuf, incoming, out=recvbuf)
    multiply(Subgroup(comm, range(members)), recvbuf, op, radix)
    for dest in surplus:
        comm.Send(recvbuf, dest=dest)
