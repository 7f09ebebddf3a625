"""All-reduce: every rank ends with the combination of all ranks' vectors.

Parameters
----------
comm : Comm
    The ranks that take part, p of them.
sendbuf : array (n,), or IN_PLACE
    This rank's vector, left unchanged. IN_PLACE on all ranks: it is taken from `recvbuf`.
recvbuf : array (n,)
    Receives the result, the same bits on every rank. Same dtype as `sendbuf`.
op : Op or MPI.Op
    How two vectors are combined, element by element.

Raises
------
ValueError
    Before any message is sent, if the buffers differ in size or dtype, overlap, are not
    contiguous or not writeable, or if `op` does not work on their dtype.
UnsupportedError
    If the algorithm cannot work with this p or `op`.

Algorithms
----------
==========================  ========  ====  ======  ========  ============  =====
algorithm                   messages  sent  steps   in a row  needs         order
==========================  ========  ====  ======  ========  ============  =====
reduce_bcast                14        14    6       6         none          kept
allgather_reduce            24        56    3       7         none          kept
recursive_doubling          24        24    3       3         none          kept
recursive_multiplying       20        20    5       5         none          any
recursive_exchange          20        20    9       9         none          kept
ring                        112       14    14      1.75      none          any
segmented_ring              952       14    119     1.75      none          any
multi_ring                  224       14    28      1.75      none          any
rabenseifner                48        14    6       1.75      none          any
rabenseifner_split          48        14    6       1.75      none          any
k_reduce_scatter_allgather  32        14    12      7.5       none          any
binary_blocks               48        14    6       1.75      none          any
circulant                   48        14    6       1.75      none          any
swing                       48        14    6       1.75      power_of_two  any
bine                        48        14    6       1.75      power_of_two  any
binary_tree                 1792      14    <= 665  <= 5.195  none          kept
double_binary_tree          1792      14    <= 483  <= 3.773  none          any
multi_tree                  1792      14    <= 507  <= 3.961  none          any
hierarchical                14        14    5       5         none          kept
multi_leader                64        14    8       1.75      none          any
pipelined_multi_leader      8192      14    1024    1.75      none          any
torus_2d                    64        14    8       1.75      none          any
builtin                                                       mpi           kept
==========================  ========  ====  ======  ========  ============  =====
"""

ALGORITHMS = [
    "reduce_bcast",
    "allgather_reduce",
    "recursive_doubling",
    "recursive_multiplying",
    "recursive_exchange",
    "ring",
    "segmented_ring",
    "multi_ring",
    "rabenseifner",
    "rabenseifner_split",
    "k_reduce_scatter_allgather",
    "binary_blocks",
    "circulant",
    "swing",
    "bine",
    "binary_tree",
    "double_binary_tree",
    "multi_tree",
    "hierarchical",
    "multi_leader",
    "pipelined_multi_leader",
    "torus_2d",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
