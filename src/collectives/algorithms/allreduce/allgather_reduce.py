"""All-reduce as an allgather of all vectors, which every rank then combines by itself."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.allgather.bruck import allgather_bruck
from collectives.algorithms.allgather.bruck import cost as allgather_cost
from collectives.blocks import Blocks, even, split
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm


def cost(p: int, n: int) -> Cost:
    return allgather_cost(p, n) + Cost(gammas=(p - 1) * n)


@algorithm(cost=cost, keeps_order=True, source="folklore", ships="Open MPI 7 (from 6.0)")
def allreduce_allgather_reduce(comm: Comm, sendbuf: Array, recvbuf: Array, op: Op = SUM) -> None:
    """Collect the vectors of all ranks on all ranks, then combine them in rank order.

    As few rounds as there can be, and none of them waits for a combination; but every rank
    receives all there is and does all the work. For very short vectors.

    Notes
    -----
    messages : ``p * ceil(log2(p))``
    volume : ``p * (p - 1) * n``
    alphas : ``ceil(log2(p))``
    betas : ``(p - 1) * n``
    gammas : ``(p - 1) * n``

    Scratch: p vectors, and those of the Bruck allgather. Operands are combined in rank order,
    from left to right.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.empty(1, int)
    ...     allreduce_allgather_reduce(comm, np.array([comm.rank]), total)
    ...     return total.item()
    >>> simulate(program, 5).results
    [10, 10, 10, 10, 10]
    """
    counts = even(comm.size * recvbuf.size, comm.size)
    everything = np.empty_like(recvbuf, shape=counts.n)
    allgather_bruck(comm, sendbuf, everything, counts=counts)
    combine(split(everything, counts), op, out=recvbuf)


def combine(vectors: Blocks, op: Op, out: Array) -> None:
    """Write the combination of `vectors`, from left to right, to `out`."""
    np.copyto(out, vectors[0])
    for i in range(1, len(vectors)):
        op(out, vectors[i], out=out)
