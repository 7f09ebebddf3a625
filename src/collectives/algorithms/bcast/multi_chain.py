"""Multi-chain broadcast: the root feeds several chains."""

from __future__ import annotations

from collectives.algorithms.pipeline import send_down
from collectives.algorithms.pipeline_cost import down_cost
from collectives.blocks import even, segment_sizes, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm


def place(rank: int, root: int, p: int, chains: int) -> tuple[int | None, list[int]]:
    """Return the parent and the children of `rank`: a chain is a run of ranks after the root.

    Examples
    --------
    >>> [place(rank, 0, 6, chains=2) for rank in range(6)]
    [(None, [1, 4]), (0, [2]), (1, [3]), (2, []), (0, [5]), (4, [])]
    """
    v, lengths = (rank - root) % p, even(p - 1, chains)
    heads = [1 + lengths.start(i) for i in range(min(chains, p - 1))]
    if v == 0:
        return None, [(head + root) % p for head in heads]
    following = [] if v + 1 in (*heads, p) else [(rank + 1) % p]
    return root if v in heads else (rank - 1) % p, following


def cost(p: int, n: int, *, chains: int = 4, segment: int = 8192) -> Cost:
    return down_cost(p, segment_sizes(n, segment), lambda rank: place(rank, 0, p, chains)[1])


@algorithm(
    cost=cost,
    keeps_order=True,
    source="J. Pješivac-Grbović, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel, J. J. Dongarra, "
    "Cluster Comput. 10, 2007, doi:10.1007/s10586-007-0012-0",
    ships="Open MPI 2, ADAPT 5, libnbc 3",
    variants=[{"segment": 1}, {"chains": 2, "segment": 3}, {"chains": 1, "segment": 2}],
)
def bcast_multi_chain(
    comm: Comm, buf: Array, root: int = 0, *, chains: int = 4, segment: int = 8192
) -> None:
    """Send each segment to the heads of `chains` chains, which pass it on.

    The pipeline is shorter than one chain and fills sooner; but the root sends the vector once
    per chain. It suits vectors of few segments.

    Notes
    -----
    messages : ``(p - 1) * max(1, ceil(n / segment))``
    volume : ``(p - 1) * n``
    gammas : ``0``

    With S segments, chains of equal length and at least that many other ranks, there are
    ``(p - 1) / chains + chains * S - 1`` steps in a row. No scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     vector = np.array([7, 8]) if comm.rank == 2 else np.empty(2, int)
    ...     bcast_multi_chain(comm, vector, root=2, chains=2, segment=1)
    ...     return vector.tolist()
    >>> run = simulate(program, 5)
    >>> run.results[1], run.time
    ([7, 8], 5.0)
    """
    segments = split(buf, segment_sizes(buf.size, segment))
    send_down(comm, segments, place(comm.rank, root, comm.size, chains))
