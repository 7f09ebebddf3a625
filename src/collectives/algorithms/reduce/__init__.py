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
=========  ==================  ========================  ==========================  =====  =====
algorithm  messages            volume                    alphas                      needs  order
=========  ==================  ========================  ==========================  =====  =====
linear     p - 1               (p - 1) * n               p - 1                       -      kept
binomial   p - 1 + (root > 0)  (p - 1 + (root > 0)) * n  ceil(log2(p)) + (root > 0)  -      kept
builtin    -                   -                         -                           mpi    kept
=========  ==================  ========================  ==========================  =====  =====
"""

from collectives.algorithms.reduce.linear import reduce_linear
from collectives.algorithms.reduce.binomial import reduce_binomial
from collectives.algorithms.reduce.builtin import reduce_builtin

__all__ = ["reduce_binomial", "reduce_builtin", "reduce_linear"]
