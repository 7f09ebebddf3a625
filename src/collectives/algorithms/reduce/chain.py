"""Chain reduce: segments flow from rank to rank and grow by one operand per hop."""

from __future__ import annotations

from collectives.algorithms.pipeline import combine_up
from collectives.blocks import segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import ring_neighbours


def cost(p: int, n: int, *, segment: int = 8192) -> Cost:
    if p == 1:
        return Cost()
    sizes = segment_sizes(n, segment)
    alphas, elements = p - 2 + len(sizes), n + (p - 2) * sizes.largest
    return Cost((p - 1) * len(sizes), (p - 1) * n, alphas, betas=elements, gammas=elements)


@algorithm(
    cost=cost,
    requires=[commutative],
    source="J. Pješivac-Grbović, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel, J. J. Dongarra, "
    "Cluster Comput. 10, 2007, doi:10.1007/s10586-007-0012-0",
    ships="MPICH tsp_ring, Open MPI 3, libnbc 1, NCCL Ring",
    variants=[{"segment": 1}, {"segment": 3}],
)
def reduce_chain(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    op: Op = SUM,
    root: int = 0,
    *,
    segment: int = 8192,
) -> None:
    """Pass segments of at most `segment` elements towards the root, combined at each hop.

    The chain starts on the left of the root and goes round to its right. A rank receives the
    next segment while it combines one and sends it on.

    Notes
    -----
    messages : ``(p - 1) * max(1, ceil(n / segment))``
    volume : ``(p - 1) * n``
    alphas : ``(p > 1) * (p - 2 + max(1, ceil(n / segment)))``
    betas : ``(p > 1) * (n + (p - 2) * ceil(n / max(1, ceil(n / segment))))``
    gammas : ``(p > 1) * (n + (p - 2) * ceil(n / max(1, ceil(n / segment))))``

    Nothing moves fewer bytes, and the ranks combine at the same time. Scratch: three segments.
    Operands are combined in rank order only under root 0.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.zeros(2, int)
    ...     reduce_chain(comm, np.array([1, 10]) * comm.rank, total, root=1, segment=1)
    ...     return total.tolist()
    >>> run = simulate(program, 3)
    >>> run.results, run.time
    ([[0, 0], [3, 30], [0, 0]], 3.0)
    """
    left, right = ring_neighbours(comm.rank, comm.size)
    sizes = segment_sizes(sendbuf.size, segment)
    result = None if recvbuf is None else split(recvbuf, sizes)
    parent = None if comm.rank == root else left
    place = parent, [] if right == root else [right]
    combine_up(comm, split(sendbuf, sizes), result, op, place)
