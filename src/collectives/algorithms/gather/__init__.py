"""Gather: the root ends with the blocks of all ranks, in rank order.

Parameters
----------
comm : Comm
    The ranks that take part, p of them.
sendbuf : array (n,), or IN_PLACE
    This rank's block, left unchanged. IN_PLACE on the root only: it already lies in its place in
    `recvbuf`.
recvbuf : array (p*n,)
    Receives all blocks on `root`, with the dtype of `sendbuf`. Ignored on the others, may be None.
root : int
    The rank that receives, the same on all ranks.
counts : sequence of p int, optional
    The sizes of the blocks, the same on all ranks; equal blocks where not given. Rank i sends
    ``counts[i]`` elements.

Raises
------
ValueError
    Before any message is sent, if `root` is not a rank, or the buffers do not fit `counts`,
    differ in dtype, overlap, are not contiguous or not writeable.
UnsupportedError
    If the algorithm cannot work with this p.

Algorithms
----------
===========  ========  =====  =====  ========  ============  =====
algorithm    messages  sent   steps  in a row  needs         order
===========  ========  =====  =====  ========  ============  =====
linear       7         0.875  7      0.875     none          kept
linear_sync  21        0.875  15     0.875     none          kept
binomial     7         1.5    3      0.875     none          kept
knomial      7         1.25   4      0.875     none          kept
bine         7         1.5    3      0.875     power_of_two  kept
builtin                                        mpi           kept
===========  ========  =====  =====  ========  ============  =====
"""

ALGORITHMS = [
    "linear",
    "linear_sync",
    "binomial",
    "knomial",
    "bine",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
