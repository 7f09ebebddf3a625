"""Bine scatter: a binomial scatter whose hops go both ways and are shorter."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.algorithms.scatter.binomial import tree_cost
from collectives.algorithms.scatter.knomial import scatter_down
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm, power_of_two
from collectives.topology import bine_children, bine_parent, bine_subtree


def cost(p: int, n: int = 0, *, root: int = 0, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    return tree_cost(sizes, root, lambda rank: bine_children(rank, root, p))


@algorithm(
    cost=cost,
    requires=[power_of_two],
    keeps_order=True,
    source="D. De Sensi et al., SC25, doi:10.1145/3712285.3759835, arXiv:2508.17311",
    ships="libbine",
)
def scatter_bine(
    comm: Comm,
    sendbuf: Array | None,
    recvbuf: Array,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Send each child in a Bine tree the blocks of its whole subtree.

    Rounds and volume are those of the binomial tree. What differs is who talks to whom: the hops
    alternate in direction and are a third shorter, which helps where near ranks have better links.

    Notes
    -----
    messages : ``p - 1``
    volume : ``p * log2(p) / 2 * n``
    alphas : ``log2(p)``
    betas : ``(p - 1) * n``
    gammas : ``0``

    Scratch: the blocks of the subtree, which are a run round the ring with its top in the middle.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     scatter_bine(comm, np.arange(4) * 11 if comm.rank == 2 else None, own, root=2)
    ...     return own.item()
    >>> simulate(program, 4).results
    [0, 11, 22, 33]
    """
    rank, p = comm.rank, comm.size
    ranks = rank, *bine_children(rank, root, p)
    runs = {top: bine_subtree(top, root, p) for top in ranks}
    scatter_down(comm, sendbuf, recvbuf, counts, bine_parent(rank, root, p), runs)
