"""All-to-all: rank i ends with block i of every rank's vector, in rank order.

Parameters
----------
comm : Comm
    The ranks that take part, p of them.
sendbuf : array (p*n,), or IN_PLACE
    p blocks, block j for rank j, left unchanged. IN_PLACE on all ranks: they are taken from
    `recvbuf`, where what arrives replaces them.
recvbuf : array (p*n,)
    Receives p blocks, block j from rank j. Same dtype as `sendbuf`.
sendcounts, recvcounts : sequence of p int, optional
    The sizes of the blocks in `sendbuf` and in `recvbuf`, equal blocks where not given. What rank
    i says of block j that it sends is what rank j says of block i that it receives. IN_PLACE:
    `recvcounts` says both.

Raises
------
ValueError
    Before any message is sent, if the buffers do not fit the counts, differ in dtype, overlap, are
    not contiguous or not writeable.
UnsupportedError
    If the algorithm cannot work with this p, with blocks of different sizes, or in place.

Algorithms
----------
================  ========  ====  =====  ========  ============  =====
algorithm         messages  sent  steps  in a row  needs         order
================  ========  ====  =====  ========  ============  =====
linear            56        7     7      0.875     none          kept
throttled         56        7     7      0.875     none          kept
pairwise          56        7     7      0.875     none          kept
pairwise_replace  56        7     8      1         in_place      kept
bruck             24        12    3      1.5       equal_blocks  kept
hierarchical      14        16    7      8         equal_blocks  kept
builtin                                            mpi           kept
================  ========  ====  =====  ========  ============  =====
"""

ALGORITHMS = [
    "linear",
    "throttled",
    "pairwise",
    "pairwise_replace",
    "bruck",
    "hierarchical",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
