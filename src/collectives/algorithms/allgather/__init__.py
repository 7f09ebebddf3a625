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
==================  ========  ====  =====  ========  ============  =====
algorithm           messages  sent  steps  in a row  needs         order
==================  ========  ====  =====  ========  ============  =====
gather_bcast        14        8.5   6      3.875     none          kept
direct              56        7     7      0.875     none          kept
ring                56        7     7      0.875     none          kept
neighbor_exchange   32        7     4      0.875     even_size     kept
recursive_doubling  24        7     3      0.875     power_of_two  kept
recursive_exchange  20        7.5   9      4.875     none          kept
bruck               24        7     3      0.875     none          kept
circulant           24        7     3      0.875     none          kept
sparbit             56        7     7      0.875     none          kept
pat                 24        7     3      0.875     none          kept
swing               24        7     3      0.875     power_of_two  kept
bine                24        7     3      0.875     power_of_two  kept
builtin                                              mpi           kept
==================  ========  ====  =====  ========  ============  =====
"""

ALGORITHMS = [
    "gather_bcast",
    "direct",
    "ring",
    "neighbor_exchange",
    "recursive_doubling",
    "recursive_exchange",
    "bruck",
    "circulant",
    "sparbit",
    "pat",
    "swing",
    "bine",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
