"""All-to-all by the MPI library."""

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
    """Call ``MPI_Alltoallv``, which takes the sizes of the blocks.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    from mpi4py import MPI

    outgoing = MPI.IN_PLACE if sendbuf is recvbuf else [sendbuf, list(sendcounts or ())]
    call(comm, "Alltoallv", mode, outgoing, [recvbuf, list(recvcounts or ())])
