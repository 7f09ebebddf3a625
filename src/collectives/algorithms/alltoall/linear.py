"""Linear all-to-all: everyone sends to and receives from everyone at once."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.blocks import Blocks, split
from collectives.comm import Array, Comm, Request
from collectives.cost import Cost
from collectives.registry import algorithm


def cost(p: int, n: int) -> Cost:
    return Cost(p * (p - 1), p * (p - 1) * n, alphas=p - 1, betas=(p - 1) * n)


@algorithm(cost=cost, keeps_order=True, source="folklore", ships="Open MPI 1, Gloo, oneCCL direct")
def alltoall_linear(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    *,
    sendcounts: Sequence[int] | None = None,
    recvcounts: Sequence[int] | None = None,
) -> None:
    """Start to receive every block and to send every block, and wait for all of it.

    Ranks start with their right neighbour and not with rank 0, so that they do not all send to the
    same rank first.

    Notes
    -----
    messages : ``p * (p - 1)``
    volume : ``p * (p - 1) * n``
    alphas : ``p - 1``
    betas : ``(p - 1) * n``
    gammas : ``0``

    No scratch; IN_PLACE, a copy of the vector.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     incoming = np.empty(3, int)
    ...     alltoall_linear(comm, np.arange(3) + 10 * comm.rank, incoming)
    ...     return incoming.tolist()
    >>> simulate(program, 3).results
    [[0, 10, 20], [1, 11, 21], [2, 12, 22]]
    """
    outgoing, incoming = blocks_apart(sendbuf, recvbuf, sendcounts, recvcounts)
    incoming[comm.rank][:] = outgoing[comm.rank]
    exchange(comm, outgoing, incoming, range(1, comm.size))


def blocks_apart(
    sendbuf: Array,
    recvbuf: Array,
    sendcounts: Sequence[int] | None,
    recvcounts: Sequence[int] | None,
) -> tuple[Blocks, Blocks]:
    """Return the blocks to send and those to receive, which never share memory."""
    whole = sendbuf.copy() if sendbuf is recvbuf else sendbuf
    return split(whole, sendcounts), split(recvbuf, recvcounts)


def exchange(comm: Comm, outgoing: Blocks, incoming: Blocks, distances: Sequence[int]) -> None:
    """Send to the ranks at these distances and receive from those as far away, all at once."""
    rank, p = comm.rank, comm.size
    requests: list[Request] = []
    for distance in distances:
        requests.append(comm.Irecv(incoming[rank - distance], source=(rank - distance) % p))
    for distance in distances:
        requests.append(comm.Isend(outgoing[rank + distance], dest=(rank + distance) % p))
    for request in requests:
        request.Wait()
