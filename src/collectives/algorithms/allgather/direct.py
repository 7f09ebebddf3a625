"""Direct allgather: every rank sends its block to every other one, all at once."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.blocks import split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    total, even = sum(sizes), max(sizes) == min(sizes)
    betas = (p - 1) * max(sizes)
    if not even:  # a message waits for its sender's and for its receiver's others, at most
        ways = ((sizes[i], sizes[j]) for i in range(p) for j in range(p) if i != j)
        betas = max(((p - 2) * sent + total - kept for sent, kept in ways), default=0)
    return Cost(p * (p - 1), (p - 1) * total, alphas=p - 1, betas=betas, exact=even)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="folklore",
    ships="Open MPI 8 (from 6.0), UCC linear, oneCCL direct",
)
def allgather_direct(
    comm: Comm, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> None:
    """Post a receive from every other rank, then a send to every other rank.

    Each rank starts with its right neighbour and goes on round the ring, so that at no time all
    ranks send to the same one.

    Notes
    -----
    messages : ``p * (p - 1)``
    volume : ``p * (p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``0``

    One step, were there as many ports as ranks; p - 1 with one. With `counts`, messages wait for
    longer ones at either end, and `betas` is a bound. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(3, int)
    ...     allgather_direct(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 3).results
    [[0, 11, 22], [0, 11, 22], [0, 11, 22]]
    """
    rank, p = comm.rank, comm.size
    blocks = split(recvbuf, counts)
    if sendbuf is not recvbuf:
        blocks[rank][:] = sendbuf
    sources = [(rank - distance) % p for distance in range(1, p)]
    receives = [comm.Irecv(blocks[source], source=source) for source in sources]
    # Invariant: only this rank's own block is sent, and nothing is received there.
    sends = [comm.Isend(blocks[rank], dest=(rank + distance) % p) for distance in range(1, p)]
    for request in receives + sends:
        request.Wait()
