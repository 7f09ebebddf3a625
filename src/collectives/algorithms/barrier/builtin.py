"""Barrier by the MPI library."""

from __future__ import annotations

from typing import Any

from collectives.library import Mode, call
from collectives.registry import algorithm, mpi


@algorithm(
    variants=[{"mode": "nonblocking"}, {"mode": "persistent"}],
    requires=[mpi],
    keeps_order=True,
    source="MPI 4.1, section 6.3",
)
def barrier_builtin(comm: Any, *, mode: Mode = "blocking") -> None:
    """Call ``MPI_Barrier``.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    call(comm, "Barrier", mode)
