"""Linear neighbourhood allgather: one message per neighbour, all at once."""

from __future__ import annotations

from collectives.blocks import split
from collectives.comm import Array, GraphComm, Request
from collectives.cost import Cost
from collectives.registry import algorithm


def cost(p: int, n: int, *, degree: int = 2) -> Cost:
    return Cost(p * degree, p * degree * n, alphas=degree, betas=degree * n)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="MPI 4.1, section 8.6.1",
    ships="MPICH sched_linear and tsp_linear, Open MPI basic, libnbc",
)
def neighbor_allgather_linear(comm: GraphComm, sendbuf: Array, recvbuf: Array) -> None:
    """Start to receive from and to send to every neighbour, and wait for all of it.

    Notes
    -----
    messages : ``p * degree``
    volume : ``p * degree * n``
    alphas : ``degree``
    betas : ``degree * n``
    gammas : ``0``

    A message of n elements for every edge of the graph. The formulas hold where all ranks have
    `degree` neighbours to send to and to receive from, as in a grid with wrap-around, and no rank
    is sent to twice at a time. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     ring = comm.Create_cart([comm.size], periods=[True])
    ...     halo = np.empty(2, int)
    ...     neighbor_allgather_linear(ring, np.array([comm.rank]), halo)
    ...     return halo.tolist()
    >>> simulate(program, 4).results
    [[3, 1], [0, 2], [1, 3], [2, 0]]
    """
    sources, destinations = comm.inedges, comm.outedges
    blocks = split(recvbuf, [sendbuf.size] * len(sources))
    requests: list[Request] = []
    for block, source in zip(blocks, sources, strict=True):
        if source >= 0:
            requests.append(comm.Irecv(block, source=source))
    for dest in destinations:
        if dest >= 0:
            requests.append(comm.Isend(sendbuf, dest=dest))
    for request in requests:
        request.Wait()
