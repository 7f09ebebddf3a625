"""Reduce-scatter: rank i ends with block i of the combination of all ranks' vectors.

Parameters
----------
comm : Comm
    The ranks that take part, p of them.
sendbuf : array (p*n,), or IN_PLACE
    This rank's whole vector, p blocks, left unchanged. IN_PLACE on all ranks: it is taken from
    `recvbuf`, then of that size, whose first n elements receive the result.
recvbuf : array (n,)
    Receives this rank's block of the result. Same dtype as `sendbuf`.
op : Op or MPI.Op
    How two vectors are combined, element by element.
counts : sequence of p int, optional
    The sizes of the blocks, the same on all ranks; equal blocks where not given. Rank i receives
    ``counts[i]`` elements.

Raises
------
ValueError
    Before any message is sent, if the buffers do not fit `counts`, differ in dtype, overlap, are
    not contiguous or not writeable, or if `op` does not work on their dtype.
UnsupportedError
    If the algorithm cannot work with this p or `op`.

Algorithms
----------
=========  ===========  ===============  ======  ===========  =====
algorithm  messages     volume           alphas  needs        order
=========  ===========  ===============  ======  ===========  =====
ring       p * (p - 1)  p * (p - 1) * n  p - 1   commutative  any
builtin    -            -                -       mpi          kept
=========  ===========  ===============  ======  ===========  =====
"""

from collectives.algorithms.reduce_scatter.ring import reduce_scatter_ring
from collectives.algorithms.reduce_scatter.builtin import reduce_scatter_builtin

__all__ = ["reduce_scatter_builtin", "reduce_scatter_ring"]
