"""All-to-all by the MPI library."""

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
    source="MPI 4.1, section 6.8",
)
def alltoall_builtin(
    comm: Any,
    sendbuf: Array,
    recvbuf: Array,
    *,
    sendcounts: Sequence[int] | None = None,
    recvcounts: Sequence[int] | None = None,
    mode: Mode = "blocking",
) -> None:
    """Call ``MPI_Alltoall``, or ``MPI_Alltoallv`` where sizes of blocks are given.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    from mpi4py import MPI

    if are_equal(sendcounts) and are_equal(recvcounts):
        call(comm, "Alltoall", mode, MPI.IN_PLACE if sendbuf is recvbuf else sendbuf, recvbuf)
    else:
        outgoing = MPI.IN_PLACE if sendbuf is recvbuf else [sendbuf, list(sendcounts or ())]
        call(comm, "Alltoallv", mode, outgoing, [recvbuf, list(recvcounts or ())])
