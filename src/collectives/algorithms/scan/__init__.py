"""Scan: every rank ends with the combination of the vectors of all ranks up to it.

Parameters
----------
comm : Comm
    The ranks that take part, p of them.
sendbuf : array (n,), or IN_PLACE
    This rank's vector, left unchanged. IN_PLACE on all ranks: it is taken from `recvbuf`.
recvbuf : array (n,)
    Receives the combination of ranks 0 .. rank. Same dtype as `sendbuf`.
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
==================  ========  ====  =====  ========  =====  =====
algorithm           messages  sent  steps  in a row  needs  order
==================  ========  ====  =====  ========  =====  =====
linear              7         7     7      7         none   kept
shift_doubling      17        17    3      3         none   kept
recursive_doubling  24        24    3      3         none   kept
builtin                                              mpi    kept
==================  ========  ====  =====  ========  =====  =====
"""

ALGORITHMS = [
    "linear",
    "shift_doubling",
    "recursive_doubling",
    "builtin",
]
"""The algorithms, in teaching order: each stands in the file of its name."""
