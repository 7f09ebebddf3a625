"""Recursive doubling exscan: groups of ranks merge, and the upper half adds what the lower has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from collectives.comm import Array, Comm
from collectives.cost import Cost, Message, in_rounds
from collectives.op import SUM, Op
from collectives.registry import algorithm
from collectives.topology import rounds


def cost(p: int, n: int) -> Cost:
    return in_rounds(p, schedule(p, n))


def schedule(p: int, n: int) -> Iterator[list[Message]]:
    for distance in (1 << step for step in range(rounds(p))):
        pairs = [(rank, rank ^ distance) for rank in range(p) if rank ^ distance < p]
        yield [
            (rank, peer, n, n + n * (rank < peer and peer % distance > 0)) for rank, peer in pairs
        ]


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH recursive_doubling, Open MPI 2, libnbc 2",
)
def exscan_recursive_doubling(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Exchange the total of the group with a peer 1, 2, 4, ... ranks away.

    A rank keeps two partial results: the total of its group, which it exchanges, and that of the
    ranks before itself, to which it adds totals of lower groups only; the first one is copied.

    Notes
    -----
    messages : ``sum(rank ^ 2**t < p for rank in range(p) for t in range(ceil(log2(p))))``
    volume : ``sum(rank ^ 2**t < p for rank in range(p) for t in range(ceil(log2(p)))) * n``
    alphas : ``ceil(log2(p))``
    betas : ``ceil(log2(p)) * n``

    For p a power of two, the last rank combines 2 * n elements in every step but the first, in
    which it combines n. Scratch: two vectors. Operands are combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     before = np.zeros(2, int)
    ...     exscan_recursive_doubling(comm, np.array([1, comm.rank]), before)
    ...     return before.tolist()
    >>> simulate(program, 4).results
    [[0, 0], [1, 0], [2, 1], [3, 3]]
    """
    rank, p = comm.rank, comm.size
    total, incoming = sendbuf.copy(), np.empty_like(sendbuf)
    distance = 1
    while distance < p:
        # Invariant: total combines the aligned group of distance ranks around this one, recvbuf
        # those of them before this one, if there are any.
        peer = rank ^ distance
        if peer < p:
            comm.Sendrecv(total, dest=peer, recvbuf=incoming, source=peer)
            if peer > rank:
                op(total, incoming, out=total)
            else:
                if rank % distance == 0:
                    np.copyto(recvbuf, incoming)
                else:
                    op(incoming, recvbuf, out=recvbuf)
                op(incoming, total, out=total)
        distance *= 2
