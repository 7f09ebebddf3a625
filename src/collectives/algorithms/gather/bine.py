"""Bine gather: the Bine scatter run backwards."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.algorithms.gather.knomial import gather_up
from collectives.algorithms.scatter.bine import cost as cost
from collectives.comm import Array, Comm
from collectives.registry import algorithm, power_of_two
from collectives.topology import bine_children, bine_parent, bine_subtree


@algorithm(
    cost=cost,
    requires=[power_of_two],
    keeps_order=True,
    source="D. De Sensi et al., SC25, doi:10.1145/3712285.3759835, arXiv:2508.17311",
)
def gather_bine(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Collect from each child in a Bine tree the blocks of its whole subtree.

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
    ...     everything = np.zeros(4, int)
    ...     gather_bine(comm, np.array([comm.rank * 11]), everything, root=1)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    rank, p = comm.rank, comm.size
    ranks = rank, *bine_children(rank, root, p)
    runs = {top: bine_subtree(top, root, p) for top in ranks}
    gather_up(comm, sendbuf, recvbuf, counts, bine_parent(rank, root, p), runs)
