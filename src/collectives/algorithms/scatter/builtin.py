"""Scatter by the MPI library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collectives.comm import Array
from collectives.library import Mode, call
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
    """Call ``MPI_Scatterv``, which takes the sizes of the blocks.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    from mpi4py import MPI

    outgoing = None if sendbuf is None else [sendbuf, list(counts or ())]
    call(
        comm, "Scatterv", mode, outgoing, MPI.IN_PLACE if recvbuf is sendbuf else recvbuf, root=root
    )
