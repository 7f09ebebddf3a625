"""Circulant allgather: known runs of blocks grow, by halvings of p in reverse."""

from __future__ import annotations

from collections.abc import Sequence

from collectives.algorithms.allgather.bruck import collect_by_skips, skips_cost
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.registry import algorithm
from collectives.topology import halving_skips


def cost(p: int, n: int = 0, *, counts: Sequence[int] | None = None) -> Cost:
    return skips_cost(counts if counts is not None else [n] * p, halving_skips(p))


@algorithm(
    cost=cost,
    keeps_order=True,
    source="J. L. Träff, 2024, arXiv:2410.14234, doi:10.34726/10760",
    ships="MPICH circ_graph (in segments; main only)",
)
def allgather_circulant(
    comm: Comm, sendbuf: Array, recvbuf: Array, *, counts: Sequence[int] | None = None
) -> None:
    """Exchange as Bruck does, at distances 1, ..., p / 4, p / 2 rounded up instead of powers of 2.

    It is the circulant reduce-scatter run backwards. Every round but those that round up doubles
    the run of known blocks, so that all messages of a round are about half of what is known then.

    Notes
    -----
    messages : ``p * ceil(log2(p))``
    volume : ``p * (p - 1) * n``
    alphas : ``ceil(log2(p))``
    betas : ``(p - 1) * n``
    gammas : ``0``

    Nothing takes fewer rounds or sends less, for any p. Scratch: one vector.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     everything = np.empty(4, int)
    ...     allgather_circulant(comm, np.array([comm.rank * 11]), everything)
    ...     return everything.tolist()
    >>> simulate(program, 4).results[1]
    [0, 11, 22, 33]
    """
    collect_by_skips(comm, sendbuf, recvbuf, counts, halving_skips(comm.size))
