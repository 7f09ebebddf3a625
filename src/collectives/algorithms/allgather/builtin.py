"""Allgather by the MPI library."""

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
    source="MPI 4.1, section 6.7",
)
def allgather_builtin(
    comm: Any,
    sendbuf: Array,
    recvbuf: Array,
    *,
    counts: Sequence[int] | None = None,
    mode: Mode = "blocking",
) -> None:
    """Call ``MPI_Allgather``, or ``MPI_Allgatherv`` for blocks of different sizes.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    from mpi4py import MPI

    outgoing = MPI.IN_PLACE if sendbuf is recvbuf else sendbuf
    if are_equal(counts):
        call(comm, "Allgather", mode, outgoing, recvbuf)
    else:
        call(comm, "Allgatherv", mode, outgoing, [recvbuf, list(counts or ())])
