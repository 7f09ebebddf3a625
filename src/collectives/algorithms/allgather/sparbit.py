"""Sparbit allgather: every block goes down its own binomial tree, straight to its place."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost, in_rounds
from collectives.registry import algorithm
from collectives.topology import pat_steps


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    return in_rounds(p, (
        [(rank, (rank + distance) % p, sizes[(rank - node) % p], 0)
         for node in nodes for rank in range(p)]
        for distance, nodes in pat_steps(p, aggregate=p)
    ))  # fmt: skip


@algorithm(
    cost=cost,
    keeps_order=True,
    source="W. J. Loch, G. P. Koslovski, 2021, arXiv:2109.08751",
    ships="Open MPI 7, UCC sparbit",
)
def allgather_sparbit(
    comm: Comm, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> None:
    """Send what is known half the way round, then a quarter, an eighth, ... of the way.

    The trees of all blocks are the same, shifted by their owner: in a round every rank sends, to
    the rank that far to its right, every other block of what both it and that rank will know at
    the end of it. Only single blocks go the longest way. Each is a message of its own, received
    where it belongs: nothing is copied.

    Notes
    -----
    messages : ``p * (p - 1)``
    volume : ``p * (p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``0``

    There are ``ceil(log2(p))`` rounds; the price for not packing is a message per block. No
    scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(4, int)
    ...     allgather_sparbit(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    rank, p = comm.rank, comm.size
    blocks = split(recvbuf, counts)
    if sendbuf is not recvbuf:
        blocks[rank][:] = sendbuf
    for distance, nodes in pat_steps(p, aggregate=p):
        # Invariant: this rank has, for every node below, the block whose tree has it there.
        left, right = (rank - distance) % p, (rank + distance) % p
        receives = [comm.Irecv(blocks[left - node], source=left) for node in nodes]
        sends = [comm.Isend(blocks[rank - node], dest=right) for node in nodes]
        for request in receives + sends:
            request.Wait()
