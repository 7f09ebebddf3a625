"""k-nomial gather: the k-nomial scatter run backwards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.scatter.knomial import cost as cost
from collectives.blocks import rotate, run_of, split
from collectives.comm import Array, Comm
from collectives.registry import algorithm
from collectives.topology import knomial_children, knomial_parent, subtree_size


@algorithm(
    cost=cost,
    keeps_order=True,
    source="M. Wilkins et al., IEEE CLUSTER, 2023",
    ships="MPICH tsp_tree, UCC knomial",
    variants=[{"radix": 2}, {"radix": 3}, {"radix": 8}],
)
def gather_knomial(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
    radix: int = 4,
) -> None:
    """Collect from each child in a k-nomial tree of this radix the blocks of its whole subtree.

    Notes
    -----
    messages : ``p - 1``
    volume : ``n * sum(v // radix**t % radix > 0 for v in range(p) for t in range(ceil(log2(p))))``
    alphas : ``sum(min(radix - 1, ceil(p / radix**t) - 1) for t in range(ceil(log2(p))))``
    betas : ``(p - 1) * n``
    gammas : ``0``

    As many steps as the root has children.
    Scratch: the blocks of the subtree.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.zeros(5, int)
    ...     gather_knomial(comm, np.array([comm.rank * 11]), everything, root=1)
    ...     return everything.tolist()
    >>> simulate(program, 5).results[1]
    [0, 11, 22, 33, 44]
    """
    rank, p = comm.rank, comm.size
    parent = knomial_parent(rank, root, p, radix)
    ranks = rank, *knomial_children(rank, root, p, radix)
    runs = {top: (top, subtree_size(top, root, p, radix)) for top in ranks}
    gather_up(comm, sendbuf, recvbuf, counts, parent, runs)


def gather_up(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    counts: Sequence[int] | None,
    parent: int | None,
    runs: dict[int, tuple[int, int]],
) -> None:
    """Gather up a tree whose subtrees are runs of ranks round the ring.

    `runs` says for this rank and each of its children where its run begins, and how long it is.
    """
    rank, p = comm.rank, comm.size
    first, size = runs.pop(rank)
    sizes = run_of(counts, first, size)
    held = np.empty_like(sendbuf, shape=sum(sizes)) if size > 1 or sendbuf is recvbuf else sendbuf
    blocks = split(held, sizes)
    if held is not sendbuf:
        own = split(sendbuf, counts)[rank] if sendbuf is recvbuf else sendbuf
        blocks[(rank - first) % p][:] = own
    for child, (start, number) in reversed(runs.items()):
        # Invariant: held has the runs of the children that follow in runs, and the own block.
        offset = (start - first) % p
        comm.Recv(blocks[offset : offset + number], source=child)
    if parent is not None:
        comm.Send(held, dest=parent)
    elif recvbuf is not None:
        rotate(blocks, -first % p, out=recvbuf)
