"""Double binary tree broadcast: half of the segments on each of two trees, all links busy."""

from __future__ import annotations

from collectives.algorithms import scheduled
from collectives.blocks import segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.schedules import double_tree_rounds


def cost(p: int, n: int, *, segment: int = 8192) -> Cost:
    sizes = segment_sizes(n, segment)
    schedules = [double_tree_rounds(rank, 0, p, len(sizes)) for rank in range(p)]
    return scheduled.cost(sizes, schedules, combining=False)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="P. Sanders, J. Speck, J. L. Träff, Parallel Computing 35, 2009, "
    "doi:10.1016/j.parco.2009.09.001",
    ships="UCC dbt, oneCCL double_tree",
    variants=[{"segment": 1}, {"segment": 3}],
)
def bcast_double_binary_tree(comm: Comm, buf: Array, root: int = 0, *, segment: int = 8192) -> None:
    """Pass even segments down one binary tree and odd ones down another.

    In one binary tree, inner ranks send everything twice and leaves nothing at all. Here no rank
    is inner in both trees: it sends two messages for two segments, one to each child, and receives
    these two segments, one in each tree, in the same two rounds.

    Notes
    -----
    messages : ``(p - 1) * max(1, ceil(n / segment))``
    volume : ``(p - 1) * n``
    gammas : ``0``

    With S segments there are no more than ``S + 2 * log2(p)`` rounds: a long vector takes hardly
    more than ``n * beta``, with a much shorter pipeline than in a chain. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8, 9]) if comm.rank == 2 else np.empty(3, int)
    ...     bcast_double_binary_tree(comm, vector, root=2, segment=1)
    ...     return vector.tolist()
    >>> run = simulate(program, 5)
    >>> run.results[1], run.time
    ([7, 8, 9], 6.0)
    """
    segments = split(buf, segment_sizes(buf.size, segment))
    schedule = double_tree_rounds(comm.rank, root, comm.size, len(segments))
    scheduled.broadcast_by(comm, segments, schedule)
