"""Dimension-ordered neighbourhood all-to-all: blocks travel along one axis after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from collectives.algorithms.alltoall.bruck import forward
from collectives.blocks import even, split
from collectives.comm import Array, GraphComm, is_cartesian
from collectives.cost import Cost
from collectives.registry import Call, Requirement, algorithm
from collectives.topology import grid_shift, torus_offsets


def cost(p: int, n: int, *, dims: Sequence[int] | None = None) -> Cost:
    extents = [p] if dims is None else dims
    steps = sum(min(extent - 1, 2) for extent in extents)  # a ring of 2 has 1 neighbour, of 1 none
    sent = sum(2 * n for extent in extents if extent > 1)
    return Cost(p * steps, p * sent, alphas=steps, betas=sent)


def on_torus(call: Call) -> bool:
    """Tell whether what leaves for the neighbour at an offset comes in from where it is due."""
    comm: Any = call["comm"]
    if call["dims"] is None and not (is_cartesian(comm) and all(comm.periods)):
        return False
    dims = comm.dims if call["dims"] is None else call["dims"]
    sources, destinations, other_side = comm.inedges, comm.outedges, is_cartesian(comm)
    if math.prod(dims) != comm.size or len(sources) != len(destinations):
        return False
    backwards = [sources[slot ^ other_side] for slot in range(len(sources))]
    return torus_offsets(comm.rank, destinations, dims) == [
        tuple(-step % extent for step, extent in zip(offset, dims, strict=True))
        for offset in torus_offsets(comm.rank, backwards, dims)
    ]


torus = Requirement(
    "torus", on_torus, lambda call: f"dims={call['dims']}, neighbours {call['comm'].outedges}"
)


@algorithm(
    cost=cost,
    requires=[torus],
    keeps_order=True,
    source="J. L. Träff, S. Hunold, Cartesian Collective Communication, ICPP, 2019",
)
def neighbor_alltoall_dimension_ordered(
    comm: GraphComm, sendbuf: Array, recvbuf: Array, *, dims: Sequence[int] | None = None
) -> None:
    """Pass on all blocks that have the same step to make along an axis in one message.

    For neighbours at the same offsets from every rank, on a torus of these `dims` (which a
    Cartesian communicator has): the 8 around a rank in a plane take 4 messages, the 26 in space 6,
    of blocks that travel up to 2 or 3 times.

    Notes
    -----
    messages : ``p * sum(min(extent - 1, 2) for extent in dims)``
    alphas : ``sum(min(extent - 1, 2) for extent in dims)``
    gammas : ``0``

    One message for every step other than 0 that the offsets have along an axis. In MPI's grid,
    where neighbours are one step away along one axis, nothing is gained over the linear algorithm.
    Scratch: two vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     ring = comm.Create_cart([comm.size], periods=[True])
    ...     halo = np.empty(2, int)
    ...     neighbor_alltoall_dimension_ordered(ring, np.array([-1, 1]) * comm.rank, halo)
    ...     return halo.tolist()
    >>> simulate(program, 4).results
    [[3, -1], [0, -2], [1, -3], [2, 0]]
    """
    rank = comm.rank
    extents: Sequence[int] = getattr(comm, "dims", ()) if dims is None else dims
    offsets = torus_offsets(rank, comm.outedges, extents)
    held, packed, arrived = (
        split(array, even(sendbuf.size, len(offsets)))
        for array in (sendbuf.copy(), np.empty_like(sendbuf), recvbuf)
    )
    for axis in range(len(extents)):
        for step in sorted({offset[axis] for offset in offsets} - {0}):
            # Invariant: held[slot] has come along its offset on the axes before.
            moving = [slot for slot, offset in enumerate(offsets) if offset[axis] == step]
            ahead, behind = (grid_shift(rank, axis, s, extents) for s in (step, -step))
            forward(comm, held, moving, ahead, behind, packed, arrived)
    for slot in range(len(offsets)):
        arrived[slot ^ is_cartesian(comm)][:] = held[slot]
