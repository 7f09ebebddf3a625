"""Gather by the MPI library."""

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
    source="MPI 4.1, section 6.5",
)
def gather_builtin(
    comm: Any,
    sendbuf: Array,
    recvbuf: Array | None,
    root: int = 0,
    *,
    counts: Sequence[int] | None = None,
    mode: Mode = "blocking",
) -> None:
    """Call ``MPI_Gatherv``, which takes the sizes of the blocks.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    from mpi4py import MPI

    incoming = None if recvbuf is None else [recvbuf, list(counts or ())]
    call(
        comm, "Gatherv", mode, MPI.IN_PLACE if sendbuf is recvbuf else sendbuf, incoming, root=root
    )
