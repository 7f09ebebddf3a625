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
============  ===============  ===============  =================  ===========  =====
algorithm     messages         volume           alphas             needs        order
============  ===============  ===============  =================  ===========  =====
reduce_bcast  2 * (p - 1)      2 * (p - 1) * n  2 * ceil(log2(p))  -            kept
ring          2 * p * (p - 1)  2 * (p - 1) * n  2 * (p - 1)        commutative  any
builtin       -                -                -                  mpi          kept
============  ===============  ===============  =================  ===========  =====
"""

from collectives.algorithms.allreduce.reduce_bcast import allreduce_reduce_bcast
from collectives.algorithms.allreduce.ring import allreduce_ring
from collectives.algorithms.allreduce.builtin import allreduce_builtin

__all__ = ["allreduce_builtin", "allreduce_reduce_bcast", "allreduce_ring"]
