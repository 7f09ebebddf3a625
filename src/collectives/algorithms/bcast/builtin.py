"""Broadcast by the MPI library."""

from __future__ import annotations

from typing import Any

from collectives.comm import Array
from collectives.library import Mode, call
from collectives.registry import algorithm, mpi


@algorithm(
    variants=[{"mode": "nonblocking"}, {"mode": "persistent"}],
    requires=[mpi],
    keeps_order=True,
    source="MPI 4.1, section 6.4",
)
def bcast_builtin(comm: Any, buf: Array, root: int = 0, *, mode: Mode = "blocking") -> None:
    """Call ``MPI_Bcast``.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    call(comm, "Bcast", mode, buf, root=root)
