"""k-nomial scatter: a binomial scatter in which a round serves k - 1 ranks instead of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.scatter.binomial import tree_cost
from collectives.blocks import rotate, run_of, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import knomial_children, knomial_parent, subtree_size


def cost(
    p: int, n: int = 0, *, root: int = 0, counts: Sequence[int] | None = None, radix: int = 4
) -> Cost:
    sizes = counts if counts is not None else [n] * p
    return tree_cost(sizes, root, lambda rank: knomial_children(rank, root, p, radix))


@algorithm(
    cost=cost,
    keeps_order=True,
    source="M. Wilkins et al., IEEE CLUSTER, 2023",
    ships="MPICH tsp_tree, UCC knomial",
    variants=[{"radix": 2}, {"radix": 3}, {"radix": 8}],
)
def scatter_knomial(
    comm: Comm,
    sendbuf: Array | None,
    recvbuf: Array,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
    radix: int = 4,
) -> None:
    """Send each child in a k-nomial tree of this radix the blocks of its whole subtree.

    A larger radix makes the tree flatter: blocks travel fewer hops, the root sends more messages.
    From radix p on, it sends to everyone itself.

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
    ...     own = np.empty(1, int)
    ...     scatter_knomial(comm, np.arange(5) * 11 if comm.rank == 2 else None, own, root=2)
    ...     return own.item()
    >>> simulate(program, 5).results
    [0, 11, 22, 33, 44]
    """
    rank, p = comm.rank, comm.size
    parent = knomial_parent(rank, root, p, radix)
    ranks = rank, *knomial_children(rank, root, p, radix)
    runs = {top: (top, subtree_size(top, root, p, radix)) for top in ranks}
    scatter_down(comm, sendbuf, recvbuf, counts, parent, runs)


def scatter_down(
    comm: Comm,
    sendbuf: Array | None,
    recvbuf: Array,
    counts: Sequence[int] | None,
    parent: int | None,
    runs: dict[int, tuple[int, int]],
) -> None:
    """Scatter down a tree whose subtrees are runs of ranks round the ring.

    `runs` says for this rank and each of its children where its run begins, and how long it is.
    """
    rank, p = comm.rank, comm.size
    first, size = runs.pop(rank)
    sizes = run_of(counts, first, size)
    held = np.empty_like(recvbuf, shape=sum(sizes)) if size > 1 else recvbuf
    if parent is not None:
        comm.Recv(held, source=parent)
    elif sendbuf is not None:
        rotate(split(sendbuf, counts), first, out=held)
    blocks = split(held, sizes)
    for child, (start, number) in runs.items():
        # Invariant: the runs of the children before have left; the rest is still to go.
        offset = (start - first) % p
        comm.Send(blocks[offset : offset + number], dest=child)
    if recvbuf is not sendbuf and recvbuf is not held:
        recvbuf[:] = blocks[(rank - first) % p]
