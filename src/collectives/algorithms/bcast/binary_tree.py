"""Binary tree broadcast: segments flow down a tree in which nobody has more than two children."""

from __future__ import annotations

from collectives.algorithms.pipeline import send_down
from collectives.algorithms.pipeline_cost import down_cost
from collectives.blocks import segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import binary_children, binary_parent


def cost(p: int, n: int, *, segment: int = 8192) -> Cost:
    return down_cost(p, segment_sizes(n, segment), lambda rank: binary_children(rank, 0, p))


@algorithm(
    cost=cost,
    keeps_order=True,
    source="J. Pješivac-Grbović, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel, J. J. Dongarra, "
    "Cluster Comput. 10, 2007, doi:10.1007/s10586-007-0012-0",
    ships="MPICH pipelined_tree, Open MPI 5, ADAPT 3",
    variants=[{"segment": 1}, {"segment": 3}],
)
def bcast_binary_tree(comm: Comm, buf: Array, root: int = 0, *, segment: int = 8192) -> None:
    """Pass segments of at most `segment` elements down a binary tree.

    The pipeline is only about ``log2(p)`` ranks deep, but an inner rank sends everything twice.

    Notes
    -----
    messages : ``(p - 1) * max(1, ceil(n / segment))``
    volume : ``(p - 1) * n``
    gammas : ``0``

    With S segments and p = 2**k - 1 > 1 ranks there are ``2 * (k - 2 + S)`` steps in a row. No
    scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8, 9]) if comm.rank == 2 else np.empty(3, int)
    ...     bcast_binary_tree(comm, vector, root=2, segment=1)
    ...     return vector.tolist()
    >>> run = simulate(program, 7)
    >>> run.results[1], run.time
    ([7, 8, 9], 8.0)
    """
    rank, p = comm.rank, comm.size
    segments = split(buf, segment_sizes(buf.size, segment))
    send_down(comm, segments, (binary_parent(rank, root, p), binary_children(rank, root, p)))
