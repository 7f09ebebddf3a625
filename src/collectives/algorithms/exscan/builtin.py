"""Exscan by the MPI library."""

from __future__ import annotations

from typing import Any

from collectives.comm import Array
from collectives.library import Mode, call
from collectives.op import SUM, Op
from collectives.registry import algorithm, mpi


@algorithm(
    variants=[{"mode": "nonblocking"}, {"mode": "persistent"}],
    requires=[mpi],
    keeps_order=True,
    source="MPI 4.1, section 6.11.2",
)
def exscan_builtin(
    comm: Any, sendbuf: Array, recvbuf: Array, op: Op = SUM, *, mode: Mode = "blocking"
) -> None:
    """Call ``MPI_Exscan``.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    from mpi4py import MPI

    with op.mpi(recvbuf.dtype) as mpi_op:
        outgoing = MPI.IN_PLACE if sendbuf is recvbuf else sendbuf
        call(comm, "Exscan", mode, outgoing, recvbuf, op=mpi_op)
