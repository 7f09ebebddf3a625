"""Broadcast by the MPI library."""

from __future__ import annotations

from typing import Any

from collectives.comm import Array
from collectives.registry import algorithm, mpi


@algorithm(requires=[mpi], keeps_order=True, source="MPI 4.1, section 6.4")
def bcast_builtin(comm: Any, buf: Array, root: int = 0) -> None:
    """Call ``MPI_Bcast``."""
    comm.Bcast(buf, root=root)
