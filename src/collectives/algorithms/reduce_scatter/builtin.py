"""Reduce-scatter by the MPI library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collectives.comm import Array
from collectives.library import Mode, are_equal, call
from collectives.op import SUM, Op
from collectives.registry import algorithm, mpi


@algorithm(
    variants=[{"mode": "nonblocking"}, {"mode": "persistent"}],
    requires=[mpi],
    keeps_order=True,
    source="MPI 4.1, section 6.10",
)
def reduce_scatter_builtin(
    comm: Any,
    sendbuf: Array,
    recvbuf: Array,
    op: Op = SUM,
    *,
    counts: Sequence[int] | None = None,
    mode: Mode = "blocking",
) -> None:
    """Call ``MPI_Reduce_scatter_block``, or ``MPI_Reduce_scatter`` for blocks of different sizes.

    `mode` chooses among its blocking, nonblocking and persistent form.
    """
    from mpi4py import MPI

    with op.mpi(sendbuf.dtype) as mpi_op:
        outgoing = MPI.IN_PLACE if sendbuf is recvbuf else sendbuf
        if are_equal(counts):
            call(comm, "Reduce_scatter_block", mode, outgoing, recvbuf, op=mpi_op)
        else:
            sizes = list(counts or ())
            call(comm, "Reduce_scatter", mode, outgoing, recvbuf, recvcounts=sizes, op=mpi_op)
