"""Neighbor exchange allgather: every rank talks to its two neighbours by turns."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost, in_rounds
from collectives.registry import algorithm, even_size
from collectives.topology import zigzag


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    schedule = [[(rank, rank ^ 1, sizes[rank], 0) for rank in range(p)]]
    for step in range(1, p // 2):
        arriving = [zigzag(rank, step, p) for rank in range(p)]
        schedule.append(
            [(a, b, sum(sizes[2 * i : 2 * i + 2]), 0) for b, (a, i) in enumerate(arriving)]
        )
    return in_rounds(p, schedule)


@algorithm(
    cost=cost,
    requires=[even_size],
    keeps_order=True,
    source="J. Chen, Y. Zhang, L. Zhang, W. Yuan, HPC-Asia 2005, doi:10.1109/HPCASIA.2005.75",
    ships="Open MPI 5, UCC neighbor",
)
def allgather_neighbor_exchange(
    comm: Comm, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> None:
    """Exchange with the left and the right neighbour by turns, two blocks at a time.

    First ranks pair up and share their blocks. From then on each forwards to one neighbour the
    pair of blocks that came from the other: half the steps of a ring, and still no rank ever
    talks to more than two.

    Notes
    -----
    messages : ``p * p / 2``
    volume : ``p * (p - 1) * n``
    alphas : ``p / 2``
    betas : ``(p - 1) * n``
    gammas : ``0``

    No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(4, int)
    ...     allgather_neighbor_exchange(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    rank, p = comm.rank, comm.size
    blocks = split(recvbuf, counts)
    if sendbuf is not recvbuf:
        blocks[rank][:] = sendbuf
    peer, pair = zigzag(rank, 0, p)
    comm.Sendrecv(blocks[rank], dest=peer, recvbuf=blocks[peer], source=peer)
    for step in range(1, p // 2):
        # Invariant: blocks 2 * pair and 2 * pair + 1 came last, both together.
        outgoing = blocks[2 * pair : 2 * pair + 2]
        peer, pair = zigzag(rank, step, p)
        missing = blocks[2 * pair : 2 * pair + 2]
        comm.Sendrecv(outgoing, dest=peer, recvbuf=missing, source=peer)
