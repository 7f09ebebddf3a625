"""Binary tree reduce: segments flow up a tree in which nobody has more than two children."""

from __future__ import annotations

from collectives.algorithms.pipeline import combine_up
from collectives.algorithms.pipeline_cost import up_cost
from collectives.blocks import segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import binary_children, binary_parent


def cost(p: int, n: int, *, segment: int = 8192) -> Cost:
    return up_cost(p, segment_sizes(n, segment), 0, lambda rank: binary_children(rank, 0, p))


@algorithm(
    cost=cost,
    requires=[commutative],
    source="J. Pješivac-Grbović, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel, J. J. Dongarra, "
    "Cluster Comput. 10, 2007, doi:10.1007/s10586-007-0012-0",
    ships="Open MPI 4",
    variants=[{"segment": 1}, {"segment": 3}],
)
def reduce_binary_tree(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    op: Op = SUM,
    root: int = 0,
    *,
    segment: int = 8192,
) -> None:
    """Pass segments of at most `segment` elements up a binary tree, combined at every rank.

    The pipeline is only about ``log2(p)`` ranks deep, but an inner rank receives and combines
    everything twice.

    Notes
    -----
    messages : ``(p - 1) * max(1, ceil(n / segment))``
    volume : ``(p - 1) * n``

    With S segments and p = 2**k - 1 > 1 ranks there are ``2 * (k - 2 + S)`` steps in a row.
    Scratch: three segments. A subtree has every other rank, or every fourth, ..., so that
    operands are not combined in rank order.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.zeros(2, int)
    ...     reduce_binary_tree(comm, np.array([1, 10]) * comm.rank, total, root=1, segment=1)
    ...     return total.tolist()
    >>> run = simulate(program, 7)
    >>> run.results[1], run.time
    ([21, 210], 6.0)
    """
    rank, p = comm.rank, comm.size
    sizes = segment_sizes(sendbuf.size, segment)
    result = None if recvbuf is None else split(recvbuf, sizes)
    place = binary_parent(rank, root, p), binary_children(rank, root, p)
    combine_up(comm, split(sendbuf, sizes), result, op, place)
