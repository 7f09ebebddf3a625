"""Scatter: every rank ends with its block of the root's vector.

Parameters
----------
comm : Comm
    The ranks that take part, p of them.
sendbuf : array (p*n,)
    The vector on `root`, p blocks, left unchanged. Ignored on the others, may be None.
recvbuf : array (n,), or IN_PLACE
    Receives this rank's block, with the dtype of `sendbuf`. IN_PLACE on the root only: its block
    stays where it is in `sendbuf`.
root : int
    The rank that sends, the same on all ranks.
counts : sequence of p int, optional
    The sizes of the blocks, the same on all ranks; equal blocks where not given. Rank i receives
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
==================  ========  =====  =====  ========  ============  =====
algorithm           messages  sent   steps  in a row  needs         order
==================  ========  =====  =====  ========  ============  =====
linear              7         0.875  7      0.875     none          kept
linear_nonblocking  7         0.875  7      0.875     none          kept
binomial            7         1.5    3      0.875     none          kept
knomial             7         1.25   4      0.875     none          kept
bine                7         1.5    3      0.875     power_of_two  kept
builtin                                               mpi           kept
==================  ========  =====  =====  ========  ============  =====
"""

ALGORITHMS = [
    "linear",
    "linear_nonblocking",
    "binomial",
    "knomial",
    "bine",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
