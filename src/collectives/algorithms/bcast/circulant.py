"""Circulant broadcast: everyone sends in every round, in as few rounds as there can be."""

from __future__ import annotations

from collectives.algorithms import scheduled
from collectives.blocks import segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.schedules import circulant_rounds


def cost(p: int, n: int, *, segment: int = 8192) -> Cost:
    sizes = segment_sizes(n, segment)
    schedules = [circulant_rounds(rank, 0, p, len(sizes)) for rank in range(p)]
    return scheduled.cost(sizes, schedules, combining=False)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="J. L. Träff, A. Ripke, J. Parallel Distrib. Comput. 68, 2008, "
    "doi:10.1016/j.jpdc.2007.12.001; J. L. Träff, arXiv:2407.18004, doi:10.1145/3735139",
    ships="MPICH circ_graph (main only)",
    variants=[{"segment": 1}, {"segment": 3}],
)
def bcast_circulant(comm: Comm, buf: Array, root: int = 0, *, segment: int = 8192) -> None:
    """Send in every round to the rank that is a skip to the right, receive from the left.

    The skips are p halved again and again, and take turns. Which segment goes is worked out such
    that everyone receives a new one in every round, once the first has reached everybody.

    Notes
    -----
    messages : ``(p - 1) * max(1, ceil(n / segment))``
    volume : ``(p - 1) * n``
    alphas : ``(p > 1) * (max(1, ceil(n / segment)) - 1 + ceil(log2(p)))``
    gammas : ``0``

    No broadcast of so many segments has fewer rounds. Of S segments,
    ``sqrt((log2(p) - 1) * n * beta / alpha)`` are best. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8, 9]) if comm.rank == 2 else np.empty(3, int)
    ...     bcast_circulant(comm, vector, root=2, segment=1)
    ...     return vector.tolist()
    >>> run = simulate(program, 5)
    >>> run.results[1], run.time
    ([7, 8, 9], 5.0)
    """
    segments = split(buf, segment_sizes(buf.size, segment))
    schedule = circulant_rounds(comm.rank, root, comm.size, len(segments))
    scheduled.broadcast_by(comm, segments, schedule)
