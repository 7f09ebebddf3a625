"""Reduce: the root ends with the combination of all ranks' vectors.

Parameters
----------
comm : Comm
    The ranks that take part, p of them.
sendbuf : array (n,), or IN_PLACE
    This rank's vector, left unchanged. IN_PLACE on the root only: it is taken from `recvbuf`.
recvbuf : array (n,)
    Receives the result on `root`, with the dtype of `sendbuf`. Ignored on the others, may be
    None.
op : Op or MPI.Op
    How two vectors are combined, element by element.
root : int
    The rank that receives, the same on all ranks.

Raises
------
ValueError
    Before any message is sent, if `root` is not a rank, the buffers differ in size or dtype,
    overlap, are not contiguous or not writeable, or if `op` does not work on their dtype.
UnsupportedError
    If the algorithm cannot work with this p or `op`.

Algorithms
----------
==================  ========  ====  =====  ========  ============  =====
algorithm           messages  sent  steps  in a row  needs         order
==================  ========  ====  =====  ========  ============  =====
linear              7         7     7      7         none          kept
chain               896       7     134    1.047     none          any
binary_tree         896       7     259    2.023     none          any
in_order_binary     897       8     259    3.016     none          kept
binomial            7         7     3      3         none          kept
knomial             7         7     4      4         none          any
bine                7         7     3      3         power_of_two  any
rabenseifner        31        8.5   6      1.75      none          any
double_binary_tree  896       7     133    1.039     none          kept
circulant           896       7     130    1.016     none          any
builtin                                              mpi           kept
==================  ========  ====  =====  ========  ============  =====
"""

ALGORITHMS = [
    "linear",
    "chain",
    "binary_tree",
    "in_order_binary",
    "binomial",
    "knomial",
    "bine",
    "rabenseifner",
    "double_binary_tree",
    "circulant",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
