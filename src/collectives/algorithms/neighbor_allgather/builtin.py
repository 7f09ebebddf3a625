"""Neighbourhood allgather by the MPI library."""

from __future__ import annotations

from typing import Any

from collectives.comm import Array
from collectives.library import Mode, call
from collectives.registry import algorithm, mpi


@algorithm(
    variants=[{"mode": "nonblocking"}, {"mode": "persistent"}],
    requires=[mpi],
    keeps_order=True,
    source="MPI 4.1, section 8.6.1",
)
def neighbor_allgather_builtin(
    comm: Any, sendbuf: Array, recvbuf: Array, *, mode: Mode = "blocking"
) -> None:
    """Call ``MPI_Neighbor_allgather``.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    call(comm, "Neighbor_allgather", mode, sendbuf, recvbuf)
