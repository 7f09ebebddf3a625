"""Recursive doubling allgather: groups of ranks that know all of each other's blocks merge."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost, in_rounds
from collectives.registry import algorithm, power_of_two
from collectives.topology import rounds


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p

    def known(rank: int, distance: int) -> int:
        first = rank // distance * distance
        return sum(sizes[first : first + distance])

    distances = [1 << step for step in range(rounds(p))]
    return in_rounds(p, ([(r, r ^ d, known(r, d), 0) for r in range(p)] for d in distances))


@algorithm(
    cost=cost,
    requires=[power_of_two],
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH recursive_doubling, Open MPI 3",
)
def allgather_recursive_doubling(
    comm: Comm, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> None:
    """Exchange all that is known with a peer 1, 2, 4, ... ranks away.

    Before the exchange at distance d, the d ranks of a group all know the d blocks of that group;
    the peer is in the group next to it. The longest messages go the longest way.

    Notes
    -----
    messages : ``p * ceil(log2(p))``
    volume : ``p * (p - 1) * n``
    alphas : ``ceil(log2(p))``
    betas : ``(p - 1) * n``
    gammas : ``0``

    No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(4, int)
    ...     allgather_recursive_doubling(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    rank, p = comm.rank, comm.size
    blocks = split(recvbuf, counts)
    if sendbuf is not recvbuf:
        blocks[rank][:] = sendbuf
    distance = 1
    while distance < p:
        # Invariant: the blocks of the aligned group of distance ranks around this one are here.
        first = rank // distance * distance
        peer, theirs = rank ^ distance, first ^ distance
        known, missing = blocks[first : first + distance], blocks[theirs : theirs + distance]
        comm.Sendrecv(known, dest=peer, recvbuf=missing, source=peer)
        distance *= 2
