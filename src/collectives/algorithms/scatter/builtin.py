"""Scatter by the MPI library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collectives.comm import Array
from collectives.library import Mode, are_equal, call
from collectives.registry import algorithm, mpi


@algorithm(
    variants=[{"mode": "nonblocking"}, {"mode": "persistent"}],
    requires=[mpi],
    keeps_order=True,
    source="MPI 4.1, section 6.6",
)
def scatter_builtin(
    comm: Any,
    sendbuf: Array | None,
    recvbuf: Array,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
    mode: Mode = "blocking",
) -> None:
    """Call ``MPI_Scatter``, or ``MPI_Scatterv`` for blocks of different sizes.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    from mpi4py import MPI

    incoming = MPI.IN_PLACE if recvbuf is sendbuf else recvbuf
    if are_equal(counts):
        call(comm, "Scatter", mode, sendbuf, incoming, root=root)
    else:
        outgoing = None if sendbuf is None else [sendbuf, list(counts or ())]
        call(comm, "Scatterv", mode, outgoing, incoming, root=root)
