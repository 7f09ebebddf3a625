"""Linear neighbourhood all-to-all: one message per neighbour, all at once."""

from __future__ import annotations

from collectives.algorithms.neighbor_allgather.linear import cost as cost
from collectives.blocks import even, split
from collectives.comm import Array, GraphComm, Request, is_cartesian
from collectives.registry import algorithm


@algorithm(
    cost=cost,
    keeps_order=True,
    source="MPI 4.1, section 8.6.2",
    ships="MPICH sched_linear and tsp_linear, Open MPI basic, libnbc",
)
def neighbor_alltoall_linear(comm: GraphComm, sendbuf: Array, recvbuf: Array) -> None:
    """Start to receive from and to send to every neighbour, and wait for all of it.

    Two ranks may be neighbours more than once, as on both sides in a ring of two. Their messages
    are told apart by their order: in a graph the receives are posted in the order in which the
    blocks are sent; in a grid, what leaves to the front comes in from behind, so that the two
    receives of each dimension change places.

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
    ...     neighbor_alltoall_linear(ring, np.array([-1, 1]) * comm.rank, halo)
    ...     return halo.tolist()
    >>> simulate(program, 4).results
    [[3, -1], [0, -2], [1, -3], [2, 0]]
    """
    sources, destinations = comm.inedges, comm.outedges
    outgoing = split(sendbuf, even(sendbuf.size, len(destinations)))
    incoming = split(recvbuf, even(recvbuf.size, len(sources)))
    other_side = 1 if is_cartesian(comm) else 0
    requests: list[Request] = []
    for place in range(len(sources)):
        slot = place ^ other_side
        if sources[slot] >= 0:
            requests.append(comm.Irecv(incoming[slot], source=sources[slot]))
    for block, dest in zip(outgoing, destinations, strict=True):
        if dest >= 0:
            requests.append(comm.Isend(block, dest=dest))
    for request in requests:
        request.Wait()
