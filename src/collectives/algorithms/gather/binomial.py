"""Binomial gather: the binomial scatter run backwards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.algorithms.scatter.binomial import cost as cost
from collectives.blocks import rotate, run_of, split
from collectives.comm import Array, Comm
from collectives.registry import algorithm
from collectives.topology import binomial_children, binomial_parent, subtree_size


@algorithm(
    cost=cost,
    keeps_order=True,
    source="R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521",
    ships="MPICH binomial, Open MPI 2",
)
def gather_binomial(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
) -> None:
    """Collect from each child in a binomial tree the blocks of its whole subtree.

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
    ...     everything = np.zeros(3, int)
    ...     gather_binomial(comm, np.array([comm.rank * 11]), everything, root=1)
    ...     return everything.tolist()
    >>> simulate(program, 3).results
    [[0, 0, 0], [0, 11, 22], [0, 0, 0]]
    """
    rank, p = comm.rank, comm.size
    parent, children = binomial_parent(rank, root, p), binomial_children(rank, root, p)
    # A subtree is a run of ranks from its top on, round the ring; held gets its blocks so.
    sizes = run_of(counts, rank, subtree_size(rank, root, p))
    held = sendbuf
    if recvbuf is not None and root == 0:
        held = recvbuf
    elif children:
        held = np.empty_like(sendbuf, shape=sum(sizes))
    blocks = split(held, sizes)
    if held is not sendbuf:
        blocks[0][:] = split(sendbuf, counts)[rank] if sendbuf is recvbuf else sendbuf
    for child in reversed(children):
        # Invariant: the blocks of all ranks before child, counted from here, are in held.
        first = (child - rank) % p
        comm.Recv(blocks[first : first + subtree_size(child, root, p)], source=child)
    if parent is not None:
        comm.Send(held, dest=parent)
    elif recvbuf is not None and root != 0:
        rotate(blocks, p - root, out=recvbuf)
