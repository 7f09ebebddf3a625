"""K-nomial reduce: the binomial one to any base, with fewer and fuller rounds."""

from __future__ import annotations

import numpy as np

from collectives.algorithms.pipeline_cost import up_cost
from collectives.comm import Array, Comm
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.registry import algorithm, commutative
from collectives.topology import knomial_children, knomial_parent


def cost(p: int, n: int, *, radix: int = 4) -> Cost:
    return up_cost(p, [n], 0, lambda rank: knomial_children(rank, 0, p, radix)[::-1])


@algorithm(
    cost=cost,
    requires=[commutative],
    source="M. Wilkins, H. Wang, P. Liu, B. Pham, Y. Guo, R. Thakur, P. Dinda, N. Hardavellas, "
    "CLUSTER 2023, doi:10.1109/CLUSTER52292.2023.00013",
    ships="MPICH tsp_tree, Open MPI 8 (from 6.0), UCC knomial",
    variants=[{"radix": 2}, {"radix": 3}, {"radix": 16}],
)
def reduce_knomial(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array | None,
    op: Op = SUM,
    root: int = 0,
    *,
    radix: int = 4,
) -> None:
    """Combine the vectors of `radix` ranks on one of them in every round.

    The tree is ``log(p) / log(radix)`` levels deep, so few hops follow each other; but a rank
    that can receive only one message at a time needs ``radix - 1`` steps for a round. It hangs
    from the root itself, which so gets the result without a further message.

    Notes
    -----
    messages : ``p - 1``
    volume : ``(p - 1) * n``

    For p = radix**k there are ``(radix - 1) * k`` steps in a row. Scratch: up to two vectors.
    Operands are combined in the order root, root + 1, ..., root - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from collectives.sim import simulate
    >>> def program(comm):
    ...     total = np.zeros(2, int)
    ...     reduce_knomial(comm, np.array([1, 10]) * comm.rank, total, root=1, radix=3)
    ...     return total.tolist()
    >>> run = simulate(program, 9)
    >>> run.results[1], run.time
    ([36, 360], 4.0)
    """
    rank, p = comm.rank, comm.size
    parent = knomial_parent(rank, root, p, radix)
    children = knomial_children(rank, root, p, radix)
    partial = sendbuf.copy() if children else sendbuf
    incoming = np.empty_like(partial)
    for child in reversed(children):
        # Invariant: partial combines the ranks from this one to the one before child.
        comm.Recv(incoming, source=child)
        op(partial, incoming, out=partial)
    if parent is not None:
        comm.Send(partial, dest=parent)
    elif recvbuf is not None:
        np.copyto(recvbuf, partial)
