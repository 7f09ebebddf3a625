"""Binomial scatter: every rank that holds blocks hands half of them on in every round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from collectives.blocks import rotate, run_of, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import binomial_children, binomial_parent, subtree_size


def cost(p: int, n: int = 0, *, root: int = 0, counts: Sequence[int] | None = None) -> Cost:
    sizes = counts if counts is not None else [n] * p
    return tree_cost(sizes, root, lambda rank: binomial_children(rank, root, p))


def tree_cost(sizes: Sequence[int], root: int, children: Callable[[int], Sequence[int]]) -> Cost:
    """Return the cost of sending every rank its block down a tree, first child first."""
    need = list(sizes)  # by the whole subtree of a rank

    def weigh(rank: int) -> int:
        need[rank] += sum(weigh(child) for child in children(rank))
        return need[rank]

    def ends(rank: int, alphas: int, betas: int) -> Iterator[tuple[int, int]]:
        yield alphas, betas
        for child in children(rank):
            alphas, betas = alphas + 1, betas + need[child]
            yield from ends(child, alphas, betas)

    total = weigh(root)
    alphas, betas = map(max, zip(*ends(root, 0, 0), strict=True))
    return Cost(len(sizes) - 1, sum(need) - total, alphas=alphas, betas=betas)


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH binomial, Open MPI 2",
)
def scatter_binomial(
    comm: Comm,
    sendbuf: Array | None,
    recvbuf: Array,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Send each child in a binomial tree the blocks of its whole subtree.

    Notes
    -----
    messages : ``p - 1``
    volume : ``n * sum(v // 2**t % 2 for v in range(p) for t in range(ceil(log2(p))))``
    alphas : ``ceil(log2(p))``
    betas : ``(p - 1) * n``
    gammas : ``0``

    The block of rank root + v travels as many hops as v has ones in binary: for p a power of two,
    the volume is ``p / 2 * log2(p) * n``. With `counts`, blocks on long ways add to the time.
    Scratch: the blocks of the subtree; on the root all of them, unless it is rank 0.

    Examples
    --------
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     own = np.empty(1, int)
    ...     scatter_binomial(comm, np.arange(5) * 11 if comm.rank == 2 else None, own, root=2)
    ...     return own.item()
    >>> simulate(program, 5).results
    [0, 11, 22, 33, 44]
    """
    rank, p = comm.rank, comm.size
    parent, children = binomial_parent(rank, root, p), binomial_children(rank, root, p)
    # A subtree is a run of ranks from its top on, round the ring; held has its blocks so.
    sizes = run_of(counts, rank, subtree_size(rank, root, p))
    held = recvbuf
    if sendbuf is not None and root == 0:
        held = sendbuf
    elif children:
        held = np.empty_like(recvbuf, shape=sum(sizes))
    if parent is not None:
        comm.Recv(held, source=parent)
    elif sendbuf is not None and root != 0:
        rotate(split(sendbuf, counts), root, out=held)
    blocks = split(held, sizes)
    rest = len(sizes)
    for child in children:
        # Invariant: blocks[rest:] are on their way, to the subtrees of the children before.
        first = (child - rank) % p
        comm.Send(blocks[first:rest], dest=child)
        rest = first
    if recvbuf is not sendbuf and recvbuf is not held:
        recvbuf[:] = blocks[0]
