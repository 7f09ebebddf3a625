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
==================  ========  ====  =====  ========  ============  =====
algorithm           messages  sent  steps  in a row  needs         order
==================  ========  ====  =====  ========  ============  =====
reduce_scatterv     14        8.5   6      3.875     none          kept
pairwise            56        7     7      0.875     none          any
ring                56        7     7      0.875     none          any
recursive_halving   24        7     3      0.875     none          any
recursive_doubling  24        17    3      2.125     none          kept
butterfly           24        7     3      0.875     none          kept
circulant           24        7     3      0.875     none          any
pat                 24        7     3      0.875     none          any
swing               24        7     3      0.875     power_of_two  any
bine                24        7     3      0.875     power_of_two  any
builtin                                              mpi           kept
==================  ========  ====  =====  ========  ============  =====
"""

ALGORITHMS = [
    "reduce_scatterv",
    "pairwise",
    "ring",
    "recursive_halving",
    "recursive_doubling",
    "butterfly",
    "circulant",
    "pat",
    "swing",
    "bine",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
