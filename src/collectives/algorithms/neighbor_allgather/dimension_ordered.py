"""Dimension-ordered neighbourhood allgather: blocks spread along one axis after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.neighbor_alltoall.dimension_ordered import torus
from collectives.blocks import split
from collectives.comm import Array, GraphComm, is_cartesian
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import grid_shift, torus_offsets


def cost(p: int, n: int, *, dims: Sequence[int] | None = None) -> Cost:
    extents = [p] if dims is None else dims
    steps = sum(min(extent - 1, 2) for extent in extents)  # a ring of 2 has 1 neighbour, of 1 none
    return Cost(p * steps, p * steps * n, alphas=steps, betas=steps * n)


@algorithm(
    cost=cost,
    requires=[torus],
    keeps_order=True,
    source="J. L. Träff, S. Hunold, Cartesian Collective Communication, ICPP, 2019",
)
def neighbor_allgather_dimension_ordered(
    comm: GraphComm, sendbuf: Array, recvbuf: Array, *, dims: Sequence[int] | None = None
) -> None:
    """Pass on all blocks that travel further in one message per step along each axis.

    Neighbours at the same offsets from every rank, on a torus of these `dims` (which a Cartesian
    communicator has), are reached over those that differ in one coordinate: the 8 around a rank in
    a plane with 4 messages, the 26 in space with 6. Blocks that are needed in several places share
    the first part of the way.

    Notes
    -----
    messages : ``p * sum(min(extent - 1, 2) for extent in dims)``
    alphas : ``sum(min(extent - 1, 2) for extent in dims)``
    gammas : ``0``

    One message for every step other than 0 that the offsets have along an axis. In MPI's grid,
    where neighbours are one step away along one axis, nothing is gained over the linear algorithm.
    Scratch: all blocks received.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     ring = comm.Create_cart([comm.size], periods=[True])
    ...     halo = np.empty(2, int)
    ...     neighbor_allgather_dimension_ordered(ring, np.array([comm.rank]), halo)
    ...     return halo.tolist()
    >>> simulate(program, 4).results
    [[3, 1], [0, 2], [1, 3], [2, 0]]
    """
    rank, n = comm.rank, sendbuf.size
    extents: Sequence[int] = getattr(comm, "dims", ()) if dims is None else dims
    offsets = torus_offsets(rank, comm.outedges, extents)
    held: dict[tuple[int, ...], Array] = {(): sendbuf}
    for axis in range(len(extents)):
        # Invariant: held has, by offset along the axes before, the blocks of the ranks so far back.
        wanted = sorted({offset[: axis + 1] for offset in offsets})
        arrived = {way: held[way[:-1]] for way in wanted if way[-1] == 0}
        for step in sorted({way[-1] for way in wanted} - {0}):
            ways = [way for way in wanted if way[-1] == step]
            outgoing, incoming = (np.empty_like(sendbuf, shape=len(ways) * n) for _ in range(2))
            for place, way in enumerate(ways):
                outgoing[place * n : (place + 1) * n] = held[way[:-1]]
                arrived[way] = incoming[place * n : (place + 1) * n]
            ahead, behind = (grid_shift(rank, axis, s, extents) for s in (step, -step))
            comm.Sendrecv(outgoing, dest=ahead, recvbuf=incoming, source=behind)
        held = arrived
    blocks = split(recvbuf, [n] * len(offsets))
    for slot, offset in enumerate(offsets):
        blocks[slot ^ is_cartesian(comm)][:] = held[offset]
