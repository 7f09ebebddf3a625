"""Allgather: every rank ends with the blocks of all ranks, in rank order.

Parameters
----------
comm : Comm
    The ranks that take part, p of them.
sendbuf : array (n,), or IN_PLACE
    This rank's block, left unchanged. IN_PLACE on all ranks: it already lies in its place in
    `recvbuf`.
recvbuf : array (p*n,)
    Receives all blocks. Same dtype as `sendbuf`.
counts : sequence of p int, optional
    The sizes of the blocks, the same on all ranks; equal blocks where not given. Rank i sends
    ``counts[i]`` elements.

Raises
------
ValueError
    Before any message is sent, if the buffers do not fit `counts`, differ in dtype, overlap, are
    not contiguous or not writeable.
UnsupportedError
    If the algorithm cannot work with this p.

Algorithms
----------
=========  ===========  ===============  ======  =====  =====
algorithm  messages     volume           alphas  needs  order
=========  ===========  ===============  ======  =====  =====
ring       p * (p - 1)  p * (p - 1) * n  p - 1   -      kept
builtin    -            -                -       mpi    kept
=========  ===========  ===============  ======  =====  =====
"""

from collectives.algorithms.allgather.ring import allgather_ring
from collectives.algorithms.allgather.builtin import allgather_builtin

__all__ = ["allgather_builtin", "allgather_ring"]
