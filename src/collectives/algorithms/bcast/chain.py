"""Chain broadcast: segments flow from rank to rank, all links busy at once."""

from __future__ import annotations

from collectives.algorithms.pipeline import send_down
from collectives.blocks import segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import ring_neighbours


def cost(p: int, n: int, *, segment: int = 8192) -> Cost:
    if p == 1:
        return Cost()
    sizes = segment_sizes(n, segment)
    alphas = p - 2 + len(sizes)
    return Cost((p - 1) * len(sizes), (p - 1) * n, alphas, betas=n + (p - 2) * sizes.largest)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="J. Pješivac-Grbović, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel, J. J. Dongarra, "
    "Cluster Comput. 10, 2007, doi:10.1007/s10586-007-0012-0",
    ships="MPICH pipelined_tree and tsp_ring, Open MPI 3, ADAPT 4, NCCL Ring",
    variants=[{"segment": 1}, {"segment": 3}],
)
def bcast_chain(comm: Comm, buf: Array, root: int = 0, *, segment: int = 8192) -> None:
    """Pass segments of at most `segment` elements from each rank to the next.

    A rank sends a segment on while it receives the next one. After p - 2 hops, in which the
    pipeline fills, the last rank gets a segment in every step.

    Notes
    -----
    messages : ``(p - 1) * max(1, ceil(n / segment))``
    volume : ``(p - 1) * n``
    alphas : ``(p > 1) * (p - 2 + max(1, ceil(n / segment)))``
    betas : ``(p > 1) * (n + (p - 2) * ceil(n / max(1, ceil(n / segment))))``
    gammas : ``0``

    Of S segments, ``sqrt((p - 2) * n * beta / alpha)`` are best. Then a long vector takes hardly
    more than ``n * beta``, the least possible. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8, 9]) if comm.rank == 2 else np.empty(3, int)
    ...     bcast_chain(comm, vector, root=2, segment=1)
    ...     return vector.tolist()
    >>> run = simulate(program, 4)
    >>> run.results[1], run.time
    ([7, 8, 9], 5.0)
    """
    left, right = ring_neighbours(comm.rank, comm.size)
    segments = split(buf, segment_sizes(buf.size, segment))
    parent = None if comm.rank == root else left
    send_down(comm, segments, (parent, [] if right == root else [right]))
