"""Reduce by the MPI library."""

from __future__ import annotations

from typing import Any

from collectives.comm import Array
from collectives.op import SUM, Op
from collectives.registry import algorithm, mpi


@algorithm(requires=[mpi], keeps_order=True, source="MPI 4.1, section 6.9.1")
def reduce_builtin(
    comm: Any, sendbuf: Array, recvbuf: Array | None, op: Op = SUM, root: int = 0
) -> None:
    """Call ``MPI_Reduce``."""
    from mpi4py import MPI

    with op.mpi(sendbuf.dtype) as mpi_op:
        outgoing = MPI.IN_PLACE if sendbuf is recvbuf else sendbuf
        comm.Reduce(outgoing, recvbuf, op=mpi_op, root=root)
