"""All-reduce by the MPI library."""

from __future__ import annotations

from typing import Any

from collectives.comm import Array
from collectives.op import SUM, Op
from collectives.registry import algorithm, mpi


@algorithm(requires=[mpi], keeps_order=True, source="MPI 4.1, section 6.9.6")
def allreduce_builtin(comm: Any, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Call ``MPI_Allreduce``."""
    from mpi4py import MPI

    with op.mpi(recvbuf.dtype) as mpi_op:
        comm.Allreduce(MPI.IN_PLACE if sendbuf is recvbuf else sendbuf, recvbuf, op=mpi_op)
